"""Scribe: what a supervisor writes down of a gate, for a command that has none: interventions and
black boxes. A thread of its own: a slow disk delays neither the watch over the gate nor the robot.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event, Lock, Thread

from ursa.gate import blackbox, mailbox
from ursa.live.diary import Diary
from ursa.live.gating import NEWS
from ursa.live.ward import PAUSE

Say = Callable[[str], None]


class Scribe:
    """Writes until it is closed."""

    def __init__(self, folder: Path, say: Say) -> None:
        """From now on; the gate's memory is there already."""
        self._folder, self._say, self._over = folder, say, Event()
        self._lock = Lock()
        self._kept: tuple[str, float] | None = None  # the fault of the last black box, and since
        self._thread = Thread(target=self._watch, name="scribe", daemon=True)
        self._thread.start()

    def keep(self, why: str) -> None:
        """The last minute to disk."""
        try:
            with self._lock:  # two at once would give themselves one number
                blackbox.dump(self._folder, why)
        except Exception as error:  # a disk that is full must not end the care for a robot
            self._say(f"the black box was not written: {error}")

    def close(self) -> None:
        """All that is known so far is written, then no more."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        with ExitStack() as stack:
            ears = stack.enter_context(closing(mailbox.Listener(self._folder)))
            diary = stack.enter_context(closing(Diary(self._folder)))
            told = ears.newest()
            if told is not None and told.fault:  # of an earlier start, which has written it down
                self._kept = told.fault, told.since
            over = False
            while not over:
                over = self._over.wait(PAUSE)
                self._look(ears.newest(), diary, over)

    def _look(self, told: mailbox.Told | None, diary: Diary, last: bool) -> None:
        diary.write(told, last=last)
        for said in dict.fromkeys(diary.unheeded):
            self._say(f"not acknowledged: {said.partition(': ')[2]}")
        if told is None or not told.fault or told.fault in NEWS:
            return
        if (told.fault, told.since) != self._kept:
            self._kept = told.fault, told.since
            self.keep(told.fault)
