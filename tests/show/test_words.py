"""What is broken is said as a person says it."""

from dataclasses import replace

import pytest

from ursa.robot.a1 import A1
from ursa.robot.damage import parse
from ursa.robot.point import POINT
from ursa.show import words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("undamaged", "undamaged"),
        ("BL", "hind left leg frozen"),
        ("FR+BL", "front right and hind left legs frozen"),
        ("FL.upper:limp", "front left upper joint limp"),
        ("FL.hip+FL.upper", "front left hip and upper joints frozen"),
        ("FR.upper:limp+BL:weak=0.5", "front right upper joint limp, hind left leg 50% strong"),
        ("BR.lower:locked=-1.5", "hind right lower joint locked at -1.5 rad"),
        ("BR.lower:locked", "hind right lower joint locked"),
    ],
)
def test_damage_is_told_by_leg_joint_and_kind(text, said):
    assert words.broken(parse(text, A1), A1) == said


def test_a_leg_at_no_corner_of_its_own_keeps_its_name():
    first, *others = A1.legs
    middle = replace(A1, legs=(replace(first, origin=(0.0, -0.1, 0.0)), *others))
    assert words.leg(first.name, middle) == first.name
    assert words.leg(others[0].name, middle) == "front left"
    assert words.broken(parse("y:weak=0.5", POINT), POINT) == "y 50% strong"
