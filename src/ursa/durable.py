"""Files that are whole or absent after a kill or a power cut: write, sync, rename, sync."""

import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ursa.errors import UserError, shortened

SLACK = 16 << 20  # bytes left free beside what is written, so that logs can still tell why


def write(path: Path, data: bytes) -> None:
    """Write and sync one file. Without the sync of its folder the name may still be lost."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):  # so that reading it back asks the disk, not the cache
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, whose names survive a power cut."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def rename(old: Path, new: Path) -> None:
    """Give a file or folder its final name, for good; an earlier file of that name goes."""
    os.replace(old, new)
    sync_folder(new.parent)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def describe(data: bytes) -> dict[str, Any]:
    """What a manifest says about a file."""
    return {"bytes": len(data), "sha256": sha256(data)}


def read_verified(path: Path, expected: Mapping[str, Any]) -> bytes:
    """The bytes of a file that are what `describe` said; ValueError tells what is wrong."""
    try:
        size = path.stat().st_size  # before reading: a wrong file may be too large to read
        if size != expected["bytes"]:
            raise ValueError(f"{path.name} has {size} bytes, its manifest says {expected['bytes']}")
        data = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path.name} is missing") from None
    found = sha256(data)
    if found != expected["sha256"]:
        raise ValueError(
            f"{path.name} has SHA-256 {found[:16]}..., its manifest says "
            f"{str(expected['sha256'])[:16]}..."
        )
    return data


def read_bounded(path: Path, most: int) -> bytes:
    """A file of at most `most` bytes; ValueError for a larger one and for what is no file.

    A link to a device and a pipe look like files until they are read, and never end.
    """
    if (size := ordinary(path)) > most:
        raise ValueError(f"{path.name} has {size} bytes, at most {most} are read")
    return path.read_bytes()


def ordinary(path: Path) -> int:
    """The size of an ordinary file, or of what a link leads to; ValueError for anything else."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{path.name} is no ordinary file")
    return found.st_size


def from_json(data: bytes) -> Any:
    """The value in JSON; ValueError for anything else, a name given twice included."""
    try:
        return json.loads(data, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def to_json(value: Any) -> bytes:
    """The one way we write a value as JSON, so that equal values are equal bytes."""
    return json.dumps(value, sort_keys=True, indent=1, allow_nan=False).encode() + b"\n"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'"{shortened(twice)}" is there twice')
    return found


def refuse_unwritable(folder: Path, advice: str = "give another --out") -> None:
    """UserError for a folder that nothing can go into, before an hour is spent on what should.

    One that is not there yet will be made where the nearest one above it is.
    """
    try:
        there = next(it for it in (folder, *folder.absolute().parents) if it.exists())
        if not there.is_dir():
            what = "is a file" if there == folder else f"cannot be made: {there} is a file"
            raise UserError(f"{folder} {what}: {advice}")
        writable = os.access(there, os.W_OK | os.X_OK)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}: {advice}") from None
    if not writable:
        raise UserError(f"{folder}: its folder is not writable: {advice}")


@contextmanager
def room_for(what: str, folder: Path, size: int) -> Iterator[None]:
    """A block that writes `size` bytes into a folder; says in words why the disk refused."""
    try:
        make_folder(folder)
        free = shutil.disk_usage(folder).free
        if free < size + SLACK:
            raise OSError(errno.ENOSPC, f"only {free / 1e6:.0f} MB are free")
        yield
    except OSError as error:
        hint = "free some space" if error.errno == errno.ENOSPC else "check the disk"
        raise UserError(
            f"could not write {what} ({size / 1e6:.1f} MB) to {folder}: {error.strerror or error}; "
            f"what was saved earlier is intact; {hint} and resume"
        ) from error
