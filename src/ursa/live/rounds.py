"""Rounds: which steps of the log a student sees before which updates, noted before they happen.

The journal has a line for every round, so a student that died is made again by repeating rounds
from its newest checkpoint on, and `ursa replay` makes it again from nothing. A round without rows
and updates is a rest: there a checkpoint is made, and a later roll-back goes back to there.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ursa import checkpoint
from ursa.errors import UserError
from ursa.live.pace import allowed
from ursa.live.student import Student
from ursa.log import rows as reading
from ursa.log.store import Log
from ursa.log.watermark import Watermark, entries, refuse_lost
from ursa.run import folder as place
from ursa.types import Row

Array = np.ndarray
MANY = 64  # rows that are folded without an update, when none is allowed yet
CHECKPOINTS = "checkpoints"
warn = logging.getLogger(__name__)
# What a round was, the rows it saw, the metrics of its updates
Told = Callable[[Watermark, Row | None, Float[Array, "updates M"]], object]


def due(student: Student, log: Log, most: float, together: int) -> tuple[int, int] | None:
    """The next round: steps of the log that it sees, updates; None: wait for rows."""
    end = log.end()
    found = reading.chunks(log, student.seen, end) if end > student.seen else ()
    rows = sum(map(reading.count, found))
    column, prefill = student.column + rows, student.plan.prefill
    updates = min(allowed(column, prefill, student.updates, most), together)
    if updates or end - student.seen >= MANY:
        return end, updates
    return None


def make(student: Student, log: Log, watermark: Watermark, told: Told | None = None) -> bool:
    """One round, new or repeated. True after a rest in which the student was sound."""
    if rests(student, watermark):
        return student.rest()
    rows = reading.read(log, student.seen, watermark.visible)
    metrics = student.round(rows, watermark.visible, watermark.updates)
    if told is not None:
        told(watermark, rows, metrics)
    return False


def rests(student: Student, watermark: Watermark) -> bool:
    """Whether a round is there for a checkpoint only."""
    return watermark.updates == 0 and watermark.visible == student.seen


def repeated(
    student: Student, log: Log, folder: Path, told: Told | None = None
) -> Iterator[tuple[Watermark, bool]]:
    """Repeat the rounds that the journal names after those the student has made.

    Yields each with what `make` said of it.
    """
    end = log.end()
    for watermark in entries(folder, student.rounds):
        refuse_lost(watermark, end, folder)
        yield watermark, make(student, log, watermark, told)


def save(student: Student, folder: Path) -> Path:
    """A checkpoint of a student at rest; it refers to the rows of the log by their number."""
    meta = {"config": asdict(student.config), "seen": student.seen, "rounds": student.rounds}
    return checkpoint.save(folder / CHECKPOINTS, student.seen, student.tree(), meta)


def load(student: Student, log: Log, folder: Path, most: int | None = None) -> bool:
    """Put the newest sound checkpoint into the student, if there is any.

    `most` rounds: a checkpoint with more of them is not used, as the journal does not know them.
    """
    if not checkpoint.stored(folder / CHECKPOINTS):
        return False
    end = log.end()

    def there(meta: dict[str, Any]) -> None:
        if meta["seen"] > end:
            raise UserError(f"it has seen {meta['seen']} steps, the log ends at {end}")
        if most is not None and meta["rounds"] > most:
            raise UserError(f"it has made {meta['rounds']} rounds, the journal has {most}")

    tree, meta = checkpoint.load(folder / CHECKPOINTS, student.tree(), there)
    place.refuse_changed(folder, student.config, meta["config"])
    restore(student, log, tree)
    return True


def restore(student: Student, log: Log, tree: dict[str, Any]) -> None:
    """Put a checkpoint's tree into the student; the replay comes from the log.

    Rows that were damaged since are missing in it: that is said, and learning goes on.
    """
    seen, column = int(tree["seen"]), int(tree["column"])
    total = sum(map(reading.count, reading.chunks(log, 0, seen)))
    if total != column:
        told = "; ".join(map(str, log.faults)) or "of no known damage"
        warn.warning("step %d: %d rows to learn from, there were %d: %s", seen, total, column, told)
    student.restore(tree, _recent(student, log, seen, total))


def _recent(student: Student, log: Log, seen: int, column: int) -> Iterator[tuple[int, Row]]:
    """The rows that the replay holds, by the number of their column."""
    first, needed = 0, column - student.plan.capacity
    for rows in reading.chunks(log, 0, seen):
        if first + reading.count(rows) > needed:
            yield first, reading.seeded(rows)
        first += reading.count(rows)
