"""Watermark: which steps the learner had seen when it made which updates.

A learner on a robot sees what happens to be there. The journal makes that a fact: before a round
begins, its watermark is on disk. What the learner has become is then a function of config, seed,
log and journal: after a kill it takes its checkpoint, repeats the rounds that the journal names
after it, exactly, and goes on.
"""

import struct
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from ursa.errors import UserError
from ursa.log.ledger import Ledger
from ursa.log.shelf import Shelf
from ursa.log.volume import Kind

PACKED = struct.Struct("<QQQ")
KIND = Kind(name="journal", layout='{"format": 1}', size=PACKED.size)


@dataclass(frozen=True, kw_only=True)
class Watermark:
    """One round of the learner; its number is its place in the journal, from 0."""

    visible: int  # steps of the log that it had seen: those before this number
    updates: int  # gradient updates of the round
    version: int  # policy that was published after it; 0 if none


class Journal:
    """The learner's hand on its journal; there is one at a time."""

    def __init__(self, folder: Path) -> None:
        """Continue, or begin, the journal of a run; `rounds` says how many there are."""
        self._ledger = Ledger(folder, KIND)
        shelf = Shelf(folder, KIND)
        last = [records[-1] for _, records in shelf.records(shelf.end - 1, shelf.end)]
        shelf.close()
        self._visible = PACKED.unpack(last[0])[0] if last else 0

    @property
    def rounds(self) -> int:
        return self._ledger.end

    def note(self, watermark: Watermark) -> int:
        """Put a round on disk before it begins; returns its number."""
        if watermark.visible < self._visible:
            raise ValueError(f"a watermark at {watermark.visible} after one at {self._visible}")
        self._ledger.commit(self.rounds, [PACKED.pack(*astuple(watermark))])
        self._visible = watermark.visible
        return self.rounds - 1

    def close(self) -> None:
        self._ledger.close()


def entries(folder: Path, first: int = 0) -> Iterator[Watermark]:
    """The rounds from one on; UserError where one cannot be read, as nothing follows from there."""
    shelf = Shelf(folder, KIND)
    expected = first
    try:
        for number, records in shelf.records(first, shelf.end):
            if number != expected:
                break
            for data in records:
                visible, updates, version = PACKED.unpack(data)
                yield Watermark(visible=visible, updates=updates, version=version)
            expected += len(records)
        lost = [fault for fault in shelf.faults if fault.end > first]
        if expected != max(shelf.end, first) or lost:
            told = "; ".join(map(str, lost)) or f"round {expected} is missing"
            raise UserError(
                f"the journal in {folder} is damaged ({told}): what the learner did cannot be "
                f"repeated; continue from a checkpoint of a later round, or restore a copy"
            )
    finally:
        shelf.close()


def refuse_lost(watermark: Watermark, end: int, folder: Path) -> None:
    """UserError if the learner once saw more steps than the log still has."""
    if watermark.visible > end:
        raise UserError(
            f"the log in {folder} ends at step {end}, but the learner had seen "
            f"{watermark.visible}: a volume of the log was removed; restore it from a copy"
        )
