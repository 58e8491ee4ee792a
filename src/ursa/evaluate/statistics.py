"""Statistics: what a few seeds can say, and nothing more than that.

A number that is not finite is never averaged away: whoever meets one says where it was.
Interquartile mean, its bootstrap and the probability of improvement follow Agarwal et al. 2021.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy import stats

from ursa.errors import UserError

Array = np.ndarray
DRAWS = 2000  # of the bootstrap
CONFIDENCE = 0.95
TRIMMED = 0.25  # share of scores that an interquartile mean leaves out at either end
MEDIAN, QUARTILES = "median", "25th to 75th percentile (linear)"
IQM = "interquartile mean [95 % stratified bootstrap]"


class NotFinite(UserError):
    """Something that should be averaged holds a number that is not finite."""


@dataclass(frozen=True)
class Summary:
    """The middle of n numbers and where half of them lie; one number has no interval."""

    n: int
    middle: float
    low: float | None
    high: float | None

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    def said(self, digits: int = 3, scale: float = 1.0) -> str:
        """For a table: middle [low, high]."""
        middle = f"{short(scale * self.middle, digits)}"
        if self.low is None or self.high is None:
            return f"{middle} (n = 1)"
        return f"{middle} [{short(scale * self.low, digits)}, {short(scale * self.high, digits)}]"


def short(value: float, digits: int = 3) -> str:
    """A number for people: some significant digits, no exponent.

    >>> short(1234.5), short(0.012345), short(0), short(0.9997)
    ('1234', '0.0123', '0', '1.00')
    """
    if value == 0 or not np.isfinite(value):
        return "0" if value == 0 else str(value)
    size = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of what it is rounded to
    return f"{value:.{max(0, digits - 1 - size)}f}"


def finite(values: ArrayLike, where: str) -> Float[Array, "..."]:
    """The values as an array, or an error that says where they are not finite."""
    array = np.asarray(values, float)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        first = ", ".join(map(str, bad[0]))
        raise NotFinite(
            f"{where}: {len(bad)} of {array.size} not finite, the first at [{first}]; not averaged"
        )
    return array


def summary(values: ArrayLike, where: str) -> Summary:
    """Median and quartiles over seeds.

    >>> summary([3, 1, 4, 1, 5], "five numbers")
    Summary(n=5, middle=3.0, low=1.0, high=4.0)
    """
    array = finite(values, where).ravel()
    if not array.size:
        raise NotFinite(f"{where}: nothing was measured")
    low, middle, high = np.percentile(array, (25, 50, 75)).tolist()
    return (
        Summary(array.size, middle, low, high) if array.size > 1 else Summary(1, middle, None, None)
    )


def bootstrap(values: ArrayLike, where: str, *, draws: int = DRAWS, seed: int = 0) -> Summary:
    """Median over seeds with the middle 95 % of the medians that seeds drawn anew give.

    >>> bootstrap([2, 2, 2], "three equal seeds")
    Summary(n=3, middle=2.0, low=2.0, high=2.0)
    """
    array = finite(values, where).ravel()
    if not array.size:
        raise NotFinite(f"{where}: nothing was measured")
    if array.size == 1:
        return Summary(1, float(array[0]), None, None)
    rows = np.random.default_rng(seed).integers(0, array.size, (draws, array.size))
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(np.median(array[rows], axis=1), (tail, 100 - tail)).tolist()
    return Summary(array.size, float(np.median(array)), low, high)


def interquartile(
    scores: Float[Array, "n k"], where: str, *, draws: int = DRAWS, seed: int = 0
) -> Summary:
    """Interquartile mean of n seeds on k tasks, with a stratified bootstrap interval.

    The mean is over the middle half of all scores. Seeds are drawn with replacement for each task
    on its own, so every task stays represented; the interval holds the middle 95 % of the means
    that the draws give.
    """
    kept = finite(scores, where)
    seeds, tasks = kept.shape
    mean = float(stats.trim_mean(kept.ravel(), TRIMMED))
    if seeds == 1:
        return Summary(1, mean, None, None)
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, seeds, (draws, seeds, tasks))
    drawn = np.take_along_axis(kept[None], rows, axis=1).reshape(draws, -1)
    means = stats.trim_mean(drawn, TRIMMED, axis=1)
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(means, (tail, 100 - tail)).tolist()
    return Summary(seeds, mean, low, high)


def probability_of_improvement(
    mine: Float[Array, "n k"], theirs: Float[Array, "m k"], where: str
) -> float:
    """How often a seed of mine beats one of theirs, a tie counting half, averaged over tasks."""
    ours, others = finite(mine, where)[:, None], finite(theirs, where)[None]
    return float(np.mean((ours > others) + 0.5 * (ours == others)))


def ccdf(
    scores: Float[Array, " k"], thresholds: Float[Array, " t"], where: str
) -> Float[Array, " t"]:
    """Share of the scenarios whose score lies above each threshold."""
    return (finite(scores, where)[None] > thresholds[:, None]).mean(axis=1)


def ccdf_area(scores: Float[Array, " k"], where: str) -> float:
    """Area under the CCDF from 0 on: the mean of what lies above 0."""
    return float(np.maximum(finite(scores, where), 0).mean())


def degradation(
    damaged: Float[Array, " k"], undamaged: float, where: str
) -> Float[Array, " k"] | None:
    """What is left of the undamaged score; None where that is not positive: a share of what?"""
    whole, left = float(finite(undamaged, where)), finite(damaged, where)
    return left / whole if whole > 0 else None


def spearman(one: Float[Array, " m"], other: Float[Array, " m"], where: str) -> float | None:
    """Rank correlation; None where a column never changes, and so has no order."""
    pair = finite(one, where), finite(other, where)
    if any(column.size < 2 or np.ptp(column) == 0 for column in pair):
        return None
    found = stats.spearmanr(*pair)
    return float(found[0])  # pyright: ignore[reportArgumentType]: scipy says what only at run time


def distance_profile(
    miss: Float[Array, " m"], thresholds: Float[Array, " t"], where: str
) -> Float[Array, " t"]:
    """Share of skills missed by less than each threshold."""
    return (finite(miss, where)[None] < thresholds[:, None]).mean(axis=1)


def performance_profile(
    miss: Float[Array, " m"],
    ret: Float[Array, " m"],
    delta: float,
    thresholds: Float[Array, " t"],
    where: str,
) -> Float[Array, " t"]:
    """Share of all skills that are achieved (missed by at most delta) and earn more than each."""
    achieved = finite(miss, where) <= delta
    return (achieved[None] & (finite(ret, where)[None] > thresholds[:, None])).mean(axis=1)
