"""What the simulated robots do: motors, standing, trotting, getting up, knowing their own speed.

    python -m benchmarks.bodies [--json FILE]

No times but behaviour: the same figures on every machine, for docs/log.md.
"""

from collections.abc import Callable

import numpy as np

from benchmarks.report import emit, run
from ursa.errors import UserError
from ursa.robot import gait
from ursa.robot.a1 import A1
from ursa.robot.body import Body
from ursa.robot.bullet import BulletEngine
from ursa.robot.disturbance import Disturbance
from ursa.robot.engine import Engine
from ursa.robot.go2 import GO2
from ursa.robot.registry import body
from ursa.robot.simulator import MuJoCoEngine
from ursa.robot.spec import RobotSpec

SECONDS = 10
UPRIGHT = 0.7  # r_upr, the tasks' gate
NOISE = Disturbance(angle_noise=0.003, speed_noise=0.1, gyro_noise=0.02, acceleration_noise=0.3)
SLIPPERY = Disturbance(friction=(0.4, 0.4))
Script = Callable[[RobotSpec, int], np.ndarray]


def bodies() -> None:
    for spec in (A1, GO2):
        for tick in (0.002, 0.005):
            motors(
                f"{spec.name}, {1000 * tick:g} ms", MuJoCoEngine(spec, 32, tick=tick, clip=False)
            )
        standing(spec)
        for tick in (0.002, 0.005):
            trotting(f"{spec.name}, {1000 * tick:g} ms", body(spec, tick=tick, threads=1))
        for held in (10, 1):
            getting_up(spec, held)
        estimating(spec)
    try:
        motors("a1, 2 ms, PyBullet", BulletEngine(A1, 4, clip=False))
        trotting("a1, 2 ms, PyBullet", body(A1, engine="pybullet"))
    except UserError as error:
        print(error)


def motors(case: str, engine: Engine) -> None:
    """Uniformly random targets over the full range, a new one every 50 ms, all stages off."""
    spec, rng = engine.spec, np.random.default_rng(0)
    low, high, fastest = (spec.of_joints(it) for it in ("low", "high", "speed"))
    ticks = round(spec.period / engine.tick)
    before = np.zeros((engine.count, 1, spec.action_size))
    speeds, torques, works = [], [], []
    for _ in range(round(SECONDS * spec.control_rate)):
        target = rng.uniform(low, high, (engine.count, 1, spec.action_size))
        seen = engine.advance(np.repeat(target, ticks, axis=1))
        at = np.concatenate([before, seen.joint_speed[:, :-1]], axis=1)  # when the torque acts
        works.append(np.where(np.abs(at) > fastest, seen.torque * at, -np.inf).max())
        torques.append((np.abs(seen.torque) / spec.of_joints("torque")).max())
        speeds.append((np.abs(seen.joint_speed) / fastest).ravel())
        before = seen.joint_speed[:, -1:].copy()
    engine.close()
    emit(f"motors, {case}: p99.9 of joint speed", np.percentile(speeds, 99.9), "x no-load speed")
    emit(f"motors, {case}: largest torque", max(torques), "x peak torque")
    emit(f"motors, {case}: positive work beyond no-load", max(0.0, *works), "W")


def standing(spec: RobotSpec) -> None:
    """Ten seconds in the stance."""
    actor = body(spec, threads=1)
    places = [actor.step(gait.stand(spec)[None]).truth.position[0] for _ in range(200)]
    actor.close()
    emit(f"standing, {spec.name}: height", places[-1][2], "m")
    emit(f"standing, {spec.name}: way in 10 s", np.linalg.norm(places[-1][:2]), "m")


def trotting(case: str, actor: Body) -> None:
    """The scripted trot from standing, the way and the tilt over ten seconds."""
    steps = range(round(SECONDS * actor.spec.control_rate))
    readings = [actor.step(gait.trot(actor.spec, step)[None]) for step in steps]
    actor.close()
    way = np.linalg.norm(readings[-1].truth.position[0, :2])
    up = min(reading.rotation[0, 2, 2] for reading in readings)
    emit(f"trot, {case}: speed over 10 s", way / SECONDS, "m/s")
    emit(f"trot, {case}: largest tilt", np.degrees(np.arccos(up)), "degrees")


def getting_up(spec: RobotSpec, held: int, trials: int = 160) -> None:
    """From the back, random targets held for some control steps: who passes upright in 10 s?"""
    actor = body(spec, trials)
    place = actor.engine.batch.bind("qpos")
    place[:, 2], place[:, 3:7] = 0.12, (0, 1, 0, 0)
    for _ in range(20):
        actor.step(np.zeros((trials, spec.action_size)))
    rng, best = np.random.default_rng(0), np.zeros(trials)
    for step in range(round(SECONDS * spec.control_rate)):
        if step % held == 0:
            action = rng.uniform(-1, 1, (trials, spec.action_size))
        best = np.maximum(best, (actor.step(action).rotation[:, 2, 2] + 1) / 2)
    actor.close()
    case = f"getting up, {spec.name}: random targets held {held * spec.period:g} s"
    emit(case, 100 * np.mean(best > UPRIGHT), f"% of {trials} trials")


def estimating(spec: RobotSpec) -> None:
    """Mean absolute error of forward speed and height, against the simulator's truth."""
    cases: dict[str, tuple[Script, Disturbance | None]] = {
        "standing": (lambda spec, step: gait.stand(spec), None),
        "slow trot": (lambda spec, step: gait.trot(spec, step, stride=0.28), None),
        "trot": (gait.trot, None),
        "trot, noisy sensors": (gait.trot, NOISE),
        "trot, friction x 0.4": (gait.trot, SLIPPERY),
        "random actions": (gait.random, None),
    }
    for name, (script, disturbance) in cases.items():
        actor = body(spec, disturbance=disturbance, threads=1)
        errors, speeds = [], []
        for step in range(180):
            reading = actor.step(script(spec, step)[None])
            ahead, truth = reading.rotation[0, :2, 0], reading.truth
            off = (reading.velocity - truth.velocity)[0, :2] @ ahead
            errors.append((abs(off), abs(reading.height[0] - truth.position[0, 2])))
            speeds.append(truth.velocity[0, :2] @ ahead)
        actor.close()
        speed, height = np.mean(errors[30:], axis=0)  # after 1.5 s
        case = f"estimator, {spec.name}, {name}"
        emit(f"{case}: speed", speed, "m/s", f"true speed {np.mean(speeds[30:]):.3f} m/s")
        emit(f"{case}: height", 1000 * height, "mm")


if __name__ == "__main__":
    run(bodies)
