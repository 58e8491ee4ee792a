"""The scripts move a robot through the whole motion stack, and are the same every time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ursa.errors import UserError
from ursa.robot import gait, motion
from ursa.robot.a1 import A1
from ursa.robot.disturbance import chance
from ursa.robot.go2 import GO2
from ursa.robot.kinematics import feet
from ursa.robot.point import POINT
from ursa.robot.reading import Reading
from ursa.robot.registry import body

STEPS = 200  # 10 s


def perform(robot, script, tick, steps=STEPS) -> list[Reading]:
    actor = body(robot, tick=tick, threads=1)
    acts = (gait.SCRIPTS[script](actor.spec, step, 0)[np.newaxis] for step in range(steps))
    readings = [actor.rest(), *(actor.step(act) for act in acts)]
    actor.close()
    return readings


def positions(readings):
    return np.array([reading.truth.position[0] for reading in readings])


def tilt(readings):
    up = np.array([reading.rotation[0, 2, 2] for reading in readings])
    return np.degrees(np.arccos(np.clip(up, -1, 1)))


@pytest.mark.parametrize(
    ("robot", "tick"),
    [(A1, 0.005), (A1, 0.002), (GO2, 0.005)],
    ids=lambda it: getattr(it, "name", it),
)
def test_a_trot_goes_straight_ahead_for_ten_seconds_and_stays_upright(robot, tick):
    readings = perform(robot, "trot", tick)
    speed = np.mean([reading.truth.velocity[0, 0] for reading in readings[1:]])
    assert 0.25 <= speed <= 0.45
    assert tilt(readings).max() < 15
    assert abs(positions(readings)[-1, 1]) < 0.5  # of 3 m, without anybody steering
    contacts = np.array([reading.contact[0] for reading in readings[40:]])
    assert contacts.any(axis=1).mean() > 0.98  # it walks, it does not leap
    assert contacts.mean() < 0.75  # and it lifts its feet


def test_a_standing_robot_stands():
    readings = perform(A1, "stand", 0.005)
    place = positions(readings)
    assert np.ptp(place[20:, 2]) < 0.002
    assert 0.24 < place[-1, 2] < 0.28
    assert tilt(readings).max() < 5
    assert np.linalg.norm(place[-1, :2] - place[0, :2]) < 0.05


@pytest.mark.parametrize("spec", [A1, GO2], ids=lambda spec: spec.name)
def test_the_stride_that_leaves_the_filter_is_the_stride_asked_for(spec):
    resting = np.tile(spec.of_joints("stance"), (1, 1))
    state, targets = motion.begin(resting), []
    for step in range(120):
        act = gait.trot(spec, step)[np.newaxis]
        state, target = motion.advance(spec, motion.MotionConfig(), state, act, 10)
        targets.append(target[:, -1])
    path = feet(spec, np.concatenate(targets[40:]))  # 80 steps, 2 and 4 legs
    asked = 0.40 * 2 * spec.legs[0].upper_length
    # not all of it: the knees of the A1 reach the end of their action range
    assert np.ptp(path[..., 0], axis=0) == pytest.approx(asked, rel=0.08)


def test_diagonal_legs_do_the_same_and_the_others_half_a_turn_later():
    # 1.25 Hz: a turn is 16 control steps of 50 ms, half of it 8
    act = {step: gait.trot(A1, step, frequency=1.25).reshape(4, 3) for step in (40, 48)}
    right_front, left_front, right_back, left_back = range(4)
    np.testing.assert_allclose(act[40][right_front], act[40][left_back], atol=1e-12)
    np.testing.assert_allclose(act[40][left_front], act[40][right_back], atol=1e-12)
    np.testing.assert_allclose(act[48][right_front], act[40][left_front], atol=1e-9)
    assert np.abs(act[40][right_front] - act[40][left_front]).max() > 0.1


def test_a_trot_begins_with_all_feet_in_one_place():
    legs = gait.trot(A1, 0).reshape(4, 3)
    np.testing.assert_allclose(legs, np.tile(legs[0], (4, 1)), atol=1e-12)
    place = feet(A1, motion.target_of(A1, gait.trot(A1, 0))[np.newaxis])[0]
    # 0.62 of 0.4 m below, 0.04 of it behind the thigh joint
    np.testing.assert_allclose(place[:, 2], -0.248, atol=1e-9)
    np.testing.assert_allclose(place[:, 0], [0.167, 0.167, -0.199, -0.199], atol=1e-9)


@given(
    st.sampled_from([A1, GO2]),
    st.integers(0, 10**6),
    st.integers(0, 2**63 - 1),
    st.sampled_from(sorted(gait.SCRIPTS)),
)
def test_every_script_gives_an_action_that_is_inside_the_range_and_repeatable(
    spec, step, seed, name
):
    act = gait.SCRIPTS[name](spec, step, seed)
    assert act.shape == (12,)
    assert (np.abs(act) <= 1).all()
    np.testing.assert_array_equal(act, gait.SCRIPTS[name](spec, step, seed))


def test_standing_holds_the_stance():
    np.testing.assert_allclose(motion.target_of(A1, gait.stand(A1)), A1.of_joints("stance"))


def test_random_actions_cover_the_range_and_no_two_steps_share_a_number():
    acts = np.array([gait.random(A1, step, seed=3) for step in range(500)])
    assert np.unique(acts).size == acts.size
    assert abs(acts.mean()) < 0.03  # 6000 draws of deviation 0.577: 0.0075
    assert abs(np.mean(acts**2) - 1 / 3) < 0.02
    assert np.abs(acts).max() > 0.999


def test_random_actions_share_no_chance_with_other_seeds_or_with_the_noise_of_the_body():
    acts = gait.random(A1, 7, seed=3)
    assert not np.isin(acts, gait.random(A1, 7, seed=4)).any()
    assert not np.isin(acts, chance(3, 7).uniform(-1, 1, 100)).any()


def test_a_robot_without_legs_cannot_trot_but_can_do_anything_at_random():
    with pytest.raises(UserError, match="point has 0 legs: a trot needs four"):
        gait.trot(POINT, 0)
    assert gait.random(POINT, 0).shape == (2,)
    assert (gait.stand(POINT) == 0).all()
