"""A robot of one's own that is driven with the A1's packets: its gains are good for an A1, too."""

from dataclasses import replace

import pytest

from ursa.errors import UserError
from ursa.gate import driven
from ursa.robot.a1 import A1


def with_gain(place, **changes):
    """An A1 by another name, of which one joint has another gain; 0 is FR.hip, 1 is FR.upper."""
    joints = list(A1.joints)
    joints[place] = replace(joints[place], **changes)
    return replace(A1, name="mine", joints=tuple(joints))


# The A1 damps its hips with 1 N m s/rad and the other joints with 2.
KEPT = [(0, {"kd": 1.0}), (0, {"kd": 0.5}), (1, {"kd": 2.0}), (1, {"kp": 80.0}), (1, {"kp": 40.0})]
REFUSED = [
    (0, {"kd": 1.01}, r"FR\.hip has kd 1\.01, allowed 1 N m s/rad"),
    (1, {"kd": 50.0}, r"FR\.upper has kd 50, allowed 2 N m s/rad"),
    (2, {"kd": 500.0}, r"FR\.lower has kd 500, allowed 2 N m s/rad"),
    (1, {"kd": 0.0}, r"FR\.upper has kd 0, want more than 0: nothing would damp it"),
    (1, {"kp": 81.0}, r"FR\.upper has kp 81, allowed 80 N m/rad"),
]


@pytest.mark.parametrize(("place", "changes"), KEPT)
def test_gains_inside_those_of_an_a1_are_sent(place, changes):
    driven.refuse_other(with_gain(place, **changes))


@pytest.mark.parametrize(("place", "changes", "said"), REFUSED)
def test_gains_beyond_those_of_an_a1_are_not(place, changes, said):
    with pytest.raises(UserError, match=said):
        driven.refuse_other(with_gain(place, **changes))


def test_one_that_does_not_look_at_the_damping_would_send_any(monkeypatch):
    """Sabotage: as if kd were no gain."""
    monkeypatch.delitem(driven.UNITS, "kd")
    for kd in (1.01, 50.0, 500.0):
        driven.refuse_other(with_gain(0, kd=kd))
