"""Memory: whether what the processes of a run share still lies where others look for it.

They go on without its names: what a process has mapped stays. But a stop finds no gate, whoever is
started anew finds nobody, and the robot's locks keep no second gate away. systemd removes it all
when the last session of an account ends, unless it was told otherwise (see `logout.py`).
"""

import os
from pathlib import Path

from ursa.gate import drivers, mailbox
from ursa.gate.link import Address
from ursa.log import store
from ursa.shared import place

BOXES = ("told", *(f"orders.{who}" for who in mailbox.WRITERS))  # made once, before there is a gate

Number = tuple[int, int]  # of a file: it and its name are the same as long as this is


class Memory:
    """The memory that a run began with."""

    def __init__(self, folder: Path, robot: Address) -> None:
        """As it is now: what is not there yet is not missed, but for the ring, once it was seen."""
        found = place.shared(folder)
        paths = [found, *(found / name for name in BOXES), drivers.lock(*robot, "run.lock")]
        self._numbers = {path: it for path in paths if (it := _number(path)) is not None}
        self._ring, self._recorded = store.ring_of(folder), False

    def missing(self) -> Path | None:
        """What is gone, or another file by now; None: all is there. It asks no disk."""
        for path, number in self._numbers.items():
            if _number(path) != number:
                return path
        there = self._ring.exists()  # another one may be made in its place, for another layout
        gone, self._recorded = self._recorded and not there, self._recorded or there
        return self._ring if gone else None


def there(folder: Path) -> bool:
    """Whether a gate of this folder can be told anything. Makes nothing."""
    return place.begun(folder) and (place.shared(folder) / BOXES[0]).exists()


def words(missing: Path) -> str:
    """What happened, and what to do about it."""
    return (
        f"THE MEMORY OF THIS RUN IS GONE ({missing} was removed): `ursa robot stop` does not reach "
        "the robot any more. It is laid down and all ends in order. systemd removes such memory "
        "when the last session of an account ends: say `loginctl enable-linger` first next time "
        "(docs/robot.md, 6)"
    )


def _number(path: Path) -> Number | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
