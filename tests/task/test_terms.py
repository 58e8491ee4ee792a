"""The reward terms, against numbers worked out by hand and against DayDreamer's reward."""

from dataclasses import replace

import numpy as np
import pytest

from readings import standing, turned
from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.point import POINT
from ursa.robot.reading import Reading, Truth
from ursa.task import terms

A1_POSE = terms.pose(A1)
ZERO_ACTION = np.tile([0.0, 1.335177, -2.153562], 4)  # the middle of the action's range
STRAIGHT = (0.3, 0.0, 0.0)


def daydreamer_reward(reading: Reading) -> np.ndarray:
    """DayDreamer's own reward on the A1, from our terms: 5 on the back, 14 at a straight run."""
    upright = terms.upright(reading)
    hip, upper, lower = terms.gated(upright, terms.legs(reading, A1_POSE))
    forward = terms.forward_speed(reading)
    straight = np.maximum(forward, 0.0) / np.linalg.norm(reading.velocity, axis=1)
    run = (lower > terms.GATE) * straight * np.clip(forward / 0.3, -1.0, 1.0)
    return upright + hip + upper + lower + 5.0 + 5.0 * run


@pytest.mark.parametrize(
    ("changes", "reward"),
    [
        ({"velocity": STRAIGHT}, 13.825592),
        ({"velocity": (-1e-9, 0.0, 0.0)}, 8.825592),
        ({"velocity": STRAIGHT, "quaternion": turned("x", np.pi)}, 5.0),
        ({"velocity": STRAIGHT, "joint_angle": ZERO_ACTION}, 8.333333),
    ],
    ids=["running straight", "creeping backwards", "on its back", "knees bent: gate closed"],
)
def test_daydreamer_reward_has_its_published_values(changes, reward):
    assert daydreamer_reward(standing(A1, 1, **changes)) == pytest.approx(reward, abs=1e-6)


@pytest.mark.parametrize(
    ("quaternion", "good"),
    [
        (turned("x", 0.0), 1.0),
        (turned("z", 2.0), 1.0),  # heading does not matter
        (turned("x", np.pi / 2), 0.5),
        (turned("y", np.pi), 0.0),
        (turned("y", np.arccos(0.4)), 0.7),  # 66.4 degrees
    ],
)
def test_upright_falls_from_one_on_the_feet_to_zero_on_the_back(quaternion, good):
    assert terms.upright(standing(A1, 1, quaternion=quaternion)) == pytest.approx(good)


def test_speeds_are_along_the_heading_of_the_robot():
    left = standing(A1, 1, quaternion=turned("z", np.pi / 2), velocity=(1.0, 2.0, 9.0))
    assert terms.forward_speed(left) == pytest.approx(2.0)  # it looks along world y
    assert terms.lateral_speed(left) == pytest.approx(-1.0)  # and its left is world -x


def test_a_steep_body_gets_less_for_the_same_speed():
    steep = standing(A1, 1, quaternion=turned("y", np.pi / 3), velocity=(1.0, 0.0, 0.0))
    assert terms.forward_speed(steep) == pytest.approx(0.5)  # cos 60 deg, not renormalised
    rolled = standing(A1, 1, quaternion=turned("x", np.pi / 3), velocity=(0.0, 1.0, 0.0))
    assert terms.lateral_speed(rolled) == pytest.approx(0.5)


def test_speeds_and_uprightness_agree_with_the_rotation_matrix():
    rng = np.random.default_rng(1)
    quaternion = rng.normal(size=(20, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    reading = standing(A1, 20, quaternion=quaternion, velocity=rng.normal(size=(20, 3)))
    matrix = reading.rotation
    flat = reading.velocity * [1.0, 1.0, 0.0]
    np.testing.assert_allclose(terms.upright(reading), (matrix[:, 2, 2] + 1) / 2, atol=1e-12)
    forward = np.einsum("ni,ni->n", flat, matrix[:, :, 0])
    lateral = np.einsum("ni,ni->n", flat, matrix[:, :, 1])
    np.testing.assert_allclose(terms.forward_speed(reading), forward, atol=1e-12)
    np.testing.assert_allclose(terms.lateral_speed(reading), lateral, atol=1e-12)


@pytest.mark.parametrize(
    ("angles", "hip", "upper", "lower"),
    [
        (np.tile([0.0, 0.9, -1.8], 4), 1.0, 0.988975, 0.836617),
        (ZERO_ACTION, 1.0, 0.833333, 0.5),
        (A1.of_joints("standing"), 1.0, 1.0, 1.0),
        (A1.of_joints("low"), 0.0, 1 - 0.8 / 1.2, 0.0),  # -1 is 1, 0.8 and 2 from the pose
        (A1.of_joints("lower"), 0.0, 1 - 0.8 / 1.2, 0.0),  # beyond the action range: its end
        (np.tile([0.0, 0.0, -0.92], 4), 1.0, 1 - 0.373034 / 1.2, 1.0),  # a straight knee is perfect
    ],
)
def test_legs_compare_the_joints_with_the_standing_pose(angles, hip, upper, lower):
    reading = standing(A1, 2, joint_angle=angles)
    got = terms.legs(reading, A1_POSE)
    np.testing.assert_allclose(got, np.tile([[hip], [upper], [lower]], 2), atol=1e-6)


def test_one_bad_leg_counts_a_quarter():
    angles = A1.of_joints("standing")
    angles[0] = A1.joints[0].high  # one hip of four, as far out as the action goes
    hip, upper, lower = terms.legs(standing(A1, 1, joint_angle=angles), A1_POSE)
    assert (hip, upper, lower) == (pytest.approx(0.75), pytest.approx(1), pytest.approx(1))


@pytest.mark.parametrize("standing_angle", [-1.628392, -1.0])  # the action ends at -1.628392
def test_every_robot_can_be_perfect_even_beyond_the_action_range(standing_angle):
    joints = tuple(
        replace(joint, standing=standing_angle) if joint.name.endswith("lower") else joint
        for joint in A1.joints
    )
    spec = replace(A1, joints=joints)
    reading = standing(spec, 1, joint_angle=spec.of_joints("standing"))
    np.testing.assert_allclose(terms.legs(reading, terms.pose(spec)), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("upright", "legs", "wanted"),
    [
        (0.71, (0.9, 0.8, 0.3), (0.9, 0.8, 0.3)),
        (0.70, (0.9, 0.8, 0.3), (0.0, 0.0, 0.0)),  # not above 0.7: everything after it is shut
        (1.00, (0.7, 0.8, 0.3), (0.7, 0.0, 0.0)),
        (1.00, (0.9, 0.6, 0.3), (0.9, 0.6, 0.0)),
    ],
)
def test_each_gate_opens_the_next_term(upright, legs, wanted):
    got = terms.gated(np.array([upright]), np.array(legs)[:, np.newaxis])
    np.testing.assert_allclose(np.concatenate(got), wanted)


def test_work_is_the_size_of_torque_times_movement():
    before = standing(A1, 1)
    angles = before.joint_angle + 0.1
    after = standing(A1, 1, joint_angle=angles, torque=2.0)
    assert terms.work(before, after) == pytest.approx(2.4)  # 12 x 2 N m x 0.1 rad
    braking = standing(A1, 1, joint_angle=angles, torque=-2.0)
    assert terms.work(before, braking) == pytest.approx(2.4)
    half = standing(A1, 1, joint_angle=angles, torque=[2.0, -2.0] * 6)
    assert terms.work(before, half) == pytest.approx(0.0)  # the sum is taken before the size


def test_penalties_are_weighted_by_a_thousandth():
    before = standing(A1, 1, torque=1.0)
    after = standing(A1, 1, torque=4.0, joint_speed=2.0)
    got = terms.effort(before, after)
    assert got["speed"] == pytest.approx(-0.048)  # 12 x 2^2 / 1000
    assert got["smooth"] == pytest.approx(-0.108)  # 12 x 3^2 / 1000
    assert got["work"] == 0.0
    assert list(got) == ["speed", "work", "smooth"]


def test_yaw_rate_is_the_gyroscope_about_z():
    assert terms.yaw_rate(standing(A1, 1, gyro=(1.0, 2.0, 3.0))) == 3.0


def test_a_robot_without_legs_has_no_posture_to_judge():
    with pytest.raises(UserError, match="point has no legs"):
        terms.pose(POINT)


def test_the_truth_of_the_simulator_changes_nothing():
    honest = standing(A1, 2, velocity=(0.2, 0.1, 0.0))
    wild = np.full((2, 3), 1e3)
    cheated = standing(
        A1,
        2,
        velocity=(0.2, 0.1, 0.0),
        truth=Truth(position=wild, velocity=wild, foot_height=np.ones((2, 4))),
    )
    assert (terms.forward_speed(honest) == terms.forward_speed(cheated)).all()
    assert (terms.lateral_speed(honest) == terms.lateral_speed(cheated)).all()
