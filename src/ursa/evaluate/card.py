"""A model card: what an agent is and what was measured of it, written from files alone."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import numpy as np

import ursa
from ursa.config import Config
from ursa.evaluate import judged, shown
from ursa.evaluate.coverage import coverage
from ursa.evaluate.results import Results
from ursa.evaluate.statistics import bootstrap, finite, short
from ursa.robot.registry import SOLID, robot
from ursa.run.agent import Agent
from ursa.task.task import Task

EXACT = "measured as shipped"
LIMITS = (
    "Learnt and measured in simulation; it has not moved a real robot. Gains, limits and delays of "
    "yours may differ: try it on the emulator first, with somebody at the stop button.",
    "Flat floor, no pushes, no load; nothing is promised for other ground.",
    "Skills are what it found by itself, not all of them safe: the table has the share of rollouts "
    "that are, without a single step whose cost is above 0; such a step need not be a fall.",
    "It carries no critics: it acts and adapts, it cannot go on learning.",
)
THROUGH = (
    "It learnt where links of the robot pass through each other, and in some skills legs may "
    "overlap. Where they collide it may earn less: the table has how much, if that was measured."
)


def _rank(mine: Results, seeds: Sequence[Results]) -> str:
    """Where it stands among the seeds, so that nobody takes the best for the usual."""
    if len(seeds) < 2 or not all(judged.knows(it) for it in seeds):
        return ""
    share = judged.achieved(mine).mean()
    better = sum(judged.achieved(it).mean() > share for it in seeds)
    return f"; by the share of achieved skills number {better + 1} of {len(seeds)}"


def card(
    name: str,
    agent: Agent,
    mine: Results,
    seeds: Sequence[Results],
    exact: bool,
    elsewhere: Mapping[str, Sequence[Results]] = MappingProxyType({}),
) -> str:
    """The card of one agent among the seeds it was trained with.

    `elsewhere`: the same agents in other physics, under what `believable.PHYSICS` says of it.
    """
    config, source = agent.config, mine.source
    place = agent.arena()
    judge = place.task
    place.close()
    known = agent.repertoire
    count = 0 if known is None else int(known.filled)
    others = ", ".join(str(it.source.seed) for it in seeds)
    kind = config.skill.feature
    rows = {
        "robot": config.robot,
        "method": config.method,
        "task": config.task,
        "reward r and cost c": f"{_formula(judge)}; safe where c is at most 0",
        "choices in them": _choices(getattr(config, config.task, None)),
        "features": f"{kind} of {', '.join(judge.posture_names)}",
        "skills": f"{count} in the repertoire, {agent.skills.shape[1]} numbers each",
        "control steps": f"{agent.steps:,} of {config.train.steps:,}",
        "seeds": f"this is seed {agent.seed} of {others}{_rank(mine, seeds)}",
        "physics": f"{source.engine}, step {1e3 * source.tick:g} ms",
        "numbers": "networks in 16 bits (bfloat16); "
        + (EXACT if exact else "measured before they were cut to 16 bits"),
        "made by": f"ursa {ursa.__version__}",
        "licence": "Apache-2.0, like the code",
    }
    table = [f"| {key} | {value} |" for key, value in rows.items()]
    return "\n".join(
        [
            f"# {name}",
            "",
            "| | |",
            "|---|---|",
            *table,
            "",
            "## Measured",
            "",
            f"{len(mine.skills.ret)} rollouts of 250 steps from standing, a skill held in each "
            "(definitions: `ursa/evaluate/definitions.py`). All seeds: "
            f"{'both' if len(seeds) == 2 else 'median [95 % bootstrap]'}.",
            "",
            f"| | this seed | all {len(seeds)} |",
            "|---|---|---|",
            *(_line(key, measure, mine, seeds) for key, measure in _measures(mine).items()),
            *_other_physics(mine, seeds, elsewhere),
            "",
            "## Limits",
            "",
            *(f"- {it}" for it in (*LIMITS, *_overlap(config))),
            "",
        ]
    )


def _overlap(config: Config) -> tuple[str, ...]:
    """What is to be said of legs, if it has any that may overlap."""
    return (THROUGH,) if robot(config.robot).legs and config.engine != SOLID else ()


def _measures(mine: Results) -> dict[str, Callable[[Results], float]]:
    spec = robot(mine.source.robot)
    found: dict[str, Callable[[Results], float]] = {
        "return, median skill": lambda it: float(np.median(_returns(it))),
        "return, best skill": lambda it: float(_returns(it).max()),
        "forward speed of the fastest safe rollout, m/s": shown.fastest,
        "safe rollouts, share": shown.safe,
        "moving skills, share": lambda it: float(judged.moving(it.skills).mean()),
        "unsafe steps, share": lambda it: float(it.skills.unsafe.mean()),
        "power, W, median": lambda it: float(np.median(it.skills.power)),
    }
    if judged.knows(mine):
        found["achieved skills, share"] = lambda it: float(judged.achieved(it).mean())
        found["missed by, median, in thresholds"] = lambda it: float(
            np.median(judged.miss(it)) / (it.delta or np.nan)
        )
    if mine.tracking is not None and mine.tracking.reachable.any():
        found |= {
            "span of achieved forward speed (5 to 95 %), m/s": shown.span_of(0),
            "span of achieved yaw rate (5 to 95 %), rad/s": shown.span_of(1),
            "commands of a grid near a skill, share": _near,
            "error there, median, m/s": _error(0),
            "error there, median, rad/s": _error(1),
        }
    if spec.legs:
        found["coverage of mean joint angles, safe rollouts"] = lambda it: coverage(
            it.skills.joint_angle[judged.safe(it.skills)], spec
        )
    for k, damage in enumerate(mine.damages):
        found[f"return after eight trials, {damage.scenario}"] = lambda it, k=k: float(
            it.damages[k].again.mean()
        )
    return found


def _line(
    name: str, measure: Callable[[Results], float], mine: Results, seeds: Sequence[Results]
) -> str:
    own = float(finite(measure(mine), name))
    return f"| {name} | {short(own)} | {_every([measure(it) for it in seeds], name)} |"


def _every(values: Sequence[float], name: str) -> str:
    """Of two seeds both: two drawn anew tell no more."""
    if len(values) == 2:
        return " and ".join(short(it) for it in sorted(finite(values, name).tolist()))
    return bootstrap(values, name).said()


def _other_physics(
    mine: Results, seeds: Sequence[Results], elsewhere: Mapping[str, Sequence[Results]]
) -> Iterator[str]:
    """Ratios seed by seed, of those that were measured in both; none if this one was not."""
    for said, found in elsewhere.items():
        there = {it.source.seed: shown.median_return(it) for it in found}
        both = [it for it in seeds if it.source.seed in there]
        if mine.source.seed in there:

            def measure(it: Results, there: Mapping[int, float] = there) -> float:
                return shown.ratio(there[it.source.seed], shown.median_return(it))

            few = "" if len(both) == len(seeds) else f" ({len(both)} of {len(seeds)} seeds)"
            yield _line(f"{said}{few}", measure, mine, both)


def _formula(judge: Task) -> str:
    """What the module of a task says that it rewards: how its second paragraph begins."""
    told = inspect.getdoc(sys.modules[judge.reward.__module__]) or ""
    paragraph = [*told.split("\n\n"), ""][1]
    return " ".join(paragraph.split(".\n")[0].split()).replace("|", "\\|").rstrip(".")


def _choices(section: Any) -> str:
    return ", ".join(f"{k} {_word(v)}" for k, v in asdict(section).items()) if section else "none"


def _word(value: Any) -> str:
    """A setting for people; where a list may name some and names none, all are meant."""
    if isinstance(value, tuple | list):
        return " ".join(map(str, value)) or "all"
    return str(value)


def _returns(it: Results) -> np.ndarray:
    return finite(it.skills.ret, f"returns of seed {it.source.seed}")


def _error(column: int) -> Callable[[Results], float]:
    def error(it: Results) -> float:
        found = shown.tracking_error(column)(it)
        return np.nan if found is None else found

    return error


def _near(it: Results) -> float:
    return 0.0 if it.tracking is None else float(it.tracking.reachable.mean())
