"""Limits follow from the spec, can be narrowed, and can never be widened by a user."""

from dataclasses import fields, replace

import jaxtyping
import numpy as np
import pytest

from gate.gated import LOWER, UPPER, is_limp
from ursa.errors import UserError
from ursa.gate.limits import ORDERED, Limits, described, limits_of
from ursa.robot.a1 import A1
from ursa.robot.go2 import GO2
from ursa.robot.point import POINT


@pytest.fixture(autouse=True)
def no_checks_but_ours(monkeypatch):
    """A user's numbers must be refused by the package, not by the type checker of the tests."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


RANGED = [each for each in fields(Limits) if each.metadata]


def test_the_a1_keeps_five_hundredths_from_its_stops():
    limits = limits_of(A1)
    np.testing.assert_allclose(limits.lower, LOWER, atol=1e-6)
    np.testing.assert_allclose(limits.upper, UPPER, atol=1e-6)
    assert limits.torque.tolist() == [33.5] * 12
    assert limits.kp.tolist() == [80.0] * 12
    assert limits.kd.tolist() == [1.0, 2.0, 2.0] * 4
    assert limits.lying.tolist() == pytest.approx([0.0, 1.3, -2.6] * 4)
    assert is_limp(limits.limp)


@pytest.mark.parametrize("spec", [A1, GO2])
def test_stance_and_lying_pose_lie_inside(spec):
    limits = limits_of(spec)
    for pose in (limits.stance, limits.lying):
        assert (pose >= limits.lower).all()
        assert (pose <= limits.upper).all()


@pytest.mark.parametrize("each", RANGED, ids=lambda each: each.name)
def test_no_limit_can_be_widened_and_each_says_what_is_allowed(each):
    allowed = each.metadata
    for value in (allowed["least"] - 1, allowed["most"] + 1, float("nan"), float("inf"), "7", True):
        with pytest.raises(UserError) as said:
            limits_of(A1, {each.name: value})
        assert f"{each.name} = {value!r}, allowed {allowed['least']} to" in str(said.value)
        assert "default" in str(said.value)


SAFER_HIGH = {"margin", "damping", "ramp_time", "settle", "rest", "battery_low", "battery_stop"}


def wider(each):
    """A value that the hardware bears but that is a little less safe than the default; or None."""
    least, most = each.metadata["widest"]
    end = least if each.name in SAFER_HIGH else most
    if end == each.default:
        return None  # the default is as far as the hardware goes
    return end if isinstance(end, int) else each.default + 0.01 * (end - each.default)


def refuses_all_that_is_wider(made):
    """How many limits were tried; none of them may be taken."""
    tried = [each for each in RANGED if wider(each) is not None]
    for each in tried:
        with pytest.raises(UserError, match=f"never widened: {each.name} = .*default"):
            made(A1, {each.name: wider(each)})
    return len(tried)


def test_the_least_safe_that_a_user_may_ask_for_is_the_default():
    assert refuses_all_that_is_wider(limits_of) == 37  # of 42; five begin where the hardware ends
    for each in RANGED:
        other = "most" if each.name in SAFER_HIGH else "least"
        assert each.metadata["least" if other == "most" else "most"] == each.default
        assert each.metadata[other] != each.default


def test_limits_judged_by_the_hardware_alone_would_be_widened():
    """Sabotage: what `dataclasses.replace` may do, a user may do."""
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        refuses_all_that_is_wider(lambda spec, given: replace(limits_of(spec), **given))


def test_every_wide_limit_of_a_users_line_is_named():
    given = {"reach": 0.4, "rate": 16.0, "hot": 57.0, "get_up": 600.0, "damping": 0.5}
    with pytest.raises(UserError) as caught:
        limits_of(A1, {**given, "tilt_gain": 0.5, "tilt": 1.2})
    assert all(f"{name} = {value}," in str(caught.value) for name, value in given.items())
    assert "tilt = " not in str(caught.value)  # that one is narrower


def test_the_list_for_users_has_a_line_for_each_with_default_and_range():
    lines = described().splitlines()
    assert len(lines) == len(RANGED) + 1
    assert "remote       0      0 or 1: the hand-held remote must stay in touch, or HOLD" in lines
    assert "reach        0.2    0.01 to 0.2 rad" in lines
    assert "damping      2      2 to 4 N m s/rad" in lines


@pytest.mark.parametrize("each", RANGED, ids=lambda each: each.name)
def test_every_default_is_allowed(each):
    assert each.metadata["least"] <= each.default <= each.metadata["most"]


@pytest.mark.parametrize("value", [True, 1])
def test_the_remote_can_be_asked_for_and_given_up_again(value):
    assert limits_of(A1, {"remote": value}).remote is True
    assert limits_of(A1, {"remote": 0}).remote is limits_of(A1).remote is False


@pytest.mark.parametrize("value", ["no", "yes", float("nan"), 0.5, 1.0, 2, -1, None, [1]])
def test_a_remote_that_is_neither_on_nor_off_is_refused(value):
    for made in (limits_of, lambda spec, given: replace(limits_of(spec), **given)):
        with pytest.raises(UserError, match=r"remote = .*, allowed 1 \(or true\) and 0"):
            made(A1, {"remote": value})


@pytest.mark.parametrize(("low", "high"), ORDERED)
def test_a_later_limit_cannot_come_first(low, high):
    spans = {each.name: each.metadata for each in RANGED}
    value = max(spans[low]["least"], spans[high]["least"])
    if value > min(spans[low]["most"], spans[high]["most"]):
        return  # the ranges do not overlap: there is no wrong order
    with pytest.raises(UserError, match=f"{low} = .* must be below {high}"):
        limits_of(A1, {low: value, high: value})


def test_all_mistakes_come_in_one_message():
    with pytest.raises(UserError, match=r"rate = 99.*tilt = 3"):
        limits_of(A1, {"rate": 99.0, "tilt": 3.0})


def test_a_misspelt_limit_is_named():
    with pytest.raises(UserError, match=r'unknown gate limit "rat".*did you mean rate'):
        limits_of(A1, {"rat": 3.0})


def test_a_robot_without_legs_has_no_gate():
    with pytest.raises(UserError, match="no legs"):
        limits_of(POINT)


def test_a_slow_motor_lowers_what_is_allowed():
    slow = replace(A1, joints=tuple(replace(joint, speed=11.0) for joint in A1.joints))
    with pytest.raises(UserError, match=r"slowest motor's 11\.0 rad/s"):
        limits_of(slow)
    assert limits_of(slow, {"rate": 8.0, "overspeed": 10.0}).rate == 8.0


def test_narrower_limits_are_taken():
    limits = limits_of(A1, {"margin": 0.2, "torque_share": 0.5, "reach": 0.1})
    np.testing.assert_allclose(limits.upper, UPPER - 0.15, atol=1e-6)
    assert limits.torque.tolist() == [16.75] * 12
