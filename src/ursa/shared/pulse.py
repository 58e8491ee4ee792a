"""Pulse: a sign of life of each process, and how far it is, for whoever looks after them.

A beat is told from the loop that does the work, never from a thread beside it: a process that
hangs stops beating.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ursa.errors import UserError
from ursa.shared import slots
from ursa.shared.place import shared

KIND = b"ursabeat"
SIZE = 1024  # bytes of a beat


@dataclass(frozen=True, kw_only=True)
class Beat:
    """The last beat of a role."""

    number: int  # counts up over all processes that ever played the role
    pid: int
    progress: int  # what the role counts: cycles, steps, rows, updates
    said: Mapping[str, float | int | str] = field(default_factory=dict)  # more to show


def create(folder: Path, role: str) -> None:
    """The place for the pulse of a role, if it is not there yet."""
    slots.prepare(_place(folder, role), KIND, slots=4, size=SIZE)


class Pulse:
    """One process says that it lives; another of the same role is refused meanwhile."""

    def __init__(self, folder: Path, role: str) -> None:
        self._slots = slots.Writer(_place(folder, role), KIND)

    def beat(self, progress: int, **said: float | int | str) -> None:
        """Still here, and so far."""
        told = {"pid": os.getpid(), "progress": int(progress), "said": said}
        data = json.dumps(told).encode()
        if len(data) > SIZE:  # what is shown must not stop what is done
            data = json.dumps({**told, "said": {}}).encode()
        self._slots.put(data)

    def close(self) -> None:
        self._slots.close()


class Watch:
    """An ear for the pulse of a role."""

    def __init__(self, folder: Path, role: str) -> None:
        self._slots = slots.Reader(_place(folder, role), KIND)

    def last(self) -> Beat | None:
        """The last beat, of whichever process."""
        found = self._slots.newest()
        if found is None:
            return None
        told = json.loads(found[1].rstrip(b"\0"))
        return Beat(number=found[0], **told)

    def close(self) -> None:
        self._slots.close()


def last(folder: Path, role: str) -> Beat | None:
    """The last beat of a role, or None if it never beat."""
    try:
        watch = Watch(folder, role)
    except UserError:
        return None
    try:
        return watch.last()
    finally:
        watch.close()


def _place(folder: Path, role: str) -> Path:
    return shared(folder) / f"pulse.{role}"
