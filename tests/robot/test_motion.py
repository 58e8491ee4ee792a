"""Actions become joint targets by the affine map, filter, ramp and clip of the DayDreamer A1."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import signal

from ursa.errors import UserError
from ursa.robot import motion
from ursa.robot.a1 import A1
from ursa.robot.go2 import GO2
from ursa.robot.motion import MotionConfig

PLAIN = MotionConfig(filter=False, interpolate=False)
actions = arrays(float, (3, 12), elements=st.floats(-1, 1))


def leg(*angles: float) -> np.ndarray:
    """The same three angles on all four legs, for one robot."""
    return np.tile(np.array(angles), (1, 4))


@pytest.mark.parametrize(
    ("action", "target"),
    [
        (0.0, (0.0, 1.335177, -2.153562)),
        (1.0, (0.786794, 3.665191, -1.628392)),
        (-1.0, (-0.786794, -0.994838, -2.678731)),
    ],
)
def test_the_a1_maps_actions_to_these_angles(action, target):
    found = motion.target_of(A1, np.full((1, 12), action))
    np.testing.assert_allclose(found, leg(*target), atol=1e-6)


def test_the_a1_stance_is_this_action():
    found = motion.action_of(A1, leg(0.0, 0.9, -1.8))
    np.testing.assert_allclose(found, leg(0.0, -0.186770, 0.673234), atol=1e-6)


def test_an_action_beyond_the_bounds_counts_as_the_bound():
    far, bound = motion.target_of(A1, np.full((1, 12), 7.0)), motion.target_of(A1, np.ones((1, 12)))
    assert (far == bound).all()


def test_an_angle_beyond_the_action_range_reads_more_than_one():
    assert motion.action_of(A1, leg(0.8, 4.0, -1.0)).min() > 1.0


@given(actions)
def test_reading_an_angle_back_gives_the_action(action):
    for spec in (A1, GO2):
        back = motion.action_of(spec, motion.target_of(spec, action))
        np.testing.assert_allclose(back, action, atol=1e-12)


def test_the_filter_has_the_golden_coefficients():
    b, a = motion.butterworth(1.5, 20.0)
    np.testing.assert_allclose(b, [0.04125354, 0.08250707, 0.04125354], atol=1e-8)
    np.testing.assert_allclose(a, [1.0, -1.34896775, 0.51398189], atol=1e-8)


@given(st.floats(0.01, 0.49), st.floats(1.0, 1000.0))
def test_the_filter_is_scipys_butterworth(share, rate):
    b, a = motion.butterworth(share * rate, rate)
    wanted_b, wanted_a = signal.butter(2, share * rate, fs=rate)
    np.testing.assert_allclose(b, wanted_b, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(a, wanted_a, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("cutoff", [0.0, -1.0, 10.0, 30.0, float("nan")])
def test_a_cutoff_that_no_filter_can_have_is_refused(cutoff):
    with pytest.raises(UserError, match=r"filter_cutoff = .* less than half the rate \(10\.0 Hz\)"):
        motion.butterworth(cutoff, 20.0)


def response(config: MotionConfig, steps: int) -> np.ndarray:
    """Share of a step in the action that each tick's target has covered, 2 ticks per step."""
    start, goal = np.zeros((1, 12)), np.full((1, 12), 0.5)
    rest, end = motion.target_of(A1, start), motion.target_of(A1, goal)
    state, ticks = motion.begin(rest), []
    for _ in range(steps):
        state, target = motion.advance(A1, config, state, goal, 2)
        ticks.append((target - rest[:, None]) / (end - rest)[:, None])
    share = np.concatenate(ticks, axis=1)[0]
    np.testing.assert_allclose(share, share[:, :1].repeat(12, axis=1), atol=1e-9)  # all alike
    return share[:, 0]


def test_a_step_is_followed_like_this():
    golden = [0.04, 0.18, 0.39, 0.59, 0.77, 0.90, 0.98, 1.02, 1.04]
    np.testing.assert_allclose(response(MotionConfig(), 9)[1::2], golden, atol=0.006)
    np.testing.assert_allclose(response(MotionConfig(), 100)[-1], 1.0, atol=1e-6)


def test_the_first_target_is_held_and_later_ones_are_ramped_to():
    share = response(MotionConfig(), 3)
    assert share[0] == share[1]  # nothing to ramp from
    assert share[2] == pytest.approx(
        (share[1] + share[3]) / 2
    )  # half way at the first of two ticks
    assert share[4] == pytest.approx((share[3] + share[5]) / 2)


def test_without_the_filter_the_ramp_ends_on_the_commanded_target():
    share = response(MotionConfig(filter=False), 2)
    np.testing.assert_allclose(share, [1.0, 1.0, 1.0, 1.0])
    rest = motion.begin(motion.target_of(A1, np.zeros((1, 12))))
    moved, _ = motion.advance(A1, PLAIN, rest, np.zeros((1, 12)), 1)
    _, target = motion.advance(A1, MotionConfig(filter=False), moved, np.ones((1, 12)), 4)
    np.testing.assert_allclose(motion.action_of(A1, target)[0, :, 0], [0.25, 0.5, 0.75, 1.0])


def test_without_interpolation_every_tick_gets_the_new_target():
    share = response(MotionConfig(interpolate=False), 4)
    assert (share[0::2] == share[1::2]).all()
    assert (np.diff(share[1::2]) > 0).all()


def test_a_robot_without_a_cutoff_is_not_filtered():
    unfiltered = replace(A1, filter_cutoff=None)
    state = motion.begin(leg(0.0, 0.9, -1.8))
    _, target = motion.advance(unfiltered, MotionConfig(), state, np.ones((1, 12)), 3)
    assert (target == motion.target_of(A1, np.ones((1, 12)))).all()


@given(actions)
def test_a_robot_commanded_to_where_it_is_stays_there_to_the_last_bit(action):
    pose = motion.target_of(A1, action)
    state = motion.begin(pose)
    for _ in range(30):
        state, target = motion.advance(A1, MotionConfig(), state, action, 5)
        assert (target == pose[:, None]).all()


@pytest.mark.parametrize("config", [MotionConfig(), MotionConfig(filter=False)])
def test_every_step_ends_on_its_target_and_begins_beside_the_last_one(config):
    rng = np.random.default_rng(0)
    state = motion.begin(rng.uniform(-1, 1, (3, 12)))
    for index in range(50):
        before = state.target
        state, target = motion.advance(A1, config, state, rng.uniform(-1, 1, (3, 12)), 10)
        assert (target[:, -1] == state.target).all()  # to the last bit
        if index:
            tenth = (state.target - before) / 10
            np.testing.assert_allclose(target[:, 0], before + tenth, atol=1e-12)


def test_setting_one_robot_down_again_leaves_the_others_alone():
    state = motion.begin(np.zeros((2, 12)))
    for _ in range(3):
        state, _ = motion.advance(A1, MotionConfig(), state, np.ones((2, 12)), 5)
    pose = np.tile(leg(0.0, 0.9, -1.8), (2, 1))
    again = motion.restart(state, pose, np.array([True, False]))
    begun = motion.begin(pose)
    for field in fields(state):
        mixed = getattr(again, field.name)
        assert (mixed[0] == getattr(begun, field.name)[0]).all()
        assert (mixed[1] == getattr(state, field.name)[1]).all()
    assert again.fresh.tolist() == [True, False]


def test_the_state_does_not_change_when_the_measured_angles_do():
    angle = np.zeros((1, 12))
    state = motion.begin(angle)
    angle += 1.0
    assert (state.target == 0.0).all()


@pytest.mark.parametrize(
    ("target", "angle", "wanted"),
    [
        (0.5, 0.1, 0.3),  # 0.2 rad from the measured angle
        (-0.5, 0.1, -0.1),
        (0.15, 0.1, 0.15),  # near enough
        (2.0, 0.75, 0.802851455917),  # the hard limit is nearer
        (-2.0, -0.75, -0.802851455917),
        (0.0, 1.5, 1.3),  # pushed far out of its limits: led back gently
        (0.0, -1.5, -1.3),
    ],
)
def test_a_hip_target_stays_near_the_angle_and_inside_the_limits(target, angle, wanted):
    found = motion.tick_clip(np.full((1, 12), target), np.full((1, 12), angle), A1)
    assert found[0, 0] == pytest.approx(wanted)


def test_without_a_tick_clip_only_the_hard_limits_hold():
    free = replace(A1, tick_clip=None)
    found = motion.tick_clip(np.full((1, 12), 9.0), np.zeros((1, 12)), free)
    assert (found == A1.of_joints("upper")).all()


@given(*2 * [arrays(float, (2, 12), elements=st.floats(-9, 9))])
def test_the_p_torque_of_an_a1_never_exceeds_16_newton_metres(target, angle):
    error = motion.tick_clip(target, angle, A1) - angle
    assert np.abs(A1.of_joints("kp") * error).max() <= 16.0 + 1e-9
