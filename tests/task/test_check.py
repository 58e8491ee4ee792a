"""A wrong task fails at start, with the name of the wrong function."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from readings import standing
from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.task.forward import forward
from ursa.task.task import Task, check, judge

READING = standing(A1, 5)
GOOD = Task(
    name="good",
    reward=lambda before, after: {"height": after.height},
    cost=lambda reading: -reading.height,
    posture=lambda reading: reading.gyro,
    posture_names=("x", "y", "z"),
)


def scalar_cost(reading):
    return float(reading.height.mean())


def unsafe_flags(reading):
    return reading.height > 0.1


def flat_posture(reading):
    return reading.gyro[:, 0]


def bare_reward(before, after):
    return after.height


def no_terms(before, after):
    return {}


def reward_per_joint(before, after):
    return {"fine": after.height, "angles": after.joint_angle}


def divided_by_speed(before, after):
    with np.errstate(invalid="ignore"):
        return {"straight": after.velocity[:, 0] / np.linalg.norm(after.velocity, axis=1)}


def peeking(reading):
    return reading.truth.position[:, 2]


class Weighted:
    def __call__(self, reading):
        return reading.gyro


def test_a_good_task_passes():
    check(GOOD, READING)


@pytest.mark.parametrize(
    ("part", "function", "told"),
    [
        ("cost", scalar_cost, "float 0.27; want finite floats of shape (5,), one row per robot"),
        ("cost", unsafe_flags, "returned an array of bool, shape (5,)"),
        ("cost", peeking, "AttributeError: 'NoneType' object has no attribute 'position' (a task"),
        ("posture", flat_posture, "shape (5,); want finite floats of shape (5, 3) (columns x, y"),
        ("reward", bare_reward, "shape (5,); want a dict of named terms of shape (5,)"),
        ("reward", no_terms, "returned dict {}; want a dict of named terms"),
        ("reward", reward_per_joint, '"angles": an array of float64, shape (5, 12); want'),
        ("reward", divided_by_speed, '"straight": nan for robot 0; want finite'),
    ],
)
def test_a_wrong_function_is_named_with_what_it_returned(part, function, told):
    with pytest.raises(UserError) as error:
        check(replace(GOOD, **{part: function}), READING)
    message = str(error.value)
    assert message.startswith(f"task good: {part} function ")
    assert f"{__name__}.{function.__name__}" in message
    assert told in message


@pytest.mark.parametrize(
    ("function", "name"),
    [(partial(flat_posture), "flat_posture"), (lambda reading: 3, "<lambda>")],
)
def test_functions_of_every_make_are_named(function, name):
    with pytest.raises(UserError, match=f"{__name__}.*{name} returned"):
        check(replace(GOOD, posture=function), READING)


def test_an_object_that_can_be_called_is_named_by_its_class():
    with pytest.raises(UserError, match=r"Weighted returned an array"):
        check(replace(GOOD, cost=Weighted()), READING)


def test_a_term_must_have_a_name():
    with pytest.raises(UserError, match="a term called 1; want terms named by strings"):
        check(replace(GOOD, reward=lambda before, after: {1: after.height}), READING)


def test_what_phi_reads_has_distinct_names():
    with pytest.raises(UserError, match="posture_names must be present and unique"):
        replace(GOOD, posture_names=("x", "x", "z"))
    with pytest.raises(UserError, match="posture_names must be present and unique"):
        replace(GOOD, posture_names=())


def test_the_wrong_robot_is_told_too():
    """A task built for the A1's joints and given another robot's readings."""
    small = replace(A1, joints=A1.joints[:6], legs=A1.legs[:2])
    with pytest.raises(UserError, match=r"posture function .*forward.* shape \(5, 7\); want"):
        check(forward(A1), standing(small, 5))


def test_terms_of_another_float_type_still_sum_in_full():
    light = replace(GOOD, reward=lambda before, after: {"one": np.ones(5, np.float32)})
    assert judge(light, READING, READING).reward.dtype == np.float64
