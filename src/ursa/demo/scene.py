"""A scene: robots that hold a skill each, what came of it, and how they looked meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ursa.evaluate.crowd import Damages, hurt
from ursa.evaluate.definitions import SETTLE
from ursa.evaluate.rollout import Choose, Rollouts, recorded
from ursa.robot.reading import Reading
from ursa.run.agent import Agent

Array = np.ndarray
SECONDS, EVERY = 4.0, 2  # of video; control steps from one picture of it to the next


@dataclass(frozen=True)
class Scene:
    """What robots did and how they looked, from when they were settled on."""

    rollouts: Rollouts
    readings: tuple[Reading, ...]  # one every EVERY control steps


def seen(agent: Agent, z: Float[Array, "m D"], damages: Sequence[Damages] | None = None) -> Scene:
    """Rollouts of skills, one robot each, and pictures' worth of readings."""
    robots = agent.arena(len(z))
    kept: list[Reading] = []
    last = SETTLE + round(SECONDS / robots.body.spec.period)
    act = acting(agent, z)

    def choose(outcome, step: int) -> Array:
        if SETTLE <= step < last and (step - SETTLE) % EVERY == 0:
            kept.append(outcome.reading)
        return act(outcome, step)

    try:
        hurt(robots, damages if damages is not None else [()] * len(z))
        return Scene(recorded(robots, choose, agent.feature), tuple(kept))
    finally:
        robots.close()


def acting(agent: Agent, z: Float[Array, "m D"]) -> Choose:
    """The agent's actions for robots that hold these skills, from their first observation on."""
    agent.reset()
    return lambda outcome, _: agent.act(outcome.observation, z)
