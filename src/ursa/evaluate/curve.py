"""Learning curve: reward during training, in windows, from the journal of a run."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ursa import journal
from ursa.evaluate.definitions import WINDOW
from ursa.evaluate.results import Curve

REWARD = "robot/reward"


def journal_of(run: Path, seed: int, seeds: int) -> Path:
    """The folder whose lines are about one seed of a run of `seeds`."""
    return run / f"seed_{seed}" if seeds > 1 else run


def curve(lines: Iterable[Mapping[str, Any]], window: int = WINDOW) -> Curve | None:
    """Windows of `window` control steps; the last may be shorter. None if nothing was written.

    A line tells the mean since the line before it. One that lies in two windows counts in each for
    the steps it has there. The deviation is that of the lines of a window, weighted alike. A line
    without a number makes its windows NaN.
    """
    told = [(int(it["step"]), it[REWARD]) for it in lines if REWARD in it]
    if not told:
        return None
    ends = np.array([step for step, _ in told], float)
    starts = np.concatenate([[0.0], ends[:-1]])
    reward = np.array([np.nan if value is None else float(value) for _, value in told])
    edges = np.append(np.arange(window, ends[-1], window, dtype=float), ends[-1])
    mean, deviation = np.zeros(len(edges)), np.zeros(len(edges))
    for index, end in enumerate(edges):
        begin = edges[index - 1] if index else 0.0
        share = np.clip(np.minimum(ends, end) - np.maximum(starts, begin), 0.0, None)
        inside = share > 0
        weight, value = share[inside] / share.sum(), reward[inside]
        mean[index] = weight @ value
        deviation[index] = np.sqrt(weight @ np.square(value - mean[index]))
    return Curve(steps=edges, mean=mean, deviation=deviation)


def learnt(run: Path, seed: int, seeds: int) -> Curve | None:
    """The curve of one seed, or None where the folder holds no journal (a published agent)."""
    return curve(journal.read(journal_of(run, seed, seeds)))
