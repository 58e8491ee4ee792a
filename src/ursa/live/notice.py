"""Notice: a robot that nobody told to stand up just now is announced before it does. Pure."""

import math
from dataclasses import dataclass, replace

from ursa.gate.mailbox import Told
from ursa.gate.modes import Order

SECONDS = 5.0  # on the clock of the run, from the announcement to the first STAND
STALE = 10.0  # s after which an announcement, or a look, that nothing followed counts no longer


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Whether the first STAND of a start still has to be announced, and since when it is."""

    due: bool
    since: float | None = None  # s of the gate's clock
    left: float = 0.0  # s until it stands up; 0: nothing is announced now
    looked: float | None = None  # when there was last something for a person to acknowledge


def held(notice: Notice, order: Order | None, told: Told) -> tuple[Notice, Order | None]:
    """The order, or None as long as people have to get out of the way first.

    A person who has just acknowledged has looked, and expects it; some time later nobody does.
    """
    if not notice.due:
        return notice, order
    if told.fault:
        return Notice(due=True, looked=told.now), order
    since = told.now if notice.since is None else notice.since
    if not 0 <= told.now - since <= STALE:  # that was long ago, or on another clock
        since = told.now
    if order is not Order.STAND:
        return replace(notice, left=0.0), order
    left = since + SECONDS - told.now
    recent = notice.looked is not None and 0 <= told.now - notice.looked <= STALE
    if left <= 0 or recent:
        return Notice(due=False), order
    return replace(notice, since=since, left=left), None


def words(notice: Notice) -> str:
    """For people near the robot; nothing where nothing is announced.

    >>> words(Notice(due=True, since=1.0, left=4.2))
    'stands up in 5 s: keep away'
    """
    return f"stands up in {math.ceil(notice.left)} s: keep away" if notice.left else ""
