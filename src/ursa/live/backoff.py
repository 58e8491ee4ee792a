"""Back-off: how long to wait before a process is started again, and when to stop trying. Pure."""

from dataclasses import dataclass, replace

from ursa.live.settings import Restarts


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """What is remembered of the restarts of one role."""

    failures: tuple[float, ...] = ()  # when, within the window
    streak: int = 0  # failures in a row, none of them after a healthy life
    total: int = 0


def failed(rule: Restarts, backoff: Backoff, now: float, lived: float) -> Backoff:
    """One more end that nobody asked for, after a life of so many seconds."""
    kept = tuple(when for when in backoff.failures if now - when < rule.window)
    streak = 1 if lived >= rule.healthy else backoff.streak + 1
    return replace(backoff, failures=(*kept, now), streak=streak, total=backoff.total + 1)


def delay(rule: Restarts, backoff: Backoff) -> float:
    """Seconds until the next start: doubled with every failure in a row, up to a bound."""
    if backoff.streak == 0:
        return 0.0
    return min(rule.first * 2.0 ** min(backoff.streak - 1, 60), rule.most)


def hopeless(rule: Restarts, backoff: Backoff) -> bool:
    """Whether so many failures lie in the window that another start would not help."""
    return len(backoff.failures) > rule.allowed
