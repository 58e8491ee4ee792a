"""What is broken can be said in a word, and only that is broken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.damage import (
    KINDS,
    Damage,
    fitting,
    impairment,
    injure,
    obey,
    parse,
    scenarios,
    sound,
)
from ursa.robot.point import POINT

ALL = np.array([True])


def joints(text: str) -> list[int]:
    return [damage.joint for damage in parse(text, A1)]


def test_a_place_is_a_joint_a_leg_or_several():
    assert parse("FL.upper", A1) == (Damage(joint=4, kind="frozen"),)
    assert joints("FL") == [3, 4, 5]
    assert joints("FR+BL") == [0, 1, 2, 9, 10, 11]
    assert joints(" FR + BL.hip ") == [0, 1, 2, 9]
    assert joints("undamaged") == joints("") == joints("  ") == []
    assert parse("y:weak=0.5", POINT) == (Damage(joint=1, kind="weak", value=0.5),)


def test_each_place_has_its_own_kind():
    assert parse(
        "FR.upper:limp+BL.hip:weak=0.5+FL.upper:locked=0.9+BR.lower:locked+BR.hip", A1
    ) == (
        Damage(joint=1, kind="limp"),
        Damage(joint=9, kind="weak", value=0.5),
        Damage(joint=4, kind="locked", value=0.9),
        Damage(joint=8, kind="locked"),
        Damage(joint=6, kind="frozen"),
    )


def test_the_makers_rear_legs_are_our_back_legs():
    assert joints("RR") == joints("BR") == [6, 7, 8]
    assert joints("RL.lower") == joints("BL.lower") == [11]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("XL", r'unknown leg or joint of a1 "XL": valid are BL, BL\.hip, .*FR\.upper'),
        ("FL.knee", r'"FL\.knee".*FL\.upper'),
        ("FL.", r'"FL\."'),
        ("FR+", r'unknown leg or joint of a1 ""'),
        ("FL:slow", r'unknown kind of damage "slow": valid are frozen, limp, locked, weak'),
        ("FL:weak", "from 0 to 1"),
        ("FL:weak=1.5", "from 0 to 1"),
        ("FL:weak=nan", "from 0 to 1"),
        ("FL:weak=much", '"much" is not a number'),
        ("FL:limp=1", "limp takes no number"),
        ("FL.upper:locked=5", r"FL\.upper cannot be locked at 5\.0 rad.*-1\.047 to 4\.189"),
        ("FL:locked=nan", "value = nan, want a finite number"),
        ("FL+FL.hip:limp", r"FL\.hip is named twice"),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_ones(text: str, answer: str):
    with pytest.raises(UserError, match=answer):
        parse(text, A1)


def test_a_damage_made_by_hand_is_checked_too():
    with pytest.raises(UserError, match="valid are frozen"):
        Damage(joint=0, kind="gone")
    with pytest.raises(UserError, match="joint -1: the joints of a1 are 0 to 11"):
        fitting([Damage(joint=-1)], A1)
    with pytest.raises(UserError, match=r"FL\.upper cannot be locked at 5\.0 rad"):
        fitting([Damage(joint=4, kind="locked", value=5.0)], A1)
    with pytest.raises(UserError, match=r"FL\.upper is named twice"):
        fitting([Damage(joint=4), Damage(joint=4, kind="limp")], A1)


def test_the_paper_has_nine_simulated_and_five_real_scenarios():
    broken = {name: joints(text) for name, text in scenarios("simulated").items()}
    legs = ("FR", "FL", "BR", "BL")
    assert list(broken) == [f"{leg}.upper" for leg in legs] + [*legs, "FR+BL"]
    assert [len(it) for it in broken.values()] == [1] * 4 + [3] * 4 + [6]
    assert list(scenarios("real")) == ["undamaged", *legs]
    assert joints(scenarios("real")["undamaged"]) == []
    with pytest.raises(UserError, match="valid are real, simulated"):
        scenarios("imagined")


def test_only_the_marked_robots_are_hurt_and_new_damage_replaces_old():
    angle = np.full((3, 12), 0.3)
    first = np.array([True, False, False])
    injury = injure(sound(3, 12), parse("FR.hip:weak=0.25+FL.hip", A1), first, angle)
    injury = injure(injury, parse("FR.hip:limp+FL.hip:locked", A1), ~first, angle)
    np.testing.assert_array_equal(injury.strength[:, 0], [0.25, 0.0, 0.0])
    np.testing.assert_array_equal(injury.frozen[:, 3], [True, False, False])
    np.testing.assert_array_equal(injury.locked[:, 3], [False, True, True])
    assert injury.angle[1, 3] == 0.3
    injury = injure(injury, parse("BL.hip:locked=-0.1", A1), first, angle)
    assert injury.strength[0, 0] == 1.0
    assert not injury.frozen[0].any()
    assert injury.angle[0, 9] == -0.1
    np.testing.assert_array_equal(injury.strength[:, 0], [1.0, 0.0, 0.0])


def test_a_frozen_joint_hears_the_centre_of_its_action_range():
    target = np.ones((1, 2, 12))
    injury = injure(
        sound(1, 12), parse("FL+BR.lower:locked=-1.2+BL:weak=0.5", A1), ALL, target[:, 0]
    )
    heard = obey(injury, A1, target)
    # The A1's action 0: hip 0, upper 1.335, lower -2.154 rad.
    for tick in range(2):
        np.testing.assert_allclose(heard[0, tick, 3:6], [0.0, 1.335, -2.154], atol=5e-4)
    assert (heard[0, :, 8] == -1.2).all()
    untouched = [0, 1, 2, 6, 7, 9, 10, 11]  # a weak motor still hears its command
    assert (heard[..., untouched] == 1.0).all()
    assert (target == 1.0).all()


def test_a_motor_learns_of_weakness_and_seizure_only():
    injury = injure(
        sound(1, 12), parse("FR.hip+FR.upper:limp+FR.lower:locked=-1", A1), ALL, np.zeros((1, 12))
    )
    told = impairment(injury)
    np.testing.assert_array_equal(told.strength[0, :3], [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(told.locked[0, :3], [False, False, True])
    assert told.angle[0, 2] == -1.0


@given(st.integers(0, 11), st.sampled_from(KINDS), st.integers(0, 2))
def test_one_damage_touches_one_joint_of_one_robot_and_repair_undoes_it(joint, kind, robot):
    value = {"weak": 0.5, "locked": A1.joints[joint].stance}.get(kind)
    target = np.tile(A1.of_joints("high"), (3, 1, 1))
    which = np.arange(3) == robot
    hurt = injure(sound(3, 12), [Damage(joint=joint, kind=kind, value=value)], which, target[:, 0])
    touched = (obey(hurt, A1, target) != target)[:, 0] | (hurt.strength != 1.0) | hurt.locked
    assert np.argwhere(touched).tolist() == [[robot, joint]]
    whole = injure(hurt, (), which, target[:, 0])
    assert obey(whole, A1, target) is target
    assert (whole.strength == 1.0).all()
