"""Back-off: how long to wait before a process is started again, and when to stop trying. Pure."""

from dataclasses import dataclass, replace

from ursa.live.settings import Restarts

MISTAKES = 4  # a folder that is just being left by others is a mistake for a moment only
KILLS = 3  # times as many, of a process that others kill: a machine without memory does, too
STUCK = 2  # mistakes at one place: what a program says of its data does not change by itself


@dataclass(frozen=True, kw_only=True)
class End:
    """An end that nobody asked for."""

    lived: float  # s
    killed: bool = False  # by somebody else, and not because it hung
    lacking: bool = False  # what may come back: how long that is waited for is not decided here
    early: bool = False  # with a mistake, and its role has not shown life yet
    place: int | None = None  # with a mistake, and it had come so far


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """What is remembered of the ends of one role."""

    deaths: int = 0  # in a row, none of them after a life as long as the window, none lacking
    kills: int = 0  # of those, by somebody else
    streak: int = 0  # in a row, none of them after a healthy life
    early: int = 0  # mistakes before it showed life
    stuck: int = 0  # mistakes in a row, each no farther than the one before
    place: int = 0  # of the last of those
    total: int = 0


def failed(rule: Restarts, backoff: Backoff, end: End) -> Backoff:
    """One more of them."""
    before = replace(backoff, deaths=0, kills=0) if end.lived >= rule.window else backoff
    stuck, place = 0, 0
    if end.place is not None:
        again = backoff.stuck and end.place <= backoff.place
        stuck, place = backoff.stuck + 1 if again else 1, end.place
    return Backoff(
        deaths=before.deaths + (not end.lacking),
        kills=before.kills + end.killed,
        streak=1 if end.lived >= rule.healthy else backoff.streak + 1,
        early=backoff.early + end.early,
        stuck=stuck,
        place=place,
        total=backoff.total + 1,
    )


def delay(rule: Restarts, backoff: Backoff) -> float:
    """Seconds until the next start: doubled with every failure in a row, up to a bound."""
    if backoff.streak == 0:
        return 0.0
    return min(rule.first * 2.0 ** min(backoff.streak - 1, 60), rule.most)


def hopeless(rule: Restarts, backoff: Backoff) -> str:
    """Why another start would not help, in words; "" if it may."""
    if backoff.stuck >= STUCK:
        return f"{backoff.stuck} times in a row at the same place"
    if backoff.early >= MISTAKES:
        return f"{backoff.early} times and never worked"
    own = backoff.deaths - backoff.kills
    if own > rule.allowed or backoff.deaths > KILLS * rule.allowed:
        return f"{backoff.deaths} times in a row, each within {rule.window:g} s of its start"
    if backoff.total and not rule.allowed:  # it lacks something, and still no other may come
        return "and no other is started"
    return ""
