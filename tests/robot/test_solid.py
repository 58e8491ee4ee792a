"""A solid robot: the same physics, but its legs do not pass through each other."""

import numpy as np
import pytest

from ursa.robot.a1 import A1
from ursa.robot.kinematics import feet
from ursa.robot.registry import body, tick_in

KNEES = (1.4, -2.0)  # upper and lower: feet well below the hips
INWARD = 0.7


def crossed(engine: str) -> np.ndarray:
    """Where an A1's feet are, in its own frame, after its front legs were told to cross."""
    robot = body("a1", engine=engine)
    wanted = A1.of_joints("stance").copy()
    wanted[1:3] = wanted[4:6] = KNEES
    wanted[0], wanted[3] = INWARD, -INWARD  # front right and front left, each towards the other
    lower, upper = A1.of_joints("lower"), A1.of_joints("upper")
    reading = robot.rest()
    for _ in range(40):
        reading = robot.step((2 * (wanted - lower) / (upper - lower) - 1)[None])
    robot.close()
    return feet(A1, reading.joint_angle)[0]


def test_legs_that_are_told_to_cross_meet_only_where_a_robot_is_solid():
    thick = 2 * A1.legs[0].foot_radius
    right, left, *_ = crossed("mujoco")
    assert np.linalg.norm(right - left) < 0.6 * thick  # one foot is half inside the other
    right, left, *_ = crossed("solid")
    assert 0.9 * thick < np.linalg.norm(right - left) < 1.5 * thick  # they press on each other


@pytest.mark.parametrize("name", ["a1", "go2"])
def test_at_rest_no_link_touches_another_so_both_stand_alike(name):
    places = []
    for engine in ("mujoco", "solid"):
        robot = body(name, engine=engine)
        robot.rest()
        for _ in range(20):
            reading = robot.step(np.zeros((1, 12)))
        places.append(reading.truth.position)
        robot.close()
    assert (places[0] == places[1]).all()


def test_a_tick_of_mujoco_is_kept_where_a_robot_is_solid_and_bullet_has_its_own():
    assert tick_in("solid", "mujoco", 0.002) == tick_in("mujoco", "solid", 0.002) == 0.002
    assert tick_in("pybullet", "pybullet", 0.001) == 0.001
    assert tick_in("pybullet", "mujoco", 0.002) is None
    assert tick_in("solid", "pybullet", 0.001) is None
