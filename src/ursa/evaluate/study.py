"""Study: how thoroughly agents are measured, and what that means for one agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ursa.env.arena import Arena, arena_of
from ursa.errors import UserError, unknown
from ursa.evaluate import damage, tracking
from ursa.evaluate.crowd import Damages
from ursa.evaluate.definitions import AGAIN, FEW, GRID, REPEATS, ROLLOUTS, STEPS, TRIALS
from ursa.evaluate.skills import chosen, known
from ursa.robot import registry
from ursa.robot.damage import scenarios
from ursa.robot.number import number, whole
from ursa.robot.spec import RobotSpec
from ursa.run.agent import Agent

Array = np.ndarray
FAILURES = ("frozen", "limp")  # the paper does not say which; both are measured alike
ON_ROBOT = "live.json"  # what only the folder of a run on a robot holds
CHUNK = {"pybullet": 64}  # robots at a time, where 512 are too many: Bullet has a world for each


def refuse_unknown_body(body: str | None) -> None:
    """A physics that is none; unset is always right."""
    if body is not None and body not in registry.ENGINES:
        raise unknown("body", body, registry.ENGINES)


@dataclass(frozen=True, kw_only=True)
class Study:
    """What is measured; the defaults are those that claims are made by."""

    failure: str = "frozen"  # how joints fail, one of FAILURES
    skills: int = ROLLOUTS  # rollouts without damage, of skills or of few skills again and again
    engine: str | None = None  # whose physics; None: that of the training
    tick: float | None = None  # of the physics, s; None: that of the training, or the engine's own
    damages: Mapping[str, str] = field(default_factory=lambda: scenarios("simulated"))
    trials: int = TRIALS
    again: int = AGAIN
    grid: int = GRID
    repeats: int = REPEATS
    chunk: int = 0  # robots at a time; 0: what suits the engine
    seed: int = 0  # of the fixed list of chances

    def __post_init__(self) -> None:
        for name, least in (("skills", FEW), ("trials", 1), ("again", 1), ("repeats", 1)):
            whole(name, getattr(self, name), least=least)
        whole("grid", self.grid, least=2)
        whole("chunk", self.chunk, least=0)
        if self.tick is not None:
            number("tick", self.tick, above=0)
        refuse_unknown_body(self.engine)
        if self.failure not in FAILURES:
            raise unknown("failure", self.failure, FAILURES)


QUICK = Study(skills=64, grid=7, repeats=1)  # an impression, not what claims are made by


@dataclass(frozen=True)
class Job:
    """A study of one agent, worked out: refusals happen here, before the first rollout."""

    agent: Agent
    study: Study
    z: Float[Array, "m D"]
    cases: Mapping[str, Damages]  # scenarios, the undamaged first; empty where none apply
    rows: int  # of z that are candidates after damage
    follows: bool  # velocity commands are tracked
    tick: float
    yardstick: Agent | None = None  # whose features tell the skills of a method without any apart

    @property
    def engine(self) -> str:
        """Whose physics."""
        return self.study.engine or self.agent.config.engine

    @property
    def chunk(self) -> int:
        """Robots in one arena."""
        return self.study.chunk or CHUNK.get(self.engine, ROLLOUTS)

    @property
    def steps(self) -> int:
        """Control steps that it will take."""
        study, hurt = self.study, max(0, len(self.cases) - 1)
        after = hurt * self.rows + len(self.cases) * study.again
        return STEPS * (len(self.z) + after + self.follows * study.repeats * study.grid**2)

    def place(self, count: int) -> Arena:
        """So many robots at the agent's task, in the study's physics."""
        return place(self.agent, self.study, count)


def job(agent: Agent, study: Study, yardstick: Agent | None = None) -> Job:
    """What a study asks of an agent."""
    if yardstick is not None:
        _refuse_other_features(agent, yardstick)
    robots = place(agent, study, 1)
    spec = robots.body.spec
    tick = getattr(getattr(robots.body, "engine", None), "tick", agent.config.tick)
    robots.close()
    z, own = chosen(agent, study.skills), known(agent)
    # A repertoire's skills are tried once each; whoever has few repeats them up to the trials.
    rows = own if agent.repertoire is not None else max(own, study.trials)
    cases = damage.scenarios(spec, failing(study.damages, study.failure)) if own else {}
    return Job(
        agent=agent,
        study=study,
        z=z,
        cases=cases,
        rows=min(rows, len(z)),
        follows=tracking.follows(agent),
        tick=float(tick),
        yardstick=yardstick if agent.repertoire is None else None,
    )


def _refuse_other_features(agent: Agent, yardstick: Agent) -> None:
    """A yardstick has features, and reads them from the same postures."""
    mine, theirs = agent.config, yardstick.config
    if yardstick.repertoire is None:
        raise UserError(f"yardstick: an agent of {theirs.method} has no features; give one of ursa")
    for name in ("robot", "task", mine.task):
        here, there = getattr(mine, name, None), getattr(theirs, name, None)
        if here != there:
            raise UserError(
                f"yardstick: its {name} is {there}, this agent's {here}; give one of the same"
            )


def failing(damages: Mapping[str, str], failure: str) -> Mapping[str, str]:
    """The same places with another failure, under names of their own: they are never mixed."""
    if failure == FAILURES[0]:
        return damages
    return {
        f"{name} {failure}": "+".join(f"{place}:{failure}" for place in text.split("+"))
        for name, text in damages.items()
    }


def place(agent: Agent, study: Study, count: int) -> Arena:
    """Robots of the kind that the agent was trained with."""
    config = agent.config
    refuse_other_body(registry.robot(config.robot), study.engine)
    engine = study.engine or config.engine
    own = registry.tick_in(engine, config.engine, config.tick)
    try:
        return arena_of(
            config, count, engine=engine, tick=own if study.tick is None else study.tick
        )
    except UserError as error:
        raise UserError(f"this agent cannot be measured there: {error}") from None


def refuse_other_body(spec: RobotSpec, body: str | None) -> None:
    """The same, and one that this robot has no body for."""
    refuse_unknown_body(body)
    if body is not None and not spec.legs:
        raise UserError(f"{spec.name} has a body of its own, no {body}: leave out the body")


def refuse_unfinished(folder: Path, agent: Agent) -> None:
    """Numbers of an agent that was still learning are not what a reader takes them for."""
    wanted = agent.config.train.steps
    if agent.steps < wanted:
        raise UserError(
            f"{folder} is unfinished: seed {agent.seed} is at {agent.steps:,} of {wanted:,} steps; "
            f"go on with `{_resuming(folder)}`, or take it as it is with --unfinished"
        )


def _resuming(folder: Path) -> str:
    """The command that goes on with a run; one on a robot goes on there."""
    run = folder.parent if folder.absolute().name == "agent" else folder
    robots = [it for it in (folder, run) if (it / ON_ROBOT).exists()]
    return f"ursa robot train --resume {robots[0]}" if robots else f"ursa train --resume {folder}"
