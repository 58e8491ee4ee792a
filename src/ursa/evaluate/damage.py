"""Damage: what is left of an agent's skills when it breaks, and what a few trials make of it.

Every candidate skill is tried under every damage: that is the oracle's view. Whoever adapts sees
only its own trials of them, and what it chooses is then tried afresh.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ursa.adapt.ite import Trial, normalised, search
from ursa.evaluate.crowd import Damages, Roll
from ursa.evaluate.definitions import AGAIN, STEPS, TRIALS
from ursa.evaluate.results import Adapted
from ursa.robot.damage import SOUND, parse
from ursa.robot.spec import RobotSpec

Array = np.ndarray
FRESH = 1_000_000  # chance from here on is kept for trying again what was chosen
# returns of the trials, in the order of the rows -> rows tried, in order, and the one chosen
Adapt = Callable[[Float[Array, " n"]], tuple[list[int], int]]


@dataclass(frozen=True)
class Candidates:
    """Rows that may be tried after damage. A method with few skills repeats them as rows."""

    z: Float[Array, "n D"]
    skills: int  # the first rows, that differ; the others repeat them
    adapt: Adapt


def by_search(z: Float[Array, "n D"], value: Float[Array, " n"], trials: int = TRIALS) -> Adapt:
    """Intelligent trial and error, with what the agent expected of each skill as prior."""
    chart = normalised(z, STEPS * value)

    def adapt(ret: Float[Array, " n"]) -> tuple[list[int], int]:
        found = search(chart, lambda row: Trial(float(ret[row])), trials)
        tried = [it.skill for it in found.attempts]
        return tried, tried[0] if found.best is None else found.best.skill

    return adapt


def by_trying_all(ret: Float[Array, " n"]) -> tuple[list[int], int]:
    """Every row once; the best is chosen, and where no return is a number the first."""
    finite = np.where(np.isfinite(ret), ret, -np.inf)
    return list(range(len(ret))), int(finite.argmax())


def scenarios(spec: RobotSpec, study: Mapping[str, str]) -> dict[str, Damages]:
    """What is broken in each scenario, the undamaged one first; none for a robot without legs."""
    if not spec.legs:
        return {}
    return {SOUND: ()} | {name: parse(text, spec) for name, text in study.items()}


def adapted(
    roll: Roll,
    candidates: Candidates,
    cases: Mapping[str, Damages],
    undamaged: Float[Array, " n"],
    again: int = AGAIN,
) -> tuple[Adapted, ...]:
    """One entry per scenario; `undamaged` are the returns of the rows by a sound robot.

    `roll` makes rollouts of skills, chances and damages (`Crowd.rollouts`).
    """
    hurt = [broken for name, broken in cases.items() if name != SOUND]
    rows = np.arange(len(candidates.z))
    returns = {SOUND: undamaged} | dict(
        zip(
            (name for name in cases if name != SOUND),
            _returns(roll, candidates.z, rows, hurt) if hurt else (),
            strict=True,
        )
    )
    tried = {name: candidates.adapt(returns[name]) for name in cases}
    best = candidates.z[[chosen for _, chosen in tried.values()]]
    fresh = roll(
        np.repeat(best, again, axis=0),
        np.tile(FRESH + np.arange(again), len(cases)),
        [broken for broken in cases.values() for _ in range(again)],
    )
    return tuple(
        Adapted(
            scenario=name,
            ret=returns[name][: candidates.skills],
            tried=np.array(order) % candidates.skills,
            trial_ret=returns[name][order],
            chosen=chosen % candidates.skills,
            again=renewed,
        )
        for (name, (order, chosen)), renewed in zip(
            tried.items(), fresh.ret.reshape(len(cases), again), strict=True
        )
    )


def _returns(
    roll: Roll, z: Float[Array, "n D"], chance: Int[Array, " n"], cases: Sequence[Damages]
) -> Float[Array, "k n"]:
    """Of every row under every damage; the chance of a row is the same in all."""
    count = len(cases)
    found = roll(
        np.tile(z, (count, 1)),
        np.tile(chance, count),
        [broken for broken in cases for _ in range(len(z))],
    )
    return found.ret.reshape(count, len(z))
