"""Witness: up to where the records of a volume were acknowledged, in a small file of its own.

SQLite drops a write-ahead log from the first frame on that does not add up, and says nothing; a
database copied without that log is simply older. The witness is written and synced after each
commit and before anybody is told, so a volume that holds less than its witness says has lost
something. Two slots, a page apart, are written in turn: a write that power loss tears leaves the
other.
"""

import os
import struct
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

from ursa import durable

MAGIC, FORMAT = b"ursaack\0", 1
SLOT = struct.Struct("<8sIIQQQI")  # magic, format, volume, writes, begin, end, CRC
APART = 4096  # bytes from one slot to the next
SLOTS = 2


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a witness says."""

    number: int  # of its volume
    writes: int  # how often it has been written
    begin: int  # first record of the volume
    end: int  # first record that was not acknowledged
    whole: bool = True  # both slots can be read; else one was being written, or is damaged


class Witness:
    """The writer's hand on a witness; there is one writer of a volume, and it never comes back."""

    def __init__(self, path: Path, number: int, begin: int) -> None:
        """Make the file: nothing acknowledged yet."""
        self._said = Said(number=number, writes=1, begin=begin, end=begin)
        temporary = path.with_name(f"tmp.{path.name}")
        durable.write(temporary, _packed(self._said).ljust(APART, b"\0") * SLOTS)
        durable.rename(temporary, path)
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def acknowledge(self, end: int) -> None:
        """Everything before `end` is committed. After an OSError this file is not to be used."""
        said = self._said
        said = Said(number=said.number, writes=said.writes + 1, begin=said.begin, end=end)
        write(self._file, _packed(said), said.writes % SLOTS * APART)
        sync(self._file)
        self._said = said

    def close(self) -> None:
        os.close(self._file)


def read(path: Path) -> Said | None:
    """What the newer whole slot says; None if neither is whole. FileNotFoundError if missing."""
    data = path.read_bytes()
    slots = [_unpacked(data[slot * APART :][: SLOT.size]) for slot in range(SLOTS)]
    newest = max((said for said in slots if said), key=lambda said: said.writes, default=None)
    return newest and replace(newest, whole=all(slots))


def write(file: int, data: bytes, offset: int) -> None:
    """One write, whole or an error."""
    if os.pwrite(file, data, offset) != len(data):
        raise OSError(5, "the disk took only part of a write")


def sync(file: int) -> None:
    """The size of the file does not change, so its data are enough."""
    (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(file)


def _packed(said: Said) -> bytes:
    fields = (MAGIC, FORMAT, said.number, said.writes, said.begin, said.end)
    body = SLOT.pack(*fields, 0)[:-4]
    return body + struct.pack("<I", zlib.crc32(body))


def _unpacked(data: bytes) -> Said | None:
    if len(data) != SLOT.size or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        return None
    magic, form, number, writes, begin, end, _ = SLOT.unpack(data)
    if (magic, form) != (MAGIC, FORMAT):
        return None
    return Said(number=number, writes=writes, begin=begin, end=end)
