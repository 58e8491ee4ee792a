"""Drivers: which robots are driven from this computer now, and from which folders.

Whoever holds a robot holds a lock file in memory, one for the run and one for its gate. They say
who that is; here the folder is added, so that a stop finds its way without being told.
"""

import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ursa import claim
from ursa.shared import place

FROM = ", from "  # between who holds a robot and the folder
LONGEST = 8192  # bytes that are read of a lock file
SUFFIXES = (".run.lock", ".lock")  # of the run, of its gate; the longer one first


@dataclass(frozen=True, kw_only=True)
class Driver:
    """A robot in use."""

    robot: str  # HOST:PORT
    folder: Path | None  # whose mailbox its gate reads; None: who drives it did not say
    said: str  # who has it, in the words of the lock


def lock(host: str, port: int, suffix: str) -> Path:
    """The lock file of a robot."""
    return _memory() / f"ursa-robot-{host.replace(':', '_')}-{port}.{suffix}"


def sign(path: Path, folder: Path) -> None:
    """Add the folder to a lock file that we hold. Whoever takes the lock next begins it anew."""
    with suppress(OSError), open(path, "r+b") as file:  # memory is full: a robot can be driven
        said = file.read(LONGEST).rstrip()
        file.seek(len(said))
        file.write(f"{FROM}{folder.absolute()}\n".encode())


def running() -> tuple[Driver, ...]:
    """Robots that a living process on this computer holds, each with the folder that drives it."""
    found: dict[tuple[str, Path | None], Driver] = {}
    for path in sorted(_memory().glob("ursa-robot-*.lock")):
        with suppress(OSError):
            said = path.read_bytes()[:LONGEST].decode(errors="replace").strip()
            if _living(said) and claim.held(path):
                who, _, folder = said.partition(FROM)
                each = Driver(
                    robot=_robot(path.name), folder=Path(folder) if folder else None, said=who
                )
                found[each.robot, each.folder] = each
    known = {robot for robot, folder in found if folder is not None}
    return tuple(it for it in found.values() if it.folder is not None or it.robot not in known)


def _living(said: str) -> bool:
    """Whether the process that a lock names is there. Only then is the lock itself asked: one that
    is free would be held for that instant, and a gate that starts just then be refused."""
    number = re.match(r"process (\d+) ", said)
    if number is None:
        return False
    try:
        os.kill(int(number[1]), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _robot(name: str) -> str:
    suffix = next(each for each in SUFFIXES if name.endswith(each))
    host, _, port = name.removeprefix("ursa-robot-").removesuffix(suffix).rpartition("-")
    return f"{host}:{port}"


def _memory() -> Path:
    return place.MEMORY if os.access(place.MEMORY, os.W_OK) else Path(tempfile.gettempdir())
