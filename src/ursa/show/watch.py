"""`ursa watch`: a robot does something by script, and one sees it on a sheet or in a video."""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from ursa.errors import UserError, unknown
from ursa.robot import damage as wounds
from ursa.robot import registry
from ursa.robot.body import Body
from ursa.robot.damage import Damage
from ursa.robot.gait import SCRIPTS
from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.show import film, gl, render

Array = np.ndarray
Item = TypeVar("Item")
UPRIGHT = 0.4  # of the trunk's up axis: the tilt below 66 degrees that the tasks call safe


def watch(
    *,
    robot: str = "a1",
    script: str = "trot",
    seconds: float = 4.0,
    damage: str = wounds.SOUND,
    damage_at: float = 0.0,
    engine: str = "mujoco",
    tick: float | None = None,
    seed: int = 0,
    out: Path = Path("watch.png"),
    frames: int = 6,
    fps: float | None = None,
    width: int = 640,
    height: int = 480,
    camera: str = "follow",
    plain: bool = False,
) -> None:
    """See a robot move, without a screen: a sheet of pictures (.png) or a video (.mp4, .gif).

    The robot starts standing and follows a script through the same motors, filters and limits
    that a learnt policy meets. Parts that are damaged are drawn red. The floor's tiles are half
    a metre wide, and the orange hips are in front. At the end it says how far it went.

      ursa watch --script trot --out trot.mp4
      ursa watch --damage FL.upper:limp --damage-at 2 --camera left

    Args:
        robot: Which robot: a1, go2, one that another package adds, or package.module:NAME.
        script: What it does: stand, random (any joint target at any time) or trot.
        seconds: For how long, in simulated time.
        damage: What is broken, for example FL.upper, FR+BL, FL.upper:limp, FL:weak=0.5 or
            FL.upper:locked=0.9. A joint without a kind is frozen at its nominal angle.
        damage_at: When it breaks, in seconds from the start.
        engine: Whose physics: mujoco or pybullet.
        tick: Physics step in seconds; unset is the engine's own (mujoco 0.005; 0.002 is finer).
        seed: Chance behind the script random.
        out: File to write; its end chooses the kind: .png, .gif or .mp4. It is overwritten.
        frames: Pictures on a .png sheet, evenly spread; 1 is the last moment only.
        fps: Pictures per second of a .gif or .mp4; unset is one per control step, which is the
            most there can be.
        width: Pixels of one picture.
        height: Pixels of one picture.
        camera: From where: follow (its right, ahead), left, side, front or above.
        plain: Leave out the line that gives time, distance and damage.
    """
    spec = registry.robot(robot)
    damages = wounds.parse(damage, spec)
    if script not in SCRIPTS:
        raise unknown("script", script, SCRIPTS)
    fps = spec.control_rate if fps is None else fps
    _check_numbers(spec, seconds=seconds, damage_at=damage_at, fps=fps, frames=frames, seed=seed)
    render.check(spec, width=width, height=height, camera=camera)
    film.check(out)
    gl.backend()
    moving = out.suffix.lower() != ".png"
    last = max(1, round(seconds * spec.control_rate))
    shown = _every(spec.control_rate / fps, last) if moving else _spread(frames, last)
    broken = math.ceil(damage_at * spec.control_rate) if damages else last + 1
    size = {"width": width, "height": height}
    with render.Studio(spec, **size, camera=camera, smooth=not moving) as studio:
        actor = registry.body(spec, engine=engine, tick=tick)
        acts = (SCRIPTS[script](spec, step, seed) for step in range(last))
        readings = list(track(_play(actor, acts, damages, broken), "moving", last + 1))

        def picture(step: int) -> render.Picture:
            hurt = damages if step >= broken else ()
            drawn = studio.picture(readings[step], damages=hurt)
            text = f"{spec.name} {script}   {step * spec.period:.2f} s   "
            text += f"{_distance(readings[: step + 1]):.2f} m" + (f"   {damage}" if hurt else "")
            return drawn if plain else film.captioned(drawn, text)

        film.save(track(map(picture, shown), "drawing", len(shown)), out, fps)
    print(summary(readings))
    print(f"-> {out}")


def _play(
    actor: Body, acts: Iterable[Array], damages: Sequence[Damage], broken: int
) -> Iterator[Reading]:
    """The robot at rest, then after each act; before act number `broken` it is damaged."""
    try:
        yield actor.rest()
        for step, act in enumerate(acts):
            if step == broken:
                actor.damage(damages)
            yield actor.step(act[np.newaxis])
    finally:
        actor.close()


def summary(readings: Sequence[Reading]) -> str:
    """What the robot did, in one line of numbers. The first reading is the one at rest."""
    after = readings[1:]
    seconds = len(after) * after[0].spec.period
    distance = _distance(readings)
    upright = np.mean([it.rotation[0, 2, 2] > UPRIGHT for it in after])
    torque = max(float(np.abs(it.torque[0]).max()) for it in after)
    power = np.mean([it.power[0] for it in after])
    return (
        f"{seconds:.2f} s: {distance:.2f} m from where it began ({distance / seconds:.2f} m/s), "
        f"upright {upright:.0%} of the time, peak torque {torque:.1f} N m, mean power {power:.0f} W"
    )


def _distance(readings: Sequence[Reading]) -> float:
    """Metres over the floor from the first place to the last, as the crow flies."""
    first, last = readings[0].truth, readings[-1].truth
    assert first is not None, "an engine knows where its robot is"
    assert last is not None, "an engine knows where its robot is"
    return float(np.linalg.norm(last.position[0, :2] - first.position[0, :2]))


def _every(stride: float, last: int) -> list[int]:
    """Every so many steps from the start, for a video."""
    return [round(step) for step in np.arange(0, last + 1e-9, stride)]


def _spread(count: int, last: int) -> list[int]:
    """So many steps from start to end, for a sheet; one is the end."""
    return [round(step) for step in np.linspace(0, last, count)] if count > 1 else [last]


def track(items: Iterable[Item], what: str, total: int) -> Iterable[Item]:
    """The same items, with a line that shows progress and the time left while they come."""
    from rich import progress
    from rich.console import Console

    screen = Console(stderr=True)
    quiet = not screen.is_terminal
    return progress.track(items, what, total, console=screen, transient=True, disable=quiet)


def _check_numbers(
    spec: RobotSpec, *, seconds: float, damage_at: float, fps: float, frames: int, seed: int
) -> None:
    if not 0 < seconds < math.inf:
        raise UserError(f"seconds = {seconds}, want a number > 0")
    if not 0 <= damage_at < math.inf:
        raise UserError(f"damage-at = {damage_at} s, want a number >= 0")
    if not 0 < fps <= spec.control_rate:
        raise UserError(
            f"fps = {fps}, want more than 0 and at most {spec.control_rate:g}: "
            f"{spec.name} is controlled, and read, {spec.control_rate:g} times a second"
        )
    most = max(1, round(seconds * spec.control_rate)) + 1
    if not 1 <= frames <= most:
        raise UserError(f"frames = {frames}, want 1 to {most} for {seconds:g} s")
    if not 0 <= seed < 2**63:
        raise UserError(f"seed = {seed}, want a whole number from 0 to 2^63 - 1")
