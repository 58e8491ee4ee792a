"""Recording: the recorder as a process, from the ring to the disk. No JAX."""

import time
from contextlib import closing
from pathlib import Path

from ursa.live import child, settings
from ursa.log.store import Recorder
from ursa.shared import pulse

PAUSE = 0.02  # s between two looks at the ring


def main(folder: Path) -> int:
    """Record until asked to end; then put on disk what still waits."""
    ending = child.Ending()
    live = settings.read(folder)
    with (
        closing(pulse.Pulse(folder, "recorder")) as beating,
        closing(Recorder(folder, live.layout)) as recorder,
    ):
        while not ending.asked:
            recorder.turn(time.monotonic())
            _tell(beating, recorder)
            time.sleep(PAUSE)
        while recorder.flush(time.monotonic()):
            _tell(beating, recorder)
        _tell(beating, recorder)
        return 1 if recorder.paused else 0  # what a full disk refused is still in the ring


def _tell(beating: pulse.Pulse, recorder: Recorder) -> None:
    beating.beat(recorder.end, refused=recorder.refused, paused=recorder.paused[:400])


if __name__ == "__main__":
    child.enter(main)
