"""Handles: locks that living processes hold, as the kernel tells it in /proc.

A lock outlives its name: whoever removes the file takes it from nobody, and nobody finds it by its
path any more. Of processes of other accounts the kernel tells nothing.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROCESSES = Path("/proc")
REMOVED = " (deleted)"  # what the kernel adds to the name of a file that has none any more
LONGEST = 8192  # bytes that are read of a lock file


@dataclass(frozen=True, kw_only=True)
class Handle:
    """A lock file in the hands of a process."""

    pid: int
    path: Path  # reads the very file, whatever lies under its name by now
    opened: Path  # the name that it was opened by
    removed: bool  # it has no name any more


def named(said: str) -> int | None:
    """The process that a lock names, or None.

    >>> named("process 71 on robot, since 2026-01-01 10:00:00")
    71
    """
    found = re.match(r"process (\d+) ", said)
    return None if found is None else int(found[1])


def holder(lock: Path) -> int | None:
    """The process that a lock file names and that holds it, by the kernel; None: nobody known."""
    with suppress(OSError):
        pid = named(lock.read_bytes()[:LONGEST].decode(errors="replace"))
        if pid is not None and any(each.path.samefile(lock) for each in of(pid)):
            return pid
    return None


def every() -> Iterator[Handle]:
    """All that can be seen from this account."""
    for number in _names(PROCESSES):
        if number.isdigit():
            yield from of(int(number))


def of(pid: int) -> Iterator[Handle]:
    """The locks of one process."""
    place = PROCESSES / str(pid)
    for number in _names(place / "fd"):
        with suppress(OSError):  # it has closed it meanwhile, or is gone
            target = os.readlink(place / "fd" / number)
            name = Path(target.removesuffix(REMOVED))
            if name.name.endswith("lock") and "FLOCK" in _told(place / "fdinfo" / number):
                yield Handle(
                    pid=pid,
                    path=place / "fd" / number,
                    opened=name,
                    removed=target.endswith(REMOVED),
                )


def _told(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")


def _names(folder: Path) -> list[str]:
    with suppress(OSError):  # gone, or another account's
        return os.listdir(folder)
    return []
