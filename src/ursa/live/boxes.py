"""Boxes: the black boxes of a run on disk, one for every fault that its gate tells of."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock, Thread

from ursa.gate import blackbox
from ursa.gate.mailbox import Told

Say = Callable[[str], None]
PATIENCE = 5.0  # s for a disk at an end; then nobody waits for what it was to take


class Boxes:
    """Knows of which fault the last one is."""

    def __init__(self, folder: Path, say: Say) -> None:
        self._folder, self._say, self._lock = folder, say, Lock()
        self._last: tuple[str, float] | None = None  # a fault, and since when
        self._threads: list[Thread] = []  # those that may still be writing

    def due(self, told: Told) -> bool:
        """Whether the gate has a fault that it did not have when this was asked before."""
        if not told.fault or (told.fault, told.since) == self._last:
            return False
        self._last = told.fault, told.since
        return True

    def begin(self, why: str) -> None:
        """The last minute to disk beside what one does: a key that is pressed must not wait for
        it, nor may a disk that hangs keep a program from leaving."""
        thread = Thread(target=self.keep, args=(why,), name="black box", daemon=True)
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]
        thread.start()

    def settle(self) -> None:
        """At an end: wait for what is being written, but not for ever."""
        until = time.monotonic() + PATIENCE
        for each in self._threads:
            each.join(max(0.0, until - time.monotonic()))

    def keep(self, why: str) -> None:
        """The last minute to disk, from any thread."""
        try:
            with self._lock:  # two at once would give themselves one number
                blackbox.dump(self._folder, why)
        except Exception as error:  # a disk that is full must not end the care for a robot
            self._say(f"the black box was not written: {error}")
