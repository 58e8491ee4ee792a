"""Slots: the newest messages of one process to others, in memory that outlives them all.

Each message goes into the next of a few slots with its number and a checksum over both, so a
reader sees a whole message or none: a writer that dies within one has spoilt the oldest, which
nobody asks for. Reading never waits for a writer, nor a writer for a reader.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ursa.claim import Claim
from ursa.errors import UserError
from ursa.shared import mapped
from ursa.shared.mapped import Mapped

FORMAT = 1
HEAD = struct.Struct("=QI4x")  # number, CRC
NEWEST = 0  # word: number of the newest message; a hint, the slots decide
MARK = 64  # word of the reader, on another cache line: see `Reader.mark`


def prepare(path: Path, kind: bytes, *, slots: int, size: int) -> None:
    """Make the slots if there are none of this kind and size; messages that are there stay."""
    with _held(path):
        try:
            found = Mapped(path, kind, FORMAT)
        except UserError:
            found = None
        if found is not None:
            fits = found.numbers == (slots, size)
            found.close()
            if fits:
                return
        mapped.create(path, kind, FORMAT, (slots, size), slots * _stride(size), [])


class _Side:
    """What both ends do: look into a slot."""

    def __init__(self, path: Path, kind: bytes) -> None:
        self._mapped = Mapped(path, kind, FORMAT)
        self.slots, self.size = self._mapped.numbers
        self._stride = _stride(self.size)

    def message(self, number: int) -> bytes | None:
        """The message of a number, or None if its slot holds another or half of one."""
        start = self._start(number)
        whole = bytes(self._mapped.bytes[start : start + HEAD.size + self.size])
        found, crc = HEAD.unpack_from(whole)
        data = whole[HEAD.size :]
        return data if found == number and crc == checksum(number, data) else None

    def newest(self) -> tuple[int, bytes] | None:
        """Number and bytes of the newest whole message; numbers count from 1."""
        hint = self._mapped.words[NEWEST]
        for number in (hint, hint + 1, hint - 1):
            if number > 0 and (data := self.message(number)) is not None:
                after = self.message(number + 1)  # its writer died before it could say so
                return (number, data) if after is None else (number + 1, after)
        if hint == 0:  # nobody has said anything yet
            return None
        numbers = [
            HEAD.unpack_from(self._mapped.bytes, self._start(n))[0] for n in range(self.slots)
        ]
        for number in sorted(numbers, reverse=True):
            if number > 0 and (data := self.message(number)) is not None:
                return number, data
        return None

    def mark(self) -> int:
        """What the reader noted last; 0 if nothing."""
        return self._mapped.words[MARK]

    def close(self) -> None:
        """Look away; the messages stay."""
        self._mapped.close()

    def _start(self, number: int) -> int:
        return mapped.PAGE + number % self.slots * self._stride


class Writer(_Side):
    """The end that speaks; there is one at a time."""

    def __init__(self, path: Path, kind: bytes) -> None:
        """Continue after the last message of whoever spoke before."""
        self._claim = Claim(path.with_name(f"{path.name}.writer.lock"))
        try:
            super().__init__(path, kind)
        except UserError:
            self._claim.close()
            raise
        found = self.newest()
        self.number = 0 if found is None else found[0]  # of the last message

    def put(self, data: bytes) -> int:
        """Say something; returns its number."""
        if len(data) > self.size:
            raise ValueError(f"a message of {len(data)} bytes in slots of {self.size}")
        data, number = data.ljust(self.size, b"\0"), self.number + 1
        start = self._start(number)
        write(self._mapped, start, HEAD.pack(number, checksum(number, data)) + data)
        self._mapped.words[NEWEST] = self.number = number
        return number

    def close(self) -> None:
        super().close()
        self._claim.close()


class Reader(_Side):
    """An end that listens; there may be several."""

    def since(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Whole messages after a number, oldest first; those overwritten meanwhile are missing."""
        found = self.newest()
        last = 0 if found is None else found[0]
        for each in range(max(number, last - self.slots) + 1, last + 1):
            if (data := self.message(each)) is not None:
                yield each, data

    def note(self, number: int) -> None:
        """Leave a mark that the writer and the next reader can see; for the one reader who may."""
        self._mapped.words[MARK] = number


def checksum(number: int, data: bytes) -> int:
    """Over the number and the message, so that neither passes for another."""
    return zlib.crc32(data, zlib.crc32(number.to_bytes(8, "little")))


def write(memory: Mapped, start: int, data: bytes) -> None:
    """The one place where messages enter the memory."""
    memory.bytes[start : start + len(data)] = data


@contextmanager
def _held(path: Path) -> Iterator[None]:
    claim = Claim(path.with_name(f"{path.name}.writer.lock"))
    try:
        yield
    finally:
        claim.close()


def _stride(size: int) -> int:
    return (HEAD.size + size + 7) // 8 * 8
