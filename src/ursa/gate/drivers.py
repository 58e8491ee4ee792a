"""Drivers: which robots are driven from this computer now, and from which folders.

Whoever holds a robot holds a lock file in memory, one for the run and one for its gate. They say
who that is; here the folder is added, so that a stop finds its way without being told. Also a lock
whose file was removed is found, in the hands of the process that holds it.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ursa import claim
from ursa.gate import handles
from ursa.gate.handles import LONGEST
from ursa.shared import place

FROM = ", from "  # between who holds a robot and the folder
PREFIX = "ursa-robot-"
SUFFIXES = (".run.lock", ".lock")  # of the run, of its gate; the longer one first


@dataclass(frozen=True, kw_only=True)
class Driver:
    """A robot in use."""

    robot: str  # HOST:PORT
    folder: Path | None  # whose mailbox its gate reads; None: who drives it did not say
    said: str  # who has it, in the words of the lock
    pid: int  # the same as a number


def lock(host: str, port: int, suffix: str) -> Path:
    """The lock file of a robot."""
    return _memory() / f"{PREFIX}{host.replace(':', '_')}-{port}.{suffix}"


def sign(path: Path, folder: Path) -> None:
    """Add the folder to a lock file that we hold. Whoever takes the lock next begins it anew."""
    with suppress(OSError), open(path, "r+b") as file:  # memory is full: a robot can be driven
        said = file.read(LONGEST).rstrip()
        file.seek(len(said))
        file.write(f"{FROM}{folder.absolute()}\n".encode())


def running() -> tuple[Driver, ...]:
    """Robots that a living process on this computer holds, each with the folder that drives it."""
    found: dict[tuple[str, Path | None], Driver] = {}
    for each in (*_removed(), *_found()):
        found[each.robot, each.folder] = each
    known = {robot for robot, folder in found if folder is not None}
    return tuple(it for it in found.values() if it.folder is not None or it.robot not in known)


def drives(pid: int) -> bool:
    """Whether a process holds a robot, by a lock that may have been removed."""
    return any(_is_lock(each.opened) for each in handles.of(pid))


def _found() -> Iterator[Driver]:
    """By the lock files that are there."""
    for path in sorted(_memory().glob(f"{PREFIX}*.lock")):
        with suppress(OSError):
            driver = _driver(path.name, path)
            if driver is not None and _living(driver.pid) and claim.held(path):
                yield driver


def _removed() -> Iterator[Driver]:
    """By those that are not, and that a process of this account holds all the same."""
    for each in handles.every():
        if each.removed and _is_lock(each.opened):
            with suppress(OSError):
                driver = _driver(each.opened.name, each.path)
                if driver is not None and driver.pid == each.pid:
                    yield driver


def _is_lock(path: Path) -> bool:
    """Whether this is, or was, the name of a robot's lock."""
    named = path.name.startswith(PREFIX) and path.name.endswith(SUFFIXES)
    return named and path.parent == _memory().resolve()


def _driver(name: str, path: Path) -> Driver | None:
    """What a lock file says that has, or had, this name."""
    said = path.read_bytes()[:LONGEST].decode(errors="replace").strip()
    who, _, folder = said.partition(FROM)
    pid = handles.named(said)
    if pid is None:
        return None
    return Driver(robot=_robot(name), folder=Path(folder) if folder else None, said=who, pid=pid)


def _living(pid: int) -> bool:
    """Whether the process that a lock names is there. Only then is the lock itself asked: one that
    is free would be held for that instant, and a gate that starts just then be refused."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _robot(name: str) -> str:
    suffix = next(each for each in SUFFIXES if name.endswith(each))
    host, _, port = name.removeprefix(PREFIX).removesuffix(suffix).rpartition("-")
    return f"{host}:{port}"


def _memory() -> Path:
    return place.MEMORY if os.access(place.MEMORY, os.W_OK) else Path(tempfile.gettempdir())
