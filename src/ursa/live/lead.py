"""Lead: whether somebody still looks after a gate: a supervisor, or the vigil of a command.

One that is gone is told by the kernel (`child.Ending`). One that hangs is still there, but no key
is heard any more, and nobody would notice if the gate hung, too.
"""

import time
from collections.abc import Callable
from pathlib import Path

from ursa.live.settings import Live
from ursa.shared import pulse

WHO = ("supervisor", "vigil")  # whose beats count
# Real seconds without a beat. A supervisor beats every 20 ms; what holds it up the longest is to
# kill a process that a disk holds fast, 1.2 s. In virtual time a robot that goes on hurts nobody,
# and a machine may be as slow as it likes.
HANGS = {"wall": 3.0, "shared": 60.0}
GLANCE = 0.1  # s between two looks
COUNTED = 0.5  # s from one look to the next at most: a machine that stood still as a whole is none


def patience(live: Live) -> float:
    """Real seconds that somebody may be silent before he counts as hung."""
    return HANGS["shared" if live.virtual else "wall"]


def create(folder: Path) -> None:
    """The memory for it, if it is not there yet."""
    for who in WHO:
        pulse.create(folder, who)


class Lead:
    """A gate's look at whoever looks after it."""

    def __init__(
        self, folder: Path, patience: float, real: Callable[[], float] = time.monotonic
    ) -> None:
        """From now on. `real` stands still while the computer sleeps: that is no hang."""
        self._watches = [pulse.Watch(folder, who) for who in WHO]
        self._patience, self._real = patience, real
        self._numbers, self._looked, self._silent = self._beats(), real(), 0.0

    def lost(self) -> bool:
        """Whether nobody has beaten for too long. Ask all the time; most answers cost nothing."""
        now = self._real()
        if now - self._looked >= GLANCE:
            numbers = self._beats()
            self._silent += min(now - self._looked, COUNTED)
            if numbers != self._numbers:
                self._numbers, self._silent = numbers, 0.0
            self._looked = now
        return self._silent >= self._patience

    @property
    def why(self) -> str:
        """For whoever finds the robot limp."""
        return f"nobody looked after the gate for {self._silent:.0f} s"

    def close(self) -> None:
        for watch in self._watches:
            watch.close()

    def _beats(self) -> list[int]:
        last = [watch.last() for watch in self._watches]
        return [0 if beat is None else beat.number for beat in last]
