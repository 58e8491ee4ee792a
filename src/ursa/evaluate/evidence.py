"""Evidence: one number from the seeds of one or several runs, with its interval.

Every seed gives a number or a row of them; the median over seeds is taken of each run, and `join`
makes one number of the medians. The interval is that of the same recipe on seeds drawn anew, of
each run on its own; where runs are the same agents measured twice, of pairs. Two seeds drawn anew
tell nothing that they did not tell before: then it is the range of what single seeds give.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ursa.errors import UserError
from ursa.evaluate.group import gather, together, where
from ursa.evaluate.question import PHYSICS
from ursa.evaluate.results import Results, name
from ursa.evaluate.statistics import CONFIDENCE, DRAWS, NotFinite, finite, short

Array = np.ndarray
Each = Callable[[Results], Array | float | None]  # of one seed; None: it was not measured
Join = Callable[..., float]  # of the medians of each run
DRAWN = 3  # seeds that every run must have for an interval of seeds drawn anew


@dataclass(frozen=True)
class Recipe:
    """How a number is made of runs, which are folders of results."""

    runs: tuple[str, ...]
    each: Each
    join: Join = lambda only: float(only)
    alike: bool = True  # same robot, task, physics, lengths and numbers of rollouts
    paired: bool = False  # the same agents: joined seed by seed, then the median is taken


@dataclass(frozen=True)
class Found:
    """A number made of runs, and how far it can be trusted."""

    seeds: tuple[int, ...]  # how many of each run; of pairs, how many pairs
    middle: float
    low: float | None = None  # None: a run has one seed, which has no interval
    high: float | None = None

    @property
    def interval(self) -> str:
        """What low and high are."""
        if self.low is None:
            return "none"
        return "95 % bootstrap" if min(self.seeds) >= DRAWN else "range"

    @property
    def counts(self) -> str:
        """How many seeds: one number where all runs have as many."""
        if len(set(self.seeds)) == 1:
            return f"n = {self.seeds[0]}"
        first, *others = self.seeds
        return f"{first} against {' and '.join(map(str, others))}"

    def said(self, form: Callable[[float], str] = short) -> str:
        """For a table; `form` writes a number."""
        middle = form(self.middle)
        if self.low is None or self.high is None:
            return f"{middle} ({self.counts})"
        low, high = form(self.low), form(self.high)
        if self.interval != "range":
            return f"{middle} [{low}, {high}] ({self.counts})"
        if len(self.seeds) == 1:
            return f"{low} and {high} ({self.counts})"
        return f"{middle}, range {low} to {high} ({self.counts})"

    def plain(self) -> dict[str, Any]:
        """As JSON, which has no infinity."""
        numbers = {"middle": self.middle, "low": self.low, "high": self.high}
        told = {
            name: it if it is None or np.isfinite(it) else str(it) for name, it in numbers.items()
        }
        return {"seeds": list(self.seeds), **told, "interval": self.interval}


def read(folder: Path, runs: Sequence[str]) -> dict[str, list[Results]]:
    """The seeds of every run that is there: finished, each once, all of the same settings, and
    measured in the physics that the name of their folder ends in, if it does."""
    found = {run: sorted((folder / run).glob(name("*"))) for run in dict.fromkeys(runs)}
    return {run: _one(folder / run, files) for run, files in found.items() if files}


def made(recipe: Recipe, seeds: Mapping[str, Sequence[Results]], name: str) -> Found | None:
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
    counts = tuple(map(len, rows))
    if min(counts) == 1:
        return Found(counts, float(middle))
    return Found(counts, float(middle), *_interval(rows, join))


def _interval(rows: Sequence[Array], join: Join) -> tuple[float, float]:
    """Of seeds drawn anew; where they are too few for that, of one seed of each run.

    Where some of it is a share of nothing, the interval is open above.
    """
    if min(map(len, rows)) < DRAWN:
        every = _known([join(*chosen) for chosen in product(*rows)])
        return float(every.min()), float(every.max())
    rng = np.random.default_rng(0)
    again = [np.median(it[rng.integers(0, len(it), (DRAWS, len(it)))], axis=1) for it in rows]
    drawn = _known([join(*medians) for medians in zip(*again, strict=True)])
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(drawn, (tail, 100 - tail), method="inverted_cdf").tolist()
    return low, high


def _known(numbers: Sequence[float]) -> Array:
    return np.where(np.isnan(numbers), np.inf, numbers)


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
    seeds = list(groups[0].seeds)
    _as_named(place, seeds[0])
    return seeds


def _as_named(place: Path, one: Results) -> None:
    """A folder that is named for other physics holds what was measured there, nothing else."""
    named = PHYSICS.get(place.name.rpartition("-")[2])
    if named is None:
        return
    option, want = named
    have = f"{one.source.tick:g}" if option == "--tick" else one.source.engine
    if have != want:
        raise UserError(
            f"{place} is named for physics `{option} {want}`, but was measured with `{option} "
            f"{have}`: give the folder another name, or measure the agents there"
        )
