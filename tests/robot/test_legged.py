"""A legged body over MuJoCo: delays, noise, rescue, state, getting up."""

import logging

import numpy as np
import pytest

from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.damage import parse
from ursa.robot.disturbance import Disturbance, chance
from ursa.robot.legged import LeggedBody
from ursa.robot.motion import MotionConfig, action_of
from ursa.robot.simulator import MuJoCoEngine

STAND = action_of(A1, A1.of_joints("stance"))


def body(count: int = 2, **options) -> LeggedBody:
    return LeggedBody(MuJoCoEngine(A1, count), **options)


def actions(count: int, steps: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (steps, count, 12))


def same(one, two) -> bool:
    names = ("joint_angle", "joint_speed", "torque", "quaternion", "velocity", "height", "command")
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


def test_a_standing_robot_knows_its_height_and_that_it_is_still():
    it = body()
    for _ in range(40):
        reading = it.step(np.tile(STAND, (2, 1)))
    assert np.allclose(reading.height, reading.truth.position[:, 2], atol=0.005)
    assert np.abs(reading.velocity).max() < 0.01
    assert reading.contact.all()
    assert (reading.power < 1.0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_wrong_number_is_refused_by_name_and_nothing_moves(bad):
    it = body()
    before = it.save()
    action = np.zeros((2, 12))
    action[1, 4] = bad
    with pytest.raises(UserError, match=r"robot 1, joint FL\.upper"):
        it.step(action)
    after = it.save()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_wrong_shapes_are_refused_with_the_right_one():
    with pytest.raises(UserError, match=r"\(2, 12\)"):
        body().step(np.zeros(12))


def test_a_restored_body_continues_bit_for_bit_with_noise_delay_and_damage():
    rough = Disturbance(angle_noise=0.01, gyro_noise=0.1, latency=0.01, jitter=0.02, push=50.0)
    options = {"disturbance": rough, "seed": 7}
    one, two = body(**options), body(**options)
    one.damage(parse("FL.upper:weak=0.4+BR", A1), np.array([True, False]))
    for action in actions(2, 8):
        one.step(action)
    two.restore(one.save())
    for action in actions(2, 8, seed=1):
        assert same(one.step(action), two.step(action))


def test_another_seed_gives_other_noise_and_no_noise_gives_none():
    rough = Disturbance(angle_noise=0.01)
    quiet, loud, other = body(), body(disturbance=rough, seed=1), body(disturbance=rough, seed=2)
    readings = [it.step(np.tile(STAND, (2, 1))) for it in (quiet, loud, other)]
    clean, noisy, different = (reading.joint_angle for reading in readings)
    assert 0.001 < np.abs(noisy - clean).max() < 0.06
    assert not np.array_equal(noisy, different)
    assert np.array_equal(readings[0].truth.position, readings[1].truth.position)


def test_latency_holds_the_command_back_by_that_long():
    plain = MotionConfig(filter=False, interpolate=False)
    now = body(1, motion_config=plain)
    late = body(1, motion_config=plain, disturbance=Disturbance(latency=0.05))  # one control step
    first, second = np.full((1, 12), 0.3), np.full((1, 12), -0.3)
    prompt = [now.step(action).command for action in (first, second)]
    delayed = [late.step(action).command for action in (first, second)]
    assert np.allclose(delayed[0], A1.of_joints("stance"))
    assert np.allclose(delayed[1], prompt[0])


def test_diverged_physics_is_reported_by_index_and_the_robot_set_down(caplog):
    it = body(3)
    it.step(np.zeros((3, 12)))
    it.engine.batch.bind("qvel")[1, 8] = 1e12
    with caplog.at_level(logging.WARNING, "ursa"):
        reading = it.step(np.zeros((3, 12)))
    assert "robot [1]" in caplog.text
    assert it.rescued.tolist() == [False, True, False]
    assert np.isfinite(reading.joint_angle).all()
    assert np.isfinite(reading.velocity).all()
    assert np.allclose(reading.joint_angle[1], A1.of_joints("stance"))
    it.step(np.zeros((3, 12)))
    assert not it.rescued.any()


def test_carried_robots_keep_their_posture_and_lie_over_the_origin():
    it = body()
    for action in actions(2, 20):
        before = it.step(action)
    after = it.carry(np.array([True, False]))
    assert np.array_equal(after.truth.position[0, :2], [0, 0])
    assert after.truth.position[0, 2] == before.truth.position[0, 2]
    assert np.array_equal(after.truth.position[1], before.truth.position[1])
    assert np.array_equal(after.joint_angle, before.joint_angle)
    assert np.array_equal(after.quaternion, before.quaternion)


def test_a_robot_on_its_back_can_get_up():
    """Full motion and motors, random targets held for 0.5 s: a fifth gets up within 10 s."""
    trials = 64
    it = body(trials)
    qpos = it.engine.batch.bind("qpos")
    qpos[:, 2], qpos[:, 3:7] = 0.12, (0, 1, 0, 0)  # turned over about x
    for _ in range(20):
        reading = it.step(np.zeros((trials, 12)))
    assert (
        reading.rotation[:, 2, 2] < 0
    ).all()  # it lies on its back, and stays if it does nothing
    best = np.full(trials, -1.0)
    for action in actions(trials, 20, seed=6):
        for _ in range(10):
            best = np.maximum(best, it.step(action).rotation[:, 2, 2])
    upright = (best + 1) / 2 > 0.7
    assert upright.mean() >= 0.2, f"{upright.mean():.0%} of {trials} trials"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("angle_noise", -0.1),
        ("latency", float("nan")),
        ("friction", (0.0, 1.0)),
        ("mass", (2.0, 1.0)),
    ],
)
def test_impossible_disturbances_are_refused_by_name(field, value):
    with pytest.raises(UserError, match=field):
        Disturbance(**{field: value})


def test_the_noise_of_one_step_is_not_that_of_the_next():
    drawn = [set(chance(3, step).standard_normal(1000).tolist()) for step in range(4)]
    assert all(not drawn[a] & drawn[b] for a in range(4) for b in range(a))
