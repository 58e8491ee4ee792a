"""How high a robot is: against MuJoCo's own geometry, and the postures that feet alone misjudge."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from readings import standing
from ursa.robot.clearance import airborne, reach
from ursa.robot.kinematics import soles_below
from ursa.robot.mjcf import mjcf
from ursa.robot.point import PointBody
from ursa.robot.reading import Truth
from ursa.robot.registry import robot


def lowest_by_mujoco(spec, angle, quaternion):
    """The lowest of many points on the surface of every geom, placed by MuJoCo."""
    model = mujoco.MjModel.from_xml_string(mjcf(spec, tick=0.005))
    data, found = mujoco.MjData(model), []
    rng = np.random.default_rng(0)
    ball = rng.normal(size=(4000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    kinds = mujoco.mjtGeom
    for angles, turn in zip(angle, quaternion, strict=True):
        data.qpos[:] = np.concatenate([np.zeros(3), turn, angles])
        mujoco.mj_forward(model, data)
        low = np.inf
        for geom in range(model.ngeom):
            size, kind = model.geom_size[geom], model.geom_type[geom]
            if kind == kinds.mjGEOM_PLANE:
                continue
            if kind == kinds.mjGEOM_BOX:
                points = np.sign(ball) * size
            elif kind == kinds.mjGEOM_SPHERE:
                points = ball * size[0]
            elif kind == kinds.mjGEOM_CAPSULE:
                points = ball * size[0] + np.sign(ball[:, 2:]) * [0, 0, size[1]]
            else:
                flat = ball[:, :2] / np.linalg.norm(ball[:, :2], axis=1, keepdims=True)
                points = np.c_[flat * size[0], np.sign(ball[:, 2]) * size[1]]
            placed = points @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
            low = min(low, placed[:, 2].min())
        found.append(-low)
    return np.array(found)


@pytest.mark.parametrize("name", ["a1", "go2"])
def test_the_lowest_point_is_where_mujoco_has_it(name):
    spec, rng = robot(name), np.random.default_rng(1)
    angle = rng.uniform(spec.of_joints("lower"), spec.of_joints("upper"), (40, 12))
    turn = rng.normal(size=(40, 4))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    found, wanted = reach(spec, angle, turn), lowest_by_mujoco(spec, angle, turn)
    assert (found >= wanted - 1e-9).all()  # sampled points lie on the surface or inside
    np.testing.assert_allclose(found, wanted, atol=5e-4)


A1 = robot("a1")


def placed(height, angle=None):
    """One A1, upright, its trunk that high."""
    reading = standing(A1)
    rest = np.zeros((1, 3))
    truth = Truth(
        position=np.array([[0.0, 0.0, height]]), velocity=rest, foot_height=np.zeros((1, 4))
    )
    angle = reading.joint_angle if angle is None else angle[None]
    return replace(reading, joint_angle=angle, truth=truth)


def test_a_standing_robot_is_on_the_floor_and_a_centimetre_higher_it_is_not():
    height = reach(A1, placed(0.0).joint_angle, placed(0.0).quaternion)[0]
    assert airborne(placed(height)) == 0
    assert airborne(placed(height + 0.01)) == 1


def test_a_robot_that_lies_on_its_belly_with_its_feet_up_is_not_in_the_air():
    """Thighs level, calves folded up: the trunk is what it lies on."""
    angle = np.tile([0.0, -np.pi / 2, -np.pi / 4], 4)
    height = reach(A1, angle[None], placed(0.0).quaternion)[0]
    lying = placed(height, angle)
    assert (soles_below(A1, angle[None], lying.quaternion) < height - 0.05).all()
    assert airborne(lying) == 0
    assert airborne(placed(height + 0.01, angle)) == 1


def test_a_robot_without_legs_is_never_in_the_air():
    points = PointBody(3)
    np.testing.assert_array_equal(airborne(points.rest()), np.zeros(3))
