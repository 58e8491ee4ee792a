"""The MuJoCo engine: honest motors, repeatable physics, damage in the model."""

import mujoco
import numpy as np
import pytest

from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.engine import Impairment
from ursa.robot.go2 import GO2
from ursa.robot.mjcf import mjcf
from ursa.robot.simulator import FREE, MuJoCoEngine

STANCE = A1.of_joints("stance")


def held(engine: MuJoCoEngine, angle: np.ndarray, steps: int):
    """Hold one target for some control steps."""
    ticks = round(engine.spec.period / engine.tick)
    target = np.broadcast_to(angle, (engine.count, ticks, engine.spec.action_size))
    for _ in range(steps):
        last = engine.advance(target)
    return last


def wild(engine: MuJoCoEngine, steps: int, seed: int = 0):
    """Uniformly random targets over the full range, a new one every control step."""
    rng = np.random.default_rng(seed)
    low, high = engine.spec.of_joints("low"), engine.spec.of_joints("high")
    ticks = round(engine.spec.period / engine.tick)
    for _ in range(steps):
        target = rng.uniform(low, high, (engine.count, 1, engine.spec.action_size))
        before = engine.batch.bind("qvel")[:, 6:].copy()
        yield before, engine.advance(np.repeat(target, ticks, axis=1))


@pytest.mark.parametrize("spec", [A1, GO2])
def test_the_model_weighs_what_the_spec_says_and_has_its_joints(spec):
    model = mujoco.MjModel.from_xml_string(mjcf(spec, tick=0.005))
    assert model.body_mass.sum() == pytest.approx(spec.mass, abs=1e-9)
    assert [model.joint(i + 1).name for i in range(12)] == list(spec.joint_names)
    assert np.allclose(model.jnt_range[1:, 0], spec.of_joints("lower"))
    assert np.allclose(model.jnt_range[1:, 1], spec.of_joints("upper"))
    assert (model.opt.cone, model.opt.impratio) == (mujoco.mjtCone.mjCONE_ELLIPTIC, 10)


def test_calf_and_foot_are_one_part_with_the_foot_at_its_end():
    model = mujoco.MjModel.from_xml_string(mjcf(A1, tick=0.005))
    # 0.166 kg at -0.107388 m and 0.06 kg at -0.2 m balance at -0.131976 m
    expected = -(0.166 * 0.107388 + 0.06 * 0.2) / 0.226
    calf = model.body("FL.lower")
    assert calf.mass[0] == pytest.approx(0.226)
    assert calf.ipos[2] == pytest.approx(expected)


@pytest.mark.parametrize("spec", [A1, GO2])
def test_a_robot_told_to_hold_its_stance_stands(spec):
    engine = MuJoCoEngine(spec, 2)
    ticks = held(engine, spec.of_joints("stance"), 40)
    truth = engine.truth()
    assert ticks.contact[:, -1].all()
    # joints give way a little under the weight
    assert spec.rest_height - 0.02 < truth.position[0, 2] < spec.rest_height
    assert np.abs(truth.velocity).max() < 0.01
    assert np.abs(truth.foot_height).max() < 0.003
    # at rest the floor carries the robot: the accelerometer shows gravity, upwards
    assert ticks.acceleration[0, -1, 2] == pytest.approx(9.81, abs=0.05)


@pytest.mark.parametrize("tick", [0.002, 0.005])
@pytest.mark.parametrize("clip", [True, False])
def test_motors_stay_within_torque_and_do_no_work_beyond_their_no_load_speed(tick, clip):
    engine = MuJoCoEngine(A1, 16, tick=tick, clip=clip)
    speed, work, torque = [], [], []
    for before, ticks in wild(engine, 100):
        at = np.concatenate([before[:, None], ticks.joint_speed[:, :-1]], axis=1)
        work.append(np.where(np.abs(at) > 21.0, ticks.torque * at, -np.inf).max())
        torque.append(np.abs(ticks.torque).max())
        speed.append(np.abs(ticks.joint_speed).ravel().copy())
    assert max(torque) <= 33.5 + 1e-9
    assert max(work) <= 0
    assert np.percentile(np.concatenate(speed), 99.9) <= 1.15 * 21.0
    assert not engine.diverged().any()


def test_without_the_torque_speed_line_joints_outrun_their_motors(monkeypatch):
    """The test above can fail: an ideal torque source breaks its speed bound."""
    text = mjcf(A1, tick=0.005, clip=False)
    ideal = text.replace('21.0"', '2100.0"')  # the no-load speed in every motor
    assert ideal != text
    monkeypatch.setattr("ursa.robot.simulator.mjcf", lambda *_, **__: ideal)
    engine = MuJoCoEngine(A1, 16, clip=False)
    speed = [np.abs(ticks.joint_speed).ravel().copy() for _, ticks in wild(engine, 60)]
    assert np.percentile(np.concatenate(speed), 99.9) > 1.15 * 21.0


def test_the_tick_clip_bounds_the_proportional_torque():
    engine = MuJoCoEngine(A1, 1)
    engine.batch.bind("qpos")[0, 2] = 2.0  # in the air, at rest
    target = np.tile(A1.of_joints("high"), (1, 1, 1))
    ticks = engine.advance(target)
    # kp * 0.2 rad = 16 N m, and no speed yet to damp; targets nearer than that pull less
    expected = np.minimum(80 * np.abs(A1.of_joints("high") - STANCE), 16.0)
    assert np.allclose(np.abs(ticks.torque[0, 0]), expected, atol=1e-6)


def test_the_same_bits_on_one_thread_and_on_two():
    runs = []
    for threads in (1, 2):
        engine = MuJoCoEngine(A1, 5, threads=threads)
        runs.append([ticks.joint_angle.copy() for _, ticks in wild(engine, 10)])
    assert np.array_equal(runs[0], runs[1])


def test_a_restored_state_continues_bit_for_bit_also_when_damaged():
    one, two = MuJoCoEngine(A1, 3), MuJoCoEngine(A1, 3)
    strength, locked = np.ones((3, 12)), np.zeros((3, 12), bool)
    strength[1, 4], locked[2, 7] = 0.3, True
    one.impair(Impairment(strength=strength, locked=locked, angle=np.full((3, 12), 1.5)))
    one.vary(np.array([1.0, 0.5, 1.0]), np.array([1.2, 1.0, 1.0]))
    for _ in wild(one, 3):
        pass
    two.restore(one.save())
    for (_, mine), (_, yours) in zip(wild(one, 5, seed=1), wild(two, 5, seed=1), strict=True):
        for name in ("joint_angle", "joint_speed", "torque", "acceleration"):
            assert np.array_equal(getattr(mine, name), getattr(yours, name)), name


def test_a_state_of_another_count_is_refused():
    with pytest.raises(UserError, match="same robot, count"):
        MuJoCoEngine(A1, 2).restore(MuJoCoEngine(A1, 3).save())


@pytest.mark.parametrize("tick", [0.004, 0.0, -0.005, 0.003])
def test_a_tick_that_does_not_divide_the_control_period_is_refused(tick):
    with pytest.raises(UserError, match=r"0\.002 \(faithful\) or 0\.005 \(fast\)"):
        MuJoCoEngine(A1, 1, tick=tick)


def test_a_limp_joint_gets_no_torque_and_a_weak_one_its_share():
    engine = MuJoCoEngine(A1, 3, clip=False)
    strength = np.ones((3, 12))
    strength[1, 4], strength[2, 4] = 0.0, 0.5
    nothing = np.zeros((3, 12), bool)
    engine.impair(Impairment(strength=strength, locked=nothing, angle=np.zeros((3, 12))))
    engine.batch.bind("qpos")[:, 2] = 2.0
    ticks = engine.advance(np.tile(STANCE + 0.1, (3, 1, 1)))
    sound, limp, weak = np.abs(ticks.torque[:, 0, 4])
    assert sound == pytest.approx(8.0, abs=1e-6)  # 80 N m / rad * 0.1 rad
    assert limp == 0
    assert weak == pytest.approx(4.0, abs=1e-6)
    assert np.allclose(ticks.torque[0, 0, :4], ticks.torque[1, 0, :4])


def test_a_locked_joint_goes_to_its_angle_without_snapping_and_stays():
    engine = MuJoCoEngine(A1, 1)
    locked = np.zeros((1, 12), bool)
    locked[0, 4] = True
    engine.impair(Impairment(strength=np.ones((1, 12)), locked=locked, angle=np.full((1, 12), 1.5)))
    speeds = [np.abs(held(engine, STANCE, 1).joint_speed[0, :, 4]).max() for _ in range(30)]
    assert engine.batch.bind("qpos")[0, FREE + 4] == pytest.approx(1.5, abs=0.05)
    assert max(speeds) < 8.0  # 0.6 rad, brought there at 3 rad/s


def test_a_push_moves_the_trunk_once():
    engine = MuJoCoEngine(A1, 2)
    held(engine, STANCE, 20)
    engine.push(np.array([[0.0, 150.0, 0.0], [0.0, 0.0, 0.0]]))
    held(engine, STANCE, 1)
    pushed, alone = engine.truth().velocity[:, 1]
    assert pushed > 0.2
    assert abs(alone) < 0.02
    assert not engine.batch.bind("xfrc_applied").any()


def test_less_friction_lets_a_pushed_robot_slide_further():
    engine = MuJoCoEngine(A1, 2)
    engine.vary(np.array([1.0, 0.05]), np.ones(2))
    held(engine, STANCE, 20)
    before = engine.truth().position[:, 1].copy()
    for _ in range(10):
        engine.push(np.array([[0.0, 60.0, 0.0]] * 2))
        held(engine, STANCE, 1)
    grip, ice = engine.truth().position[:, 1] - before
    assert ice > 2 * grip


def test_physics_that_leaves_the_numbers_is_noticed_for_that_robot_alone():
    engine = MuJoCoEngine(A1, 3)
    engine.batch.bind("qvel")[1, 8] = 1e12
    held(engine, STANCE, 1)
    assert engine.diverged().tolist() == [False, True, False]
    engine.place(np.array([False, True, False]))
    held(engine, STANCE, 10)
    assert not engine.diverged().any()
    assert 0.24 < engine.truth().position[1, 2] < 0.30
