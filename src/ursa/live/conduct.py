"""Conduct: which order the supervisor gives the gate next. Pure.

The gate never moves a limp robot by itself. Somebody has to ask it to stand up, when there is a
policy to follow, and to run, when it stands; and at the end to lie down. That is all it takes
after any fault: the way back is the way of the first start.
"""

from dataclasses import dataclass

from ursa.gate.heard import Wish
from ursa.gate.limits import Limits
from ursa.gate.mailbox import Told
from ursa.gate.modes import Kind, Mode, Order

AGAIN = {Order.STAND: 1.0, Order.RUN: 0.1, Order.LIE_DOWN: 0.5, Order.ACKNOWLEDGE: 1.0}
UP = (Mode.STAND, Mode.RUN, Mode.HOLD)


@dataclass(frozen=True, kw_only=True)
class Given:
    """The last order, and when on the clock of the gate."""

    order: Order | None = None
    time: float = 0.0


def next_order(
    limits: Limits,
    told: Told | None,
    wish: Wish | None,
    given: Given,
    *,
    rest: bool,
    by_itself: bool,
) -> Order | None:
    """What to order now, or None. `rest`: the run ends; `by_itself`: acknowledge for nobody.

    An order that was refused is repeated, but not at every look.
    """
    if told is None:
        return None
    order = _wanted(limits, told, wish, rest, by_itself)
    if order is not None and order is given.order and 0 <= told.now - given.time < AGAIN[order]:
        return None
    return order


def stopped_by_hand(told: Told) -> bool:
    """Whether a person pressed stop: only a person takes that back."""
    return told.mode is Mode.FAULT and told.fault.startswith(Kind.STOP.value)


def _wanted(
    limits: Limits, told: Told, wish: Wish | None, rest: bool, by_itself: bool
) -> Order | None:
    if rest:
        return Order.LIE_DOWN if told.mode in UP else None
    if told.mode is Mode.FAULT:
        return Order.ACKNOWLEDGE if by_itself and not stopped_by_hand(told) else None
    if wish is None or told.now - wish.time > limits.wish_hold:
        return None  # nobody to follow
    if told.mode is Mode.DAMP:
        # Trouble made it limp: on a robot of metal somebody looks first, and acknowledges.
        return Order.STAND if by_itself or not told.fault else None
    return Order.RUN if told.ready else None
