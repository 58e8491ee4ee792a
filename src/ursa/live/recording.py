"""Recording: the recorder as a process, from the ring to the disk. No JAX."""

import logging
import shutil
import time
from contextlib import closing
from pathlib import Path

from ursa.live import child, settings
from ursa.log.store import Recorder
from ursa.shared import pulse

PAUSE = 0.02  # s between two looks at the ring
EVERY = 10.0  # s between two looks at how much room is left
GIGA = 1e9
KEPT = 1  # exit code: something could not be put on disk, the memory must stay
LATE = "they came after the last look; is somebody still acting?"
log = logging.getLogger(__name__)


def main(folder: Path) -> int:
    """Record until asked to end; then put on disk what still waits."""
    ending = child.Ending()
    live = settings.read(folder)
    with (
        closing(pulse.Pulse(folder, "recorder")) as beating,
        closing(Recorder(folder, live.layout)) as recorder,
    ):
        room = Room(folder, live.room_low)
        while not ending.asked:
            recorder.turn(time.monotonic())
            _tell(beating, recorder, room.look(time.monotonic()))
            time.sleep(PAUSE)
        while recorder.flush(time.monotonic()):
            _tell(beating, recorder, room.low)
        _tell(beating, recorder, room.low)
        if recorder.paused or recorder.waits:  # refused by a full disk, or put there just now
            log.error("ended with steps in memory only: %s", recorder.paused or LATE)
            return KEPT
        return 0


class Room:
    """How much of the disk is left, looked at now and then."""

    def __init__(self, folder: Path, least: float) -> None:
        """`least`: GB, below which it is low."""
        self._folder, self._least, self._after = folder, least, 0.0
        self.low = ""  # in words, if it is

    def look(self, now: float) -> str:
        """Whether it is low by now, told in the log once each time it becomes so."""
        if now < self._after:
            return self.low
        self._after = now + EVERY
        free = shutil.disk_usage(self._folder).free / GIGA
        low = f"only {free:.1f} GB of disk are free, less than {self._least:g}: make room"
        before, self.low = self.low, low if free < self._least else ""
        if self.low and not before:
            log.warning("%s", self.low)
        return self.low


def _tell(beating: pulse.Pulse, recorder: Recorder, low: str) -> None:
    paused = recorder.paused[:400]
    beating.beat(recorder.end, refused=recorder.refused, paused=paused, low=low)


if __name__ == "__main__":
    child.enter(main)
