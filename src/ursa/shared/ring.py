"""Ring: records on their way from the actor to the recorder, in memory that outlives both.

One process puts, one takes. Every slot carries the number of its record and a checksum over both,
so what is in the ring follows from the slots alone: a writer that died in the middle of a record
has put nothing, and no order of stores between processors is relied on. A record stays until the
recorder has it on disk and says so; the ring never writes over one that is still waiting. The
ring itself does not survive a power cut: what was not acknowledged by then is lost.
"""

import struct
import zlib
from pathlib import Path

from ursa.claim import Claim
from ursa.errors import UserError
from ursa.shared import mapped
from ursa.shared.mapped import Mapped

KIND, FORMAT = b"ursaring", 1
HEAD = struct.Struct("=QI4x")  # number, CRC
# Words. How far the reader is, twice, each with its complement: a reader that dies while it
# changes one has left the other. Those of reader and writer share no cache line.
TAILS, REFUSED = (0, 8), 64
ALL = (1 << 64) - 1
SEED = zlib.crc32(KIND)


def create(path: Path, *, slots: int, size: int, first: int) -> None:
    """An empty ring of so many records of `size` bytes; the next record has number `first`."""
    if slots < 2 or size < 1:
        raise UserError(f"ring: {slots} slots of {size} bytes, want at least 2 of at least 1")
    words = [first, first ^ ALL, *[0] * 6] * len(TAILS)
    mapped.create(path, KIND, FORMAT, (slots, size), slots * _stride(size), words)


class _Side:
    """What both ends do: look at a slot, and at how far the reader has got."""

    def __init__(self, path: Path, role: str) -> None:
        self._claim = Claim(path.with_name(f"{path.name}.{role}.lock"))
        try:
            self._mapped = Mapped(path, KIND, FORMAT)
        except UserError:
            self._claim.close()
            raise
        self.slots, self.size = self._mapped.numbers
        self._stride = _stride(self.size)
        self._tail = -1
        if self.tail() < 0:
            self.close()
            raise UserError(
                f"{path} is damaged, it does not say how far it was read: stop every process of "
                f"this run, remove the file and start again"
            )

    def tail(self) -> int:
        """The number of the oldest record not yet released."""
        words = self._mapped.words
        for word in TAILS:
            tail, check = words[word], words[word + 1]
            if tail ^ check == ALL:  # or it is being changed: what was known before still holds
                self._tail = max(self._tail, tail)
        return self._tail

    def record(self, number: int) -> bytes | None:
        """The record of a number, or None if its slot holds another or half of one."""
        start = self._start(number)
        whole = bytes(self._mapped.bytes[start : start + HEAD.size + self.size])
        found, crc = HEAD.unpack_from(whole)
        data = whole[HEAD.size :]
        return data if found == number and crc == checksum(number, data) else None

    def close(self) -> None:
        """Leave; what is in the ring stays."""
        self._mapped.close()
        self._claim.close()

    def _start(self, number: int) -> int:
        return mapped.PAGE + number % self.slots * self._stride


class Writer(_Side):
    """The actor's end; there is one at a time."""

    def __init__(self, path: Path) -> None:
        """Continue where the last writer stopped, even if it stopped within a record."""
        super().__init__(path, "writer")
        self.next = self._tail  # the number that the next record will have
        while self.next - self._tail < self.slots and self.record(self.next) is not None:
            self.next += 1

    @property
    def waiting(self) -> int:
        """Records that are not on disk yet; above half of the slots the robot should pause."""
        return self.next - self.tail()

    def put(self, data: bytes) -> bool:
        """Hand over one record without ever waiting; False if the ring is full.

        A refused record has no number. Count on nothing after it: the next record must say that
        a new sequence begins.
        """
        if len(data) != self.size:
            raise ValueError(f"a record of {len(data)} bytes in a ring of {self.size}")
        if self.waiting >= self.slots:
            self._mapped.words[REFUSED] += 1
            return False
        start = self._start(self.next)
        head = HEAD.pack(self.next, checksum(self.next, data))
        write(self._mapped, start + HEAD.size, data)
        write(self._mapped, start, head)
        self.next += 1
        return True


class Reader(_Side):
    """The recorder's end; there is one at a time."""

    def __init__(self, path: Path) -> None:
        """Continue after what was last released."""
        super().__init__(path, "reader")

    @property
    def refused(self) -> int:
        """How often the ring was full since it was made."""
        return self._mapped.words[REFUSED]

    def peek(self, limit: int) -> list[bytes]:
        """The oldest records in order, at most so many; they stay until released."""
        found: list[bytes] = []
        first = self.tail()
        while len(found) < min(limit, self.slots):
            data = self.record(first + len(found))
            if data is None:
                break
            found.append(data)
        return found

    def hole(self) -> int | None:
        """How many records cannot be read at the front although a later one can; None if none.

        For a moment that may be a record on its way; if it lasts, the memory was damaged.
        """
        first = self.tail()
        if self.record(first) is not None:
            return None
        after = (step for step in range(1, self.slots) if self.record(first + step) is not None)
        return next(after, None)

    def release(self, end: int) -> None:
        """Everything before `end` is on disk: its slots may be used again."""
        tail = self.tail()
        if not tail <= end <= tail + self.slots:
            raise ValueError(f"released up to {end}, want {tail} to {tail + self.slots}")
        words = self._mapped.words
        for word in TAILS:
            words[word] = end
            words[word + 1] = end ^ ALL
        self._tail = end


def checksum(number: int, data: bytes) -> int:
    """Over the number and the record, so that neither passes for another."""
    return zlib.crc32(data, zlib.crc32(number.to_bytes(8, "little"), SEED))


def write(memory: Mapped, start: int, data: bytes) -> None:
    """The one place where records enter the memory."""
    memory.bytes[start : start + len(data)] = data


def _stride(size: int) -> int:
    return (HEAD.size + size + 7) // 8 * 8
