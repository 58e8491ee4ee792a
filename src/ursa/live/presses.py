"""Presses: what the keys of a terminal mean, one after the other and in time. Pure.

A robot stands up after an acknowledgement, so neither a word that was meant for another terminal
nor a key that somebody leans on may give one: it takes `a` twice, and then a while of nothing. A
key that is held down repeats by itself, many times a second.
"""

from dataclasses import dataclass

from ursa.gate.modes import Order

STOPS = frozenset("sS \n\r")
YES = frozenset("aA")
TWICE = 3.0  # s from one `a` to the next
QUIET = 0.5  # s without a key after the second; the slowest key that repeats does so in less
AGAIN = f"a again within {TWICE:g} s: it will stand up"
HELD = "a key that is held down acknowledges nothing: press a twice"


@dataclass(frozen=True, kw_only=True)
class Presses:
    """What is remembered of the last keys. Times are seconds of one clock, or None."""

    first: float | None = None  # when an `a` was pressed that another one would follow
    second: float | None = None  # when that one was: it acknowledges, if nothing follows it
    held: float | None = None  # when the last of more than two was

    def wait(self, now: float) -> float | None:
        """Seconds until it is time to look whether anything followed; None: a key is awaited."""
        since = self.second if self.second is not None else self.held
        return None if since is None else max(0.0, since + QUIET - now)


def heard(presses: Presses, key: str, now: float) -> tuple[Presses, Order | None]:
    """A key, and what it orders at once. Any other key than `a` forgets those before it.

    Who was late to look does not know when a key was pressed: one that is there followed the others
    as long as `passed` has not said otherwise.
    """
    if key not in YES:
        return Presses(), Order.STOP if key in STOPS else None
    if presses.second is not None or presses.held is not None:
        return Presses(held=now), None
    if presses.first is not None and 0 <= now - presses.first <= TWICE:
        return Presses(second=now), None
    return Presses(first=now), None


def passed(presses: Presses, now: float) -> tuple[Presses, Order | None]:
    """It is so late, and no key is waiting: twice and no more is an acknowledgement.

    >>> presses = heard(heard(Presses(), "a", 9.0)[0], "a", 9.4)[0]
    >>> passed(presses, 9.8)[1], passed(presses, 9.9)[1].value
    (None, 'acknowledge')
    """
    wait = presses.wait(now)
    if wait is None or wait > 0:
        return presses, None
    return Presses(), Order.ACKNOWLEDGE if presses.second is not None else None


def answered(before: Presses, after: Presses) -> str:
    """What a person is told of what was pressed; nothing, if it is nothing new."""
    if after.first is not None and after.first != before.first:
        return AGAIN
    return HELD if after.held is not None and before.held is None else ""
