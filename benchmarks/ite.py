"""What Intelligent Trial and Error costs, and how well it searches maps whose answers are known.

    python -m benchmarks.ite [--json FILE]

A map is 512 evenly scattered skills on the unit square; what they return undamaged is drawn from
a process of length scale 0.2 and scaled to 0 .. 1. Damage takes 0.8 around the skill that was best:
a `disc` of radius 0.2 with a sharp edge, or a `dip`, 0.8 exp(-(d / 0.2)^2 / 2). With an `error` the
prior is wrong by another such draw, 0.1 in root mean square.
Found means that one of the 8 trials is the very skill that returns most after the damage; near,
that one returns at most 0.05 less. The reference tries skills in the order of the prior.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from benchmarks.report import emit, run, seconds
from ursa.adapt import ite
from ursa.adapt.ite import Chart, Trial
from ursa.adapt.process import matern
from ursa.agent.state import begin, policy
from ursa.env.arena import Arena, arena_of
from ursa.evaluate.crowd import Crowd
from ursa.evaluate.definitions import TRIALS
from ursa.evaluate.pilot import Pilot
from ursa.presets import preset
from ursa.repair import adaptation
from ursa.repair.adaptation import adapt
from ursa.run.agent import Agent, Parts
from ursa.run.plan import plan
from ursa.skill.repertoire import Repertoire

MAPS = 100
SKILLS = 512
KNOWN = 4096  # skills of the agent, before thinning
RADIUS, DEPTH, SMOOTH = 0.2, 0.8, 0.2
NEAR = 0.05  # of the prior's range
DAMAGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "disc": lambda distance: (distance <= RADIUS).astype(float),
    "dip": lambda distance: np.exp(-0.5 * (distance / RADIUS) ** 2),
}


@dataclass(frozen=True)
class Outcome:
    """How two searches did on some maps, one row each: ITE, and the prior's order."""

    found: np.ndarray  # (maps, 2) the best skill was tried
    short: np.ndarray  # (maps, 2) how much less the best trial returned

    @property
    def near(self) -> np.ndarray:
        return self.short <= NEAR


def everything() -> None:
    choosing()
    for damage in DAMAGES:
        for error in (0.0, 0.1):
            tell(damage, error, searched(damage, error))
    whole("FL.upper")


def choosing(tried: tuple[int, ...] = (8, 50)) -> None:
    """The time between the end of a trial and the choice of the next."""
    chart, truth = analytic(0, "disc", 0.1)
    for count in tried:
        attempts = ite.search(chart, lambda row: Trial(float(truth[row])), count).attempts

        def next_trial(known=attempts) -> int:
            return ite.choose(ite.believe(chart, known), [it.skill for it in known])

        cost = 1e3 * seconds(next_trial, repeats=101)
        emit(f"choose among {SKILLS} skills after {count} trials", cost, "ms")


def tell(damage: str, error: float, outcome: Outcome) -> None:
    """One line per way of counting; ratios against the prior's order."""
    case = f"{damage}, prior error {error:g}, {len(outcome.short)} maps: "
    for name, marks in (("found", outcome.found), ("near", outcome.near)):
        ours, order = marks.sum(axis=0)
        against = f"the prior's order: {order}"
        emit(case + name, ours, "maps", against, ratio=ours / max(order, 1))
    ours, order = outcome.short.mean(axis=0)
    against = f"the prior's order: {order:.3g}"
    emit(case + "mean shortfall", ours, "of range", against, ratio=ours / order)


def searched(damage: str, error: float, maps: int = MAPS) -> Outcome:
    """Both searches on the maps of seeds 0, 1, ..."""
    found, short = np.zeros((maps, 2), bool), np.zeros((maps, 2))
    for seed in range(maps):
        chart, truth = analytic(seed, damage, error)
        ours = ite.search(chart, lambda row, truth=truth: Trial(float(truth[row])), TRIALS)
        order = np.argsort(-chart.prior, kind="stable")[:TRIALS]
        for column, tried in enumerate(([it.skill for it in ours.attempts], order)):
            found[seed, column] = truth.argmax() in tried
            short[seed, column] = truth.max() - truth[tried].max()
    return Outcome(found, short)


def analytic(seed: int, damage: str, error: float) -> tuple[Chart, np.ndarray]:
    """A map, and what its skills return after the damage."""
    rng = np.random.default_rng([seed, 0x17E])
    place = qmc.Halton(2, rng=rng).random(SKILLS)
    gaps = cdist(place, place)
    factor = np.linalg.cholesky(matern(gaps, SMOOTH) + 1e-9 * np.eye(SKILLS))
    chart = ite.normalised(place, factor @ rng.standard_normal(SKILLS))
    wrong = factor @ rng.standard_normal(SKILLS)
    wrong *= error / np.sqrt(np.square(wrong).mean())
    hurt = DEPTH * DAMAGES[damage](gaps[chart.prior.argmax()])
    return Chart(chart.place, chart.prior), chart.prior + wrong - hurt


def whole(damage: str, name: str = "laptop") -> None:
    """How much of an adaptation is neither simulator nor networks. The first run compiles."""
    agent = newborn(name)
    adapt(agent, damage)
    with clocked(*INSIDE) as inside, clocked((ite, "search")) as trials:
        started = time.perf_counter()
        adapt(agent, damage)
        spent = time.perf_counter() - started
    case = f"adaptation to {damage}, {name} agent, {agent.config.robot}: "
    emit(case + "whole", spent, "s")
    emit(case + "its trials", trials.seconds, "s")
    emit(case + "outside simulator and policy", 100 * (spent - inside.seconds) / spent, "%")


def newborn(name: str) -> Agent:
    """An untrained agent of a preset's size that knows as many skills as the paper's."""
    config = preset(name)
    robot = arena_of(config, 1)
    made = plan(config, robot)
    robot.close()
    state, rng = begin(made.settings, 0), np.random.default_rng(0)
    posture, skill = made.sizes.posture, made.settings.method.skill_size
    known = Repertoire.empty(KNOWN, posture, skill)
    known = known.add(np.zeros((KNOWN, posture)), rng.standard_normal((KNOWN, skill)))
    return Agent(Parts(made, 0, policy(state), state.slow, known, None), seed=0)


@dataclass
class Clock:
    """Seconds spent in what is clocked."""

    seconds: float = 0.0
    depth: int = 0


@contextmanager
def clocked(*functions: tuple[Any, str]) -> Iterator[Clock]:
    """Time spent in functions, each given by owner and name; one within another counts once."""
    clock = Clock()

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **named: Any) -> Any:
            clock.depth += 1
            started = time.perf_counter()
            try:
                return function(*words, **named)
            finally:
                clock.depth -= 1
                if clock.depth == 0:
                    clock.seconds += time.perf_counter() - started

        return call

    with ExitStack() as stack:
        for owner, name in functions:
            stack.enter_context(patch.object(owner, name, timed(getattr(owner, name))))
        yield clock


# Simulator (built, set down, stepped, read) and networks (world model, actor, critic).
INSIDE = (
    (adaptation, "place"),
    (Arena, "start"),
    (Arena, "step"),
    (Pilot, "__init__"),
    (Pilot, "__call__"),
    (Agent, "value"),
    (Crowd, "rollouts"),
)

if __name__ == "__main__":
    run(everything)
