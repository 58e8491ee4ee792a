"""Scribe: what a supervisor writes down of a gate, for a command that has none: interventions and
black boxes. A thread of its own: a slow disk delays neither the watch over the gate nor the robot.
"""

from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event, Thread

from ursa.gate import mailbox
from ursa.live.boxes import PATIENCE, Boxes, Say
from ursa.live.diary import Diary
from ursa.live.gating import NEWS
from ursa.live.ward import PAUSE


class Scribe:
    """Writes until it is closed."""

    def __init__(self, folder: Path, say: Say) -> None:
        """From now on; the gate's memory is there already."""
        self._folder, self._say, self._over = folder, say, Event()
        self._boxes = Boxes(folder, say)
        self._thread = Thread(target=self._watch, name="scribe", daemon=True)
        self._thread.start()

    def keep(self, why: str) -> None:
        """The last minute to disk."""
        self._boxes.keep(why)

    def close(self) -> None:
        """All that is known so far is written, then no more; a disk that hangs is left alone."""
        self._over.set()
        self._thread.join(2 * PATIENCE)  # for a black box, and for the diary after it

    def _watch(self) -> None:
        with ExitStack() as stack:
            ears = stack.enter_context(closing(mailbox.Listener(self._folder)))
            diary = stack.enter_context(closing(Diary(self._folder)))
            if told := ears.newest():
                self._boxes.due(told)  # a fault of an earlier start, which has written it down
            over = False
            while not over:
                over = self._over.wait(PAUSE)
                self._look(ears.newest(), diary, over)

    def _look(self, told: mailbox.Told | None, diary: Diary, last: bool) -> None:
        diary.write(told, last=last)
        for said in dict.fromkeys(diary.unheeded):
            self._say(said)
        if told is not None and told.fault not in NEWS and self._boxes.due(told):
            self.keep(told.fault)
