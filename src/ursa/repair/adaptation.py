"""Adaptation: an agent, a damage, a few trials; what they found, and whether it holds."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ursa.adapt import ite, process
from ursa.adapt.ite import Attempt, Search, Trial
from ursa.env.arena import Arena
from ursa.errors import UserError, unknown
from ursa.evaluate.crowd import Crowd, Damages, hurt
from ursa.evaluate.damage import FRESH
from ursa.evaluate.definitions import AGAIN, TRIALS
from ursa.evaluate.pilot import Pilot
from ursa.evaluate.study import Study, place, refuse_other_body
from ursa.repair import play as playing
from ursa.repair.past import Past
from ursa.repair.play import NEVER, REPEATS, persistent, player
from ursa.repair.prior import PRIORS, candidates, numbers
from ursa.robot import damage as wounds
from ursa.robot import registry
from ursa.run.agent import Agent

Array = np.ndarray
VERSION = 2  # of adaptation.json
BEFORE = {  # what is said before the map is there
    "value": "compiling, and asking what {} skills promise: half a minute or so ...",
    "measured": "compiling, and trying {} skills undamaged: a minute or so ...",
}
AFTER = "before", "after"  # whose skill the rollouts after the search are
Fresh = Callable[[str, int, Trial], None]  # "before" or "after", from 1, what it came to


@dataclass(frozen=True)
class Again:
    """Fresh rollouts of one skill on the damaged robot."""

    ret: Float[Array, " m"]  # not a number: interrupted or diverged, and no measurement
    unsafe: Float[Array, " m"]  # share of steps
    aborted: int = 0  # stopped early, for safety

    @property
    def measured(self) -> Bool[Array, " m"]:
        """Which of them came to their end."""
        return np.isfinite(self.ret)


@dataclass(frozen=True)
class Adaptation:
    """What became of a damaged robot that tried a few of its skills."""

    damage: str
    body: str  # whose physics
    prior: str  # where the map came from
    skills: Float[Array, "n D"]
    numbers: Int[Array, " n"]  # rows of `Agent.skills` that they are
    search: Search
    before: Again  # the skill that was best before the damage
    after: Again  # the skill that was chosen

    @property
    def first(self) -> int:
        """The skill that was best before the damage, as far as the map knew: a row of the map."""
        return self.search.attempts[0].skill

    @property
    def chosen(self) -> int:
        """The skill that returned most: a row of the map."""
        leader = self.search.best
        assert leader is not None, "an adaptation without a result is refused"
        return leader.skill

    @property
    def skill(self) -> Float[Array, " D"]:
        """The chosen skill, as `Agent.act` takes it."""
        return self.skills[self.chosen]

    @property
    def number(self) -> int:
        """The chosen skill, as `Agent.skills` and `ursa watch --skill` count."""
        return int(self.numbers[self.chosen])


def adapt(
    agent: Agent,
    damage: str,
    trials: int = TRIALS,
    *,
    body: str | None = None,
    robot: Arena | None = None,
    prior: str = "value",
    unsafe_limit: float = NEVER,
    told: Callable[[Attempt], None] | None = None,
    fresh: Fresh | None = None,
    past: Past | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Adaptation:
    """Find a skill for a robot with this damage; `told` hears of each trial at once.

    `body` is another physics than it was trained with; `robot` is one robot of the caller's, real
    perhaps, that makes all rollouts itself and is left open and damaged; one that is interrupted
    there is made again, up to three times, and `fresh` hears of those after the search; what is
    `past` is told and not made. `prior` "value" asks the value function, "measured" tries every
    skill undamaged, in simulation, first. A trial with a larger share of unsafe steps than
    `unsafe_limit` is stopped. `say` hears what is done where it takes a while. Equal calls give
    equal results.
    """
    damages = check(agent, damage, trials, body, robot, prior, unsafe_limit)
    skills = candidates(agent)
    say(BEFORE[prior].format(len(skills)))
    chart = ite.normalised(skills, PRIORS[prior](agent, skills))
    study = Study(engine=body)
    mine = place(agent, study, 1) if robot is None else robot
    try:
        hurt(mine, [damages])
        repeats = 0 if robot is None else REPEATS
        known = past or Past()
        trial = known.first(player(mine, agent.policy, skills, unsafe_limit, repeats))
        search = ite.search(chart, trial, trials, told=told)
        leader = search.best
        if leader is None:
            raise UserError(f"none of {len(search.attempts)} trials returned a finite number")
        rows = (search.attempts[0].skill, leader.skill)
        if robot is None:
            say(f"the best before and the best now again, {AGAIN} times each ...")
            crowd = Crowd(lambda count: place(agent, study, count), agent.policy)
            before, after = (together(crowd, skills[row], damages) for row in rows)
        else:
            before, after = (
                in_turn(robot, agent, skills[row], unsafe_limit, name, fresh, done)
                for name, row, done in zip(AFTER, rows, (known.before, known.after), strict=True)
            )
    finally:
        if robot is None:
            mine.close()
    spec = mine.body.spec
    own = spec.name if robot is not None or not spec.legs else agent.config.engine
    return Adaptation(damage, body or own, prior, skills, numbers(agent), search, before, after)


def together(crowd: Crowd, skill: Float[Array, " D"], damages: Damages) -> Again:
    """Fresh rollouts by as many simulated robots: a chance that no trial had."""
    chance = FRESH + np.arange(AGAIN)
    found = crowd.rollouts(np.tile(skill, (AGAIN, 1)), chance, [damages] * AGAIN)
    return Again(found.ret, found.unsafe)


def in_turn(
    robot: Arena,
    agent: Agent,
    skill: Float[Array, " D"],
    unsafe_limit: float,
    name: str = "",
    fresh: Fresh | None = None,
    known: tuple[Trial, ...] = (),
) -> Again:
    """Fresh rollouts by one robot, of the same chances; nothing is asked that only physics knows.

    What was stopped for safety is counted, and its return is the one `play` gives it.
    """

    def made(chance: int) -> Trial:
        def once() -> Trial:
            return playing.play(
                robot, Pilot(agent.policy, skill[None], np.array([chance])), unsafe_limit
            )

        return persistent(once, REPEATS)

    found = []
    for number in range(AGAIN):
        found.append(known[number] if number < len(known) else made(FRESH + number))
        if fresh is not None:
            fresh(name, number + 1, found[-1])
    ret, unsafe = (np.array(it) for it in zip(*((it.ret, it.unsafe) for it in found), strict=True))
    return Again(ret, unsafe, sum(it.aborted for it in found))


def check(
    agent: Agent,
    damage: str,
    trials: int,
    body: str | None,
    robot: Arena | None,
    prior: str,
    unsafe_limit: float,
) -> Damages:
    """The damage that the text names; refuses what cannot be, before anything moves."""
    spec = registry.robot(agent.config.robot)
    if trials < 1:
        raise UserError(f"trials = {trials}, want at least 1")
    if prior not in PRIORS:
        raise unknown("prior", prior, PRIORS)
    if not 0 <= unsafe_limit <= 1:
        raise UserError(f"unsafe-limit = {unsafe_limit}, want a share of steps from 0 to 1")
    refuse_other_body(spec, body)
    if robot is not None and body is not None:
        raise UserError(f"a robot and body {body}: give one of them, the robot has its own body")
    if robot is not None and (robot.count, robot.body.spec.name) != (1, spec.name):
        raise UserError(
            f"{robot.count} x {robot.body.spec.name}, but this agent adapts one {spec.name}"
        )
    if not damage.strip():
        joints = ", ".join(spec.joint_names[:2])
        raise UserError(f'damage "" breaks nothing: name a joint ({joints} ...), or "undamaged"')
    return wounds.parse(damage, spec)


def as_json(agent: Agent, found: Adaptation) -> dict[str, Any]:
    """Everything about an adaptation, from which its figure can be drawn again.

    Every `row` is one of `Agent.skills`; version 1, which does not say so, counted in its map.
    """
    search, chart, config = found.search, found.search.chart, agent.config
    first, number = int(found.numbers[found.first]), found.number
    return {
        "version": VERSION,
        "robot": config.robot,
        "task": config.task,
        "method": config.method,
        "steps": agent.steps,
        "seed": agent.seed,
        "damage": found.damage,
        "body": found.body,
        "prior": found.prior,
        "length": process.LENGTH,
        "noise": process.NOISE,
        "kappa": ite.KAPPA,
        "trials": [_attempt(it, found) for it in search.attempts],
        "aborted": search.aborted,
        "chosen": {"row": number, "skill": found.skill.tolist()},
        "rollouts": AGAIN,
        "before": {"row": first, **_again(found.before)},
        "after": {"row": number, **_again(found.after)},
        "map": {
            "row": found.numbers.tolist(),
            "skills": found.skills.tolist(),
            "expected": (chart.low + chart.span * chart.prior).tolist(),
            "mean": (chart.low + chart.span * search.belief.mean).tolist(),
            "deviation": (chart.span * search.belief.deviation).tolist(),
        },
    }


def _attempt(it: Attempt, found: Adaptation) -> dict[str, Any]:
    return {
        "number": it.number,
        "row": int(found.numbers[it.skill]),
        "skill": found.skills[it.skill].tolist(),
        "predicted": it.mean,
        "deviation": it.deviation,
        "return": _number(it.trial.ret),
        "unsafe": it.trial.unsafe,
        "aborted": it.trial.aborted,
        "interruptions": it.trial.interruptions,
        "best": None if it.best is None else int(found.numbers[it.best]),
    }


def _again(it: Again) -> dict[str, Any]:
    return {
        "returns": [_number(ret) for ret in it.ret.tolist()],
        "unsafe": it.unsafe.tolist(),
        "aborted": it.aborted,
    }


def _number(value: float) -> float | None:
    """JSON has no word for what is not a number but null."""
    return value if math.isfinite(value) else None
