"""Intelligent Trial and Error: which skill to try next, and which was best (paper, 5.3 and D.2).

The paper calls it iterative; the name is that of Cully et al., Nature 521, 2015. The numbers of
the process (length scale, noise, variance 1, kappa) mean something only on a map whose skills
fill the unit box and whose expected returns go from 0 to 1: `normalised` makes one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ursa.adapt.process import Belief, posterior
from ursa.errors import UserError

Array = np.ndarray

KAPPA = 0.05  # deviations that count as promise; that of the Nature paper's experiments


@dataclass(frozen=True)
class Trial:
    """What trying a skill came to. A simulator or a robot tells."""

    ret: float  # sum of rewards
    unsafe: float = 0.0  # share of steps outside the safe set
    aborted: bool = False  # stopped early, for safety
    interruptions: int = 0  # rollouts before it, or all of them, that did not come to their end


@dataclass(frozen=True)
class Attempt:
    """A trial with what was expected of it, in units of returns."""

    number: int  # from 1
    skill: int  # row of the map
    mean: float
    deviation: float
    trial: Trial
    best: int | None  # row of the best skill so far; None until there is one


@dataclass(frozen=True)
class Chart:
    """Skills and what they were expected to return, in units that suit the process."""

    place: Float[Array, "n D"]
    prior: Float[Array, " n"]
    low: float = 0.0  # the return that 0 stands for
    span: float = 1.0  # how much more 1 is


@dataclass(frozen=True)
class Search:
    """All that was tried, and what is believed after it."""

    chart: Chart
    attempts: tuple[Attempt, ...]
    belief: Belief  # in units of the map

    @property
    def best(self) -> Attempt | None:
        """The trial that returned most."""
        return best(self.attempts)

    @property
    def aborted(self) -> int:
        """How many trials were stopped for safety."""
        return sum(it.trial.aborted for it in self.attempts)


def normalised(skills: Float[Array, "n D"], expected: Float[Array, " n"]) -> Chart:
    """The map of skills with an expected return each. What does not vary is put at 0."""
    skills, expected = np.asarray(skills, float), np.asarray(expected, float)
    if not len(skills) or not (np.isfinite(skills).all() and np.isfinite(expected).all()):
        raise UserError("a map needs at least one skill, and finite skills and expected returns")
    low, span = float(expected.min()), float(np.ptp(expected)) or 1.0
    sides = np.ptp(skills, axis=0)
    place = (skills - skills.min(axis=0)) / np.where(sides > 0, sides, 1.0)
    return Chart(place=place, prior=(expected - low) / span, low=low, span=span)


def search(
    chart: Chart,
    trial: Callable[[int], Trial],
    trials: int,
    *,
    kappa: float = KAPPA,
    stop: float | None = None,
    told: Callable[[Attempt], None] | None = None,
) -> Search:
    """Try skills, each at most once, the most promising next; `told` hears of each at once.

    `stop` ends it as soon as the best return is that share of the highest mean on the map (Nature:
    0.9). The paper does without: all trials are made, unless there are fewer skills.
    """
    if trials < 1:
        raise UserError(f"trials = {trials}, want at least 1")
    attempts: list[Attempt] = []
    belief = believe(chart, attempts)
    for number in range(1, min(trials, len(chart.prior)) + 1):
        skill = choose(belief, [it.skill for it in attempts], kappa)
        mean = chart.low + chart.span * float(belief.mean[skill])
        deviation = chart.span * float(belief.deviation[skill])
        attempt = Attempt(number, skill, mean, deviation, trial(skill), None)
        leader = best([*attempts, attempt])
        attempts.append(replace(attempt, best=leader.skill if leader else None))
        belief = believe(chart, attempts)
        if told is not None:
            told(attempts[-1])
        if stop is not None and enough(chart, attempts, belief, stop):
            break
    return Search(chart, tuple(attempts), belief)


def believe(chart: Chart, attempts: Sequence[Attempt]) -> Belief:
    """What the trials say about all skills; one that returned no number says nothing."""
    heard = [it for it in attempts if math.isfinite(it.trial.ret)]
    tried = np.array([it.skill for it in heard], int)
    seen = np.array([it.trial.ret for it in heard], float)
    return posterior(chart.place, chart.prior, tried, (seen - chart.low) / chart.span)


def choose(belief: Belief, tried: Sequence[int], kappa: float = KAPPA) -> int:
    """The most promising skill that was not tried yet; of equals, the first."""
    bound = promise(belief, kappa)
    bound[list(tried)] = -np.inf
    return int(bound.argmax())


def promise(belief: Belief, kappa: float = KAPPA) -> Float[Array, " n"]:
    """Upper confidence bound."""
    return belief.mean + kappa * belief.deviation


def enough(chart: Chart, attempts: Sequence[Attempt], belief: Belief, share: float) -> bool:
    """Whether the best return is at least a share of the highest that is believed possible."""
    leader = best(attempts)
    if leader is None:
        return False
    return (leader.trial.ret - chart.low) / chart.span >= share * float(belief.mean.max())


def best(attempts: Sequence[Attempt]) -> Attempt | None:
    """The trial that returned most, the first of equals; an aborted one only if all were."""
    heard = [it for it in attempts if math.isfinite(it.trial.ret)]
    whole = [it for it in heard if not it.trial.aborted]
    return max(whole or heard, key=lambda it: it.trial.ret, default=None)
