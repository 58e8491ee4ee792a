"""Rows: what of the log the learner learns from, in order, and where a sequence begins anew.

Left out are steps in which a hand or the gate moved the robot (their action did not lead to what
was seen), steps chosen on stale sensors, and numbers that are not finite. The row after one left
out begins a sequence, as after a gap in the log. Rows on the way home stay, but are not safe ones:
the world may be learnt from them, the repertoire takes nothing.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
from jaxtyping import Bool

from ursa.log.record import Mark, Steps
from ursa.log.store import Log
from ursa.types import Row

Array = np.ndarray
OLDEST = 25_000  # microseconds between sensing and choosing, beyond which a step is not learnt from
NAMES = tuple(each.name for each in fields(Row))


def chunks(log: Log, first: int, end: int) -> Iterator[Row]:
    """Rows to learn from among the steps first .. end - 1, a few at a time along a first axis.

    A function of the log alone: the step before the first is looked at, not given.
    """
    before = False  # whether the last step was left out
    for number, steps in log.steps(max(first - 1, 0), end):
        out = left_out(steps)
        begins = np.concatenate([[before], out[:-1]])
        before = bool(out[-1])
        kept = ~out
        kept[: max(0, first - number)] = False
        if kept.any():
            yield _learnable(steps, begins, kept)


def read(log: Log, first: int, end: int) -> Row | None:
    """The same in one piece; None if there is nothing."""
    found = list(chunks(log, first, end))
    if not found:
        return None
    return Row(**{name: np.concatenate([getattr(it, name) for it in found]) for name in NAMES})


def left_out(steps: Steps) -> Bool[Array, " T"]:
    """Steps that nothing is learnt from."""
    moved = (steps.marks & np.uint32(Mark.INTERVENTION)) != 0
    out = moved | (steps.age > OLDEST)
    for name in NAMES:
        values = getattr(steps.row, name)
        out |= ~np.isfinite(values).reshape(len(out), -1).all(axis=1)
    return out


def count(rows: Row | None) -> int:
    return 0 if rows is None else len(rows.reward)


def single(rows: Row, index: int) -> Row:
    """One row as the learner's programs take it: one seed, one step, one robot."""
    return Row(**{name: getattr(rows, name)[index][None, None] for name in NAMES})


def seeded(rows: Row) -> Row:
    """Rows with an axis for the one seed, as the replay is rebuilt from."""
    return Row(**{name: getattr(rows, name)[:, None] for name in NAMES})


def _learnable(steps: Steps, begins: Array, kept: Array) -> Row:
    plain: dict[str, Any] = {name: getattr(steps.row, name)[kept] for name in NAMES}
    plain["first"] = plain["first"] | begins[kept][:, None]
    plain["safe"] = plain["safe"] & (steps.marks[kept] == 0)[:, None]
    return Row(**plain)
