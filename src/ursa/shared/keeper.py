"""Keeper: moves a shared clock, when everybody who attends is asleep and not before.

Parties that are due at the same instant are woken one after the other, in the order of PARTIES,
each when the one before it sleeps again: who reads first what the other wrote is no matter of luck.
"""

import time
from collections.abc import Callable
from pathlib import Path

from ursa.shared import mapped
from ursa.shared.clock import (
    ANSWERED,
    ASKED,
    ATTENDS,
    DISMISSED,
    GLANCE,
    KIND,
    NOW,
    PARTIES,
    PULSE,
    SECOND,
    UNTIL,
    VERSION,
    Bell,
    claimed,
    kept,
    words_of,
)

PATIENCE = 60.0  # real seconds a living party may be silent before time goes on without it


class Keeper:
    """The one process that moves the time of a shared clock."""

    def __init__(
        self,
        path: Path,
        patience: float = PATIENCE,
        real: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make the clock, or go on with one whose keeper is gone."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._claim = claimed(path, "keeper")
        if not path.exists():
            mapped.create(path, KIND, VERSION, (0, 0), 0, [SECOND])  # begins at one second
        self.path, self.patience, self._real = path, patience, real
        self._mapped = mapped.Mapped(path, KIND, VERSION)
        self._words = {party: words_of(self._mapped, party) for party in PARTIES}
        self._bells: dict[str, Bell] = {}
        self._mine = Bell(path, "keeper")
        self.idle: Callable[[], None] = lambda: None  # called now and then while time stands still
        self._woken = dict.fromkeys(PARTIES, 0.0)  # when, in real seconds
        for party in self.attending():  # what the last keeper left behind
            if not kept(path, party):
                self._dismiss(party)

    def now(self) -> float:
        return self._mapped.words[NOW] / SECOND

    def attending(self) -> list[str]:
        """Who holds time up while awake."""
        return [party for party, words in self._words.items() if _attends(words)]

    def awake(self) -> list[str]:
        """Who holds time up now."""
        return [p for p, words in self._words.items() if _attends(words) and not _asleep(words)]

    def due(self) -> float | None:
        """The earliest instant at which somebody wants to be woken; None if nobody sleeps."""
        waiting = [w[UNTIL] for w in self._words.values() if _attends(w) and _asleep(w)]
        return min(waiting) / SECOND if waiting else None

    def settled(self, milliseconds: int = GLANCE) -> bool:
        """Whether all who attend are asleep; waits so long for it, and looks for the dead."""
        if not self.awake():
            return True
        if not self._mine.listen(milliseconds):
            self._dismiss_the_dead()
        return not self.awake()

    def listen(self, milliseconds: int) -> bool:
        """Wait for a party to come, to go or to fall asleep, so long at most."""
        return self._mine.listen(milliseconds)

    def settle(self) -> None:
        """Wait until all who attend are asleep, however long that takes."""
        while not self.settled():
            self.idle()

    def advance(self, to: float) -> bool:
        """Let it be `to`, and wake whoever is due, one after the other.

        False, and nothing happened, if somebody is awake: he may have come just now.
        """
        if self.awake():
            return False
        instant = max(round(to * SECOND), self._mapped.words[NOW])
        self._mapped.words[NOW] = instant
        for party, words in self._words.items():
            if _attends(words) and _asleep(words) and words[UNTIL] <= instant:
                self._woken[party] = self._real()
                words[ANSWERED] = words[ASKED]
                self._bell(party).ring()
                self.settle()
        return True

    def close(self) -> None:
        """Give the clock up; the file stays for the next keeper and for those who sleep."""
        for bell in (self._mine, *self._bells.values()):
            bell.close()
        self._bells = {}
        for words in self._words.values():
            words.release()
        self._mapped.close()
        self._claim.close()

    def _dismiss_the_dead(self) -> None:
        """A party that died, or said nothing for too long, no longer holds time up."""
        for party in self.awake():
            words = self._words[party]
            silent = self._real() - max(words[PULSE] / SECOND, self._woken[party])
            if silent > self.patience or not kept(self.path, party):
                self._dismiss(party)

    def _dismiss(self, party: str) -> None:
        self._words[party][DISMISSED] = self._words[party][ATTENDS]

    def _bell(self, party: str) -> Bell:
        if party not in self._bells:
            self._bells[party] = Bell(self.path, party)
        return self._bells[party]


def _attends(words: memoryview) -> bool:
    return words[ATTENDS] not in (0, words[DISMISSED])


def _asleep(words: memoryview) -> bool:
    return words[ASKED] != words[ANSWERED]


def forget(path: Path) -> None:
    """Remove a clock and what belongs to it, when nobody looks at it any more."""
    for name in ("keeper", *PARTIES):
        for extra in (f".{name}", f".{name}.lock"):
            path.with_name(path.name + extra).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
