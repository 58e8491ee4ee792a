"""Store: the recorder, which carries steps from the ring to the disk, and the learner's view.

The recorder holds nothing itself: a record stays in the ring until it is committed. So a recorder
that is killed, or whose disk is full, delays and loses nothing; the ring fills, and the actor
pauses the robot before it is full.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from ursa.claim import Claim
from ursa.errors import UserError
from ursa.log import record
from ursa.log.ledger import Ledger, Refused
from ursa.log.record import Layout, Steps
from ursa.log.shelf import Fault, Shelf
from ursa.shared import ring
from ursa.shared.place import begun, shared

SLOTS = 4096  # 200 s at 20 Hz
GROUP, PATIENCE = 64, 0.5  # a commit is due after so many steps or seconds
MOST = 512  # steps of one commit, when it has catching up to do
AGAIN, LONGEST = 1.0, 30.0  # seconds until a refused commit is tried again: doubled up to
HOLE = 1.0  # seconds that a slot may stay unreadable before it is given up
log = logging.getLogger(__name__)


def ring_of(folder: Path) -> Path:
    """Where the ring of a run lies."""
    return shared(folder) / "ring"


class Recorder:
    """Ring to disk; call `turn` a few times a second. There is one at a time."""

    def __init__(self, folder: Path, layout: Layout, slots: int = SLOTS) -> None:
        """Continue where the last recorder stopped; makes the ring if there is none."""
        self._ledger = Ledger(folder, layout.kind)
        try:
            for fault in self._ledger.faults:
                log.warning("%s: %s; it is not used", folder, fault)
            path = ring_of(folder)
            if not path.exists():
                ring.create(path, slots=slots, size=layout.kind.size, first=self._ledger.end)
            self._ring = self._joined(path, layout.kind.size)
        except UserError:
            self._ledger.close()
            raise
        self.paused = ""  # why nothing can be written just now
        self._oldest: float | None = None  # when a record was first seen waiting
        self._hole: tuple[int, float] | None = None
        self._after, self._wait = 0.0, AGAIN

    @property
    def end(self) -> int:
        """Steps before this number are on disk."""
        return self._ledger.end

    @property
    def refused(self) -> int:
        """Steps that found the ring full; the actor should have paused long before."""
        return self._ring.refused

    @property
    def waits(self) -> bool:
        """Whether there is something in the ring that is not on disk."""
        return bool(self._ring.peek(1)) or self._ring.hole() is not None

    def turn(self, now: float) -> int:
        """Commit what is due by a monotonic clock; returns how many steps became durable."""
        if now < self._after:
            return 0
        records = self._ring.peek(MOST)
        if not records:
            self._oldest = None
            if self._lasting_hole(now):
                self._attempt(self._give_up, now)
            return 0
        self._oldest = now if self._oldest is None else self._oldest
        if len(records) < GROUP and now - self._oldest < PATIENCE:
            return 0
        return self._commit(records, now)

    def flush(self, now: float) -> int:
        """Commit what waits, due or not, and whatever was refused before; for an orderly end."""
        records = self._ring.peek(MOST)
        if not records and self._ring.hole() is not None:  # nobody is left who might fill it
            self._attempt(self._give_up, now)
            records = self._ring.peek(MOST)
        return self._commit(records, now)

    def close(self) -> None:
        self._ring.close()
        self._ledger.close()

    def _commit(self, records: list[bytes], now: float) -> int:
        if not records:
            return 0
        done = self._attempt(lambda: self._ledger.commit(self._ring.tail(), records), now)
        return len(records) if done else 0

    def _attempt(self, write: Callable[[], object], now: float) -> bool:
        """Write, and only then let the ring go on; a refusal is told once and tried again."""
        try:
            write()
        except Refused as error:
            self._after, self._wait = now + self._wait, min(2 * self._wait, LONGEST)
            if not self.paused:
                log.error("%s", error)
            self.paused = str(error)
            return False
        self._ring.release(self._ledger.end)
        if self.paused:
            log.warning("recording goes on at step %d", self._ledger.end)
        self.paused, self._wait, self._oldest = "", AGAIN, None
        return True

    def _lasting_hole(self, now: float) -> bool:
        """Whether the first slot has been unreadable for a while although a later one is not."""
        if self._ring.hole() is None:
            self._hole = None
        elif self._hole is None or self._hole[0] != self._ring.tail():
            self._hole = self._ring.tail(), now
        return self._hole is not None and now - self._hole[1] >= HOLE

    def _give_up(self) -> None:
        """What was damaged in memory is lost; the log says so."""
        first = self._ring.tail()
        end = first + (self._ring.hole() or 0)
        log.error("steps %d to %d were damaged in memory and are lost", first, end - 1)
        self._ledger.leave_gap(end)

    def _joined(self, path: Path, size: int) -> ring.Reader:
        """The ring, agreed with the log on what is done."""
        found = ring.Reader(path)
        tail, end = found.tail(), self._ledger.end
        known = end - tail <= found.slots and all(found.record(n) for n in range(tail, end))
        if found.size == size and known:
            if end > tail:  # committed by a recorder that died before it could say so
                found.release(end)
            elif end < tail:  # acknowledged once, and gone: the log was damaged or put back
                log.error("steps %d to %d were on disk once and are missing", end, tail - 1)
                try:
                    self._ledger.leave_gap(tail)
                except Refused:
                    found.close()
                    raise
            return found
        # Of another layout, or older than the log: a ring that a power cut left on a disk.
        slots = found.slots
        found.close()
        writer = Claim(path.with_name(f"{path.name}.writer.lock"))  # or an actor is still there
        ring.create(path, slots=slots, size=size, first=end)
        writer.close()
        return ring.Reader(path)


def left(folder: Path) -> int:
    """Steps of a run that are in memory only, when no process of it lives any more."""
    if not begun(folder) or not ring_of(folder).exists():
        return 0
    try:
        with closing(ring.Reader(ring_of(folder))) as found:
            return len(found.peek(found.slots))
    except UserError:  # a recorder lives after all, and sees to them; or the memory is damaged
        return 0


class Log:
    """What the learner sees: every acknowledged step that is whole, beside the recorder."""

    def __init__(self, folder: Path, layout: Layout) -> None:
        self._layout = layout
        self._shelf = Shelf(folder, layout.kind)

    @property
    def faults(self) -> list[Fault]:
        """What was found wrong so far; read everything to know all."""
        return self._shelf.faults

    def end(self) -> int:
        """Steps before this number are on disk, now."""
        return self._shelf.refresh()

    def steps(self, first: int, end: int) -> Iterator[tuple[int, Steps]]:
        """(number of the first, steps that follow one another), in order.

        Where steps are missing or damaged the next one is marked as the start of a sequence.
        """
        expected = max(first - 1, 0)  # one more, to see whether the first follows something
        for number, records in self._shelf.records(expected, end):
            whole = number == expected
            expected = number + len(records)
            if number < first:
                number, records = first, records[first - number :]
            if records:
                steps = record.unpack(self._layout, records)
                yield number, steps if whole else record.parted(steps)

    def close(self) -> None:
        self._shelf.close()


def audit(folder: Path, layout: Layout) -> tuple[int, list[Fault]]:
    """Read all of a log: where it ends, and every fault in it."""
    found = Log(folder, layout)
    end = found.end()
    for _ in found.steps(0, end):
        pass
    faults = found.faults
    found.close()
    return end, faults
