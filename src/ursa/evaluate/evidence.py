"""Evidence: one number from the seeds of one or several runs, with its interval.

Every seed gives a number or a row of them; the median over seeds is taken of each run, and `join`
makes one number of the medians. The interval is that of the same recipe on seeds drawn anew, of
each run on its own; where runs are the same agents measured twice, of pairs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ursa.errors import UserError
from ursa.evaluate.group import gather, together, where
from ursa.evaluate.results import Results
from ursa.evaluate.statistics import CONFIDENCE, DRAWS, NotFinite, Summary, finite

Array = np.ndarray
Each = Callable[[Results], Array | float | None]  # of one seed; None: it was not measured
Join = Callable[..., float]  # of the medians of each run


@dataclass(frozen=True)
class Recipe:
    """How a number is made of runs, which are folders of results."""

    runs: tuple[str, ...]
    each: Each
    join: Join = lambda only: float(only)
    alike: bool = True  # same robot, task, physics, lengths and numbers of rollouts
    paired: bool = False  # the same agents: joined seed by seed, then the median is taken


def read(folder: Path, runs: Sequence[str]) -> dict[str, list[Results]]:
    """The seeds of every run that is there: finished, each once, all of the same settings."""
    found = {run: sorted((folder / run).glob("seed_*.json")) for run in dict.fromkeys(runs)}
    return {run: _one(folder / run, files) for run, files in found.items() if files}


def made(recipe: Recipe, seeds: Mapping[str, Sequence[Results]], name: str) -> Summary | None:
    """The number; None where a run, or this part of one, was not measured."""
    rows = []
    for run in recipe.runs:
        told = [recipe.each(it) for it in seeds.get(run, ())]
        if not told or any(it is None for it in told):
            return None
        rows.append(finite(np.array(told, float), f"{name}, {where(seeds[run][0])} and others"))
    if recipe.alike:
        together([it for run in recipe.runs for it in seeds[run]])
    join = recipe.join
    if recipe.paired:
        rows, join = [_pairs(recipe, seeds, rows)], float
        if not len(rows[0]):
            return None
    middle = join(*(np.median(it, axis=0) for it in rows))
    if not np.isfinite(middle):
        raise NotFinite(f"{name}: a share of nothing")
    fewest = min(map(len, rows))
    if fewest == 1:
        return Summary(1, float(middle), None, None)
    rng = np.random.default_rng(0)
    again = [np.median(it[rng.integers(0, len(it), (DRAWS, len(it)))], axis=1) for it in rows]
    drawn = [join(*medians) for medians in zip(*again, strict=True)]
    # Where some draws are a share of nothing, the interval is open above.
    sure = np.where(np.isnan(drawn), np.inf, drawn)
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(sure, (tail, 100 - tail), method="inverted_cdf").tolist()
    return Summary(fewest, float(middle), low, high)


def _pairs(recipe: Recipe, seeds: Mapping[str, Sequence[Results]], rows: Sequence[Array]) -> Array:
    """What the runs' numbers of one seed join to, for every seed that all runs have."""
    numbered = [
        dict(zip((it.source.seed for it in seeds[run]), row, strict=True))
        for run, row in zip(recipe.runs, rows, strict=True)
    ]
    common = sorted(set.intersection(*(set(it) for it in numbered)))
    return np.array([recipe.join(*(it[seed] for it in numbered)) for seed in common])


def _one(place: Path, files: Sequence[Path]) -> list[Results]:
    groups = gather(files)
    if len(groups) > 1:
        raise UserError(
            f"{place} mixes runs of other settings: {', '.join(g.label for g in groups)}"
        )
    return list(groups[0].seeds)
