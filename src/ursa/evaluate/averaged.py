"""Averaged: reward during training as a mean over seeds, most of which have no curve of their own.

A folder of results may hold such a file beside its seeds; figures draw it as one line and say so.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ursa import durable
from ursa.errors import UserError
from ursa.evaluate.curve import REWARD, curve
from ursa.evaluate.results import LARGEST, UNREADABLE, Curve

FILE = "training.json"


@dataclass(frozen=True)
class Averaged:
    """A learning curve over several seeds; its deviation is that over time, not over seeds."""

    seeds: int
    curve: Curve
    note: str = ""  # what a figure says of it, besides


def averaged(folder: Path) -> Averaged | None:
    """What a folder of results knows of the training of its seeds together, if anything."""
    path = folder / FILE
    if not path.exists():
        return None
    wanted = f'{path} does not hold "seeds", and "steps" (rising) and "reward", as many numbers'
    try:
        read = durable.from_json(durable.read_bounded(path, LARGEST))
        seeds, steps = int(read["seeds"]), [int(it) for it in read["steps"]]
        note = str(read.get("note", ""))
        reward = [float(it) for it in read["reward"]]
        pairs = zip(steps, reward, strict=True)
        found = curve({"step": step, REWARD: value} for step, value in pairs)
    except UNREADABLE as error:
        raise UserError(f"{wanted}: {type(error).__name__}: {error}") from None
    sound = seeds > 0 and np.isfinite(reward).all() and (np.diff(steps, prepend=0) > 0).all()
    if found is None or not sound:
        raise UserError(wanted)
    return Averaged(seeds, found, note)
