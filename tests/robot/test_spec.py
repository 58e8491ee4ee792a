"""The A1 and the Go2 are the robots their makers describe, and a wrong spec is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest

from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.go2 import GO2
from ursa.robot.kinematics import feet
from ursa.robot.spec import Link, RobotSpec, Shape

ROBOTS = pytest.mark.parametrize("spec", [A1, GO2], ids=lambda spec: spec.name)
LINK = Link(mass=1.0, center=(1.0, 2.0, 3.0), inertia=(4.0, 5.0, 6.0, 0.1, 0.2, 0.3))


def test_the_robots_weigh_this():
    assert A1.mass == pytest.approx(12.453, abs=0.01)  # 4.713 + 4 (0.696 + 1.013 + 0.166 + 0.06)
    assert GO2.mass == pytest.approx(15.017, abs=0.01)  # 6.921 + 4 (0.678 + 1.152 + 0.154 + 0.04)


@ROBOTS
def test_there_are_twelve_joints_leg_by_leg(spec):
    assert spec.joint_names[:4] == ("FR.hip", "FR.upper", "FR.lower", "FL.hip")
    assert spec.leg_names == ("FR", "FL", "BR", "BL")
    assert spec.action_size == 12
    assert spec.columns("upper") == [1, 4, 7, 10]
    assert spec.period == pytest.approx(0.05)  # 20 Hz


@pytest.mark.parametrize(
    ("part", "lower", "upper", "low", "high", "stance", "standing"),
    [
        (0, -0.802851, 0.802851, -0.786794, 0.786794, 0.0, 0.0),
        (1, -1.047198, 4.188790, -0.994838, 3.665191, 0.9, 0.869174),
        (2, -2.696534, -0.916298, -2.678731, -1.628392, -1.8, -1.628392),
    ],
)
def test_the_a1_has_these_ranges_on_every_leg(part, lower, upper, low, high, stance, standing):
    for joint in A1.joints[part::3]:
        found = (joint.lower, joint.upper, joint.low, joint.high, joint.stance, joint.standing)
        np.testing.assert_allclose(found, (lower, upper, low, high, stance, standing), atol=2e-6)


def test_motors_are_those_of_the_data_sheets():
    assert set(A1.of_joints("torque")) == {33.5}
    assert set(A1.of_joints("speed")) == {21.0}
    assert GO2.of_joints("torque")[:3].tolist() == [23.7, 23.7, 35.55]
    assert GO2.of_joints("speed")[:3].tolist() == [30.1, 30.1, 20.07]
    assert A1.of_joints("kp")[:3].tolist() == [80.0, 80.0, 80.0]
    assert A1.of_joints("kd")[:3].tolist() == [1.0, 2.0, 2.0]


@ROBOTS
def test_a_robot_is_set_down_with_its_feet_on_the_floor_not_in_it(spec):
    soles = feet(spec, spec.of_joints("stance"))[:, 2] - spec.legs[0].foot_radius
    gap = spec.rest_height + soles
    assert (gap > 0).all()
    assert (gap < 0.002).all()


@ROBOTS
def test_left_and_right_are_mirror_images(spec):
    for right, left in ((0, 1), (2, 3)):
        a, b = spec.legs[right], spec.legs[left]
        assert a.origin == (b.origin[0], -b.origin[1], b.origin[2])
        assert a.offset == -b.offset < 0
        for mine, other in zip(a.links, b.links, strict=True):
            assert mine == other.mirrored(y=-1)


@ROBOTS
def test_front_legs_are_in_front(spec):
    assert [leg.origin[0] > 0 for leg in spec.legs] == [True, True, False, False]
    assert spec.legs[2].links[0] == spec.legs[0].links[0].mirrored(x=-1)  # hips point backwards
    assert spec.legs[2].links[1:] == spec.legs[0].links[1:]  # thighs and calves do not


def test_every_robot_names_its_source():
    assert A1.source
    assert GO2.source


def test_a_mirrored_link_changes_the_signs_it_must():
    side, end = LINK.mirrored(y=-1), LINK.mirrored(x=-1)
    assert side.center == (1.0, -2.0, 3.0)
    assert side.inertia == (4.0, 5.0, 6.0, -0.1, 0.2, -0.3)  # xx yy zz xy xz yz
    assert end.center == (-1.0, 2.0, 3.0)
    assert end.inertia == (4.0, 5.0, 6.0, -0.1, -0.2, 0.3)
    assert LINK.mirrored(x=-1, y=-1).inertia == (4.0, 5.0, 6.0, 0.1, -0.2, -0.3)
    assert side.mirrored(y=-1) == LINK


def test_a_mirrored_link_takes_its_shapes_along():
    rod = Shape(kind="capsule", size=(0.1, 1.0), position=(1.0, 2.0, 3.0), axis=(0.1, 0.2, 0.9))
    shape = replace(LINK, shapes=(rod,)).mirrored(y=-1).shapes[0]
    assert shape.position == (1.0, -2.0, 3.0)
    assert shape.axis == (0.1, -0.2, 0.9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": -0.9}, "joint FR.hip: action range [-0.9"),  # beyond the hard limit
        ({"high": -0.79}, "must lie inside the hard limits"),  # high below low
        ({"stance": 1.0}, "stance = 1.0 lies outside the hard limits"),
        ({"standing": float("nan")}, "joint FR.hip: standing = nan, want a finite number"),
        ({"kp": 0.0}, "joint FR.hip: kp = 0.0, want a number > 0"),
        ({"torque": -1.0}, "torque = -1.0, want a number > 0"),
        ({"speed": float("nan")}, "speed = nan, want a number > 0"),
        ({"kd": -1.0}, "kd = -1.0, want a number >= 0"),
    ],
)
def test_an_impossible_joint_is_refused(changes, message):
    with pytest.raises(UserError, match=re.escape(message)):
        replace(A1.joints[0], **changes)


@pytest.mark.parametrize(
    ("kind", "size", "message"),
    [
        ("cone", (1.0,), "valid kinds are box, cylinder, capsule, sphere"),
        ("box", (1.0, 1.0), "box: size = (1.0, 1.0), want 3 finite numbers"),
        ("sphere", (0.0,), "sphere: size = (0.0,), want every number > 0"),
    ],
)
def test_an_impossible_shape_is_refused(kind, size, message):
    with pytest.raises(UserError, match=re.escape(message)):
        Shape(kind=kind, size=size)


def test_an_impossible_link_is_refused():
    with pytest.raises(UserError, match=r"mass = 0\.0, want a number > 0"):
        replace(LINK, mass=0.0)
    with pytest.raises(UserError, match="is not positive"):
        replace(LINK, inertia=(1.0, 1.0, 1.0, 2.0, 0.0, 0.0))  # xy larger than xx and yy allow


def test_an_impossible_robot_is_refused():
    with pytest.raises(UserError, match="joints must come leg by leg"):
        replace(A1, joints=A1.joints[::-1])
    with pytest.raises(UserError, match="needs a trunk link"):
        replace(A1, trunk=None)
    with pytest.raises(UserError, match=r"control_rate = 0\.0, want a number > 0"):
        replace(A1, control_rate=0.0)
    with pytest.raises(UserError, match="present and unique"):
        RobotSpec(name="twin", joints=(A1.joints[0], A1.joints[0]))
    with pytest.raises(UserError, match="present and unique"):
        RobotSpec(name="none", joints=())
