"""Feet are where geometry puts them, and their soles move as MuJoCo's Jacobian says."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from ursa.robot.a1 import A1
from ursa.robot.go2 import GO2
from ursa.robot.kinematics import Legs, feet, foot_velocity
from ursa.robot.mjcf import mjcf
from ursa.robot.reading import rotation, turn_of

RNG = np.random.default_rng(7)
DOWN = np.array([0.0, 0.0, -1.0])
# Unlike any real robot: every leg differs in every number, so that no index can be swapped.
ODD = replace(
    A1,
    name="odd",
    legs=tuple(
        replace(
            leg,
            origin=(leg.origin[0] + 0.01 * i, leg.origin[1], 0.02 * i),
            offset=leg.offset * (1 + 0.1 * i),
            upper_length=0.18 + 0.02 * i,
            lower_length=0.25 - 0.02 * i,
            foot_radius=0.02 + 0.005 * i,
        )
        for i, leg in enumerate(A1.legs)
    ),
)
ROBOTS = pytest.mark.parametrize("spec", [A1, GO2, ODD], ids=lambda spec: spec.name)


@ROBOTS
def test_a_leg_at_zero_angles_hangs_straight_down(spec):
    for leg, foot in zip(spec.legs, feet(spec, np.zeros(12)), strict=True):
        x, y, z = leg.origin
        wanted = (x, y + leg.offset, z - leg.upper_length - leg.lower_length)
        np.testing.assert_allclose(foot, wanted, atol=1e-12)


def test_a_hip_at_a_right_angle_stretches_the_leg_to_the_left():
    foot = feet(A1, np.tile([np.pi / 2, 0.0, 0.0], 4))[1]  # FL
    np.testing.assert_allclose(foot, (0.183, 0.047 + 0.4, 0.08505), atol=1e-12)


def test_a_thigh_at_a_right_angle_stretches_the_leg_backwards():
    foot = feet(A1, np.tile([0.0, np.pi / 2, 0.0], 4))[1]  # FL
    np.testing.assert_allclose(foot, (0.183 - 0.4, 0.047 + 0.08505, 0.0), atol=1e-12)


@pytest.mark.parametrize(
    ("pose", "height"),
    [((0.0, 0.9, -1.8), 0.2686), ((0.0, 0.86917, -1.62839), 0.294), ((0.0, 1.335, -2.154), 0.203)],
)
def test_the_a1_stands_this_high(pose, height):
    lowest = feet(A1, np.tile(pose, 4))[:, 2].min() - 0.02
    assert -lowest == pytest.approx(height, abs=5e-4)


def model(spec) -> tuple[mujoco.MjModel, mujoco.MjData]:
    compiled = mujoco.MjModel.from_xml_string(mjcf(spec, tick=0.002))
    data = mujoco.MjData(compiled)
    data.qpos[:7] = (0, 0, 0, 1, 0, 0, 0)
    return compiled, data


@ROBOTS
def test_feet_and_knees_are_where_mujoco_has_them(spec):
    compiled, data = model(spec)
    for angle in RNG.uniform(-np.pi, np.pi, (10, 12)):
        data.qpos[7:] = angle
        mujoco.mj_kinematics(compiled, data)
        found = feet(spec, angle)
        knees = np.stack(Legs(spec, angle).knee(), axis=-1)
        for i, leg in enumerate(spec.legs):
            np.testing.assert_allclose(found[i], data.geom(f"{leg.name}.foot").xpos, atol=1e-12)
            np.testing.assert_allclose(knees[i], data.body(f"{leg.name}.lower").xpos, atol=1e-12)


@ROBOTS
def test_soles_move_as_mujocos_jacobian_says(spec):
    compiled, data = model(spec)
    jacobian = np.zeros((3, compiled.nv))
    for angle in RNG.uniform(-np.pi, np.pi, (10, 12)):
        data.qpos[7:] = angle
        mujoco.mj_kinematics(compiled, data)
        mujoco.mj_comPos(compiled, data)
        speed, down = RNG.normal(size=12), RNG.normal(size=3)
        down /= np.linalg.norm(down)
        found = foot_velocity(spec, angle, speed, down)
        for i, leg in enumerate(spec.legs):
            sole = feet(spec, angle)[i] + leg.foot_radius * down
            calf = compiled.body(f"{leg.name}.lower").id
            mujoco.mj_jac(compiled, data, jacobian, None, sole, calf)
            np.testing.assert_allclose(found[i], jacobian[:, 6:] @ speed, atol=1e-10)


def test_the_sole_of_a_swinging_leg_is_faster_than_its_foot():
    swing = np.tile([0.0, 1.0, 0.0], 4)  # thighs at 1 rad/s, legs straight
    sole = foot_velocity(A1, np.zeros(12), swing, DOWN)
    np.testing.assert_allclose(sole, np.tile([-0.42, 0.0, 0.0], (4, 1)), atol=1e-12)  # not 0.40


def test_the_place_of_a_sole_is_a_radius_below_the_foot():
    angle = RNG.uniform(-1, 1, 12)
    place, _ = Legs(A1, angle).sole(np.zeros(12), DOWN)
    wanted = feet(A1, angle) + 0.02 * DOWN
    np.testing.assert_allclose(np.stack(place, axis=-1), wanted, atol=1e-12)


def test_many_robots_at_many_ticks_are_each_computed_alone():
    angle, speed = RNG.normal(size=(2, 5, 3, 12))
    down = RNG.normal(size=(5, 3, 3))
    assert feet(A1, angle).shape == (5, 3, 4, 3)
    for n, k in np.ndindex(5, 3):
        one = foot_velocity(A1, angle[n, k], speed[n, k], down[n, k])
        assert (feet(A1, angle)[n, k] == feet(A1, angle[n, k])).all()
        assert (foot_velocity(A1, angle, speed, down)[n, k] == one).all()


@pytest.mark.parametrize("legs", [1, 4])
def test_what_is_given_is_not_changed(legs):
    spec = replace(A1, legs=A1.legs[:legs], joints=A1.joints[: 3 * legs])
    angle, speed = np.full(3 * legs, 0.3), np.full(3 * legs, 0.7)
    foot_velocity(spec, angle, speed, DOWN)
    assert (angle == 0.3).all()
    assert (speed == 0.7).all()


def test_a_quaternion_of_any_length_turns_the_same_way():
    unit = RNG.normal(size=(20, 4))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    for length in (1.0, 1e-3, 1e3):
        turn = np.moveaxis(turn_of((length * unit).T), -1, 0)
        np.testing.assert_allclose(turn, rotation(unit), atol=1e-12)
    assert (turn_of(np.zeros(4)) == np.eye(3)).all()
