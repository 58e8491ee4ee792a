"""Heard: the last wish of the policy that can be followed, and how old it is.

The policy leaves a wish in a mailbox every control step and the gate reads the mailbox every
cycle, so a sequence number seen before is no news. A wish with one number wrong is refused whole.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ursa.gate.limits import Limits
from ursa.gate.modes import Event, Kind, Level

Array = np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Wish:
    """Where the policy wants the joints, from its own process: not to be trusted."""

    angle: Float[Array, " *any"]  # rad, in the spec's order
    sequence: int  # grows by one with every wish
    time: float  # when it was made, on the clock of the gate


@dataclass(frozen=True, kw_only=True, eq=False)
class Heard:
    """What the gate follows in RUN: a line from where the target was to where it should be."""

    wish: Wish | None = None  # last good one
    sequence: int = -1  # last one looked at, good or bad
    bad: str = ""  # why the newest one was refused
    begin: Float[Array, " A"] | None = None  # the target when it came
    came: float = 0.0  # and when that was


def listen(
    limits: Limits, now: float, wish: Wish | None, target: Array | None, heard: Heard
) -> tuple[Heard, list[Event]]:
    """Take in what is in the mailbox, and say what is wrong with it."""
    events: list[Event] = []
    if wish is not None and wish.sequence != heard.sequence:
        reason = _refusal(limits, now, wish)
        if reason:
            heard = replace(heard, sequence=wish.sequence, bad=reason)
        elif _overtaken(limits, now, wish, heard):
            events.append(Event(Kind.OLD_WISH, Level.COUNT, f"sequence {wish.sequence}"))
        else:
            begin = None if target is None else target.copy()
            heard = Heard(wish=wish, sequence=wish.sequence, begin=begin, came=now)
    if heard.bad:
        events.append(Event(Kind.BAD_WISH, Level.HOLD, heard.bad))
    return heard, events


def age(now: float, heard: Heard) -> float:
    """Of the last good wish."""
    return math.inf if heard.wish is None else now - heard.wish.time


def line(limits: Limits, now: float, heard: Heard) -> Float[Array, " A"] | None:
    """Where the wish wants the joints now: a straight line over one control step, then its end."""
    if heard.wish is None:
        return None
    if heard.begin is None:
        return heard.wish.angle
    share = min(max((now - heard.came) / limits.spec.period, 0.0), 1.0)
    return heard.begin + share * (heard.wish.angle - heard.begin)


def stale(limits: Limits, now: float, heard: Heard) -> list[Event]:
    """What the age of the wish asks for while the policy is in charge."""
    old = age(now, heard)
    if old <= limits.wish_hold:
        return []
    level = Level.LIE_DOWN if old > limits.wish_stop else Level.HOLD
    return [Event(Kind.STALE_WISH, level, f"{old:.3f} s")]


def _refusal(limits: Limits, now: float, wish: Wish) -> str:
    if np.shape(wish.angle) != (limits.spec.action_size,):
        return f"{np.shape(wish.angle)} angles, want ({limits.spec.action_size},)"
    if not np.isfinite(wish.angle).all():
        return "an angle is not finite"
    if not math.isfinite(wish.time) or wish.time > now + limits.period:
        return f"made at {wish.time}, which is not yet"
    return ""


def _overtaken(limits: Limits, now: float, wish: Wish, heard: Heard) -> bool:
    """A policy that was started anew counts from zero: believed once the old one fell silent."""
    if heard.wish is None:
        return False
    if wish.time < heard.wish.time:
        return True
    return wish.sequence < heard.wish.sequence and age(now, heard) <= limits.wish_hold
