"""Boxes: the black boxes of a run on disk, one for every fault that its gate tells of."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock

from ursa.gate import blackbox
from ursa.gate.mailbox import Told

Say = Callable[[str], None]


class Boxes:
    """Knows of which fault the last one is."""

    def __init__(self, folder: Path, say: Say) -> None:
        self._folder, self._say, self._lock = folder, say, Lock()
        self._last: tuple[str, float] | None = None  # a fault, and since when

    def due(self, told: Told) -> bool:
        """Whether the gate has a fault that it did not have when this was asked before."""
        if not told.fault or (told.fault, told.since) == self._last:
            return False
        self._last = told.fault, told.since
        return True

    def keep(self, why: str) -> None:
        """The last minute to disk, from any thread."""
        try:
            with self._lock:  # two at once would give themselves one number
                blackbox.dump(self._folder, why)
        except Exception as error:  # a disk that is full must not end the care for a robot
            self._say(f"the black box was not written: {error}")
