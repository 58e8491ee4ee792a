"""Tracking: how well velocity commands are followed (paper, RQ3).

Commands are a grid over the box of all known skills. What came of them is measured on the true
state: an estimator may be fooled.
"""

import numpy as np
from jaxtyping import Bool, Float

from ursa.evaluate.crowd import Roll
from ursa.evaluate.definitions import NEAR, separation
from ursa.evaluate.results import Tracked
from ursa.evaluate.rollout import Rollouts
from ursa.run.agent import Agent

Array = np.ndarray
VELOCITIES = ("forward_speed", "yaw_rate")  # what phi must read, and be


def follows(agent: Agent) -> bool:
    """Whether a skill of this agent is a velocity command."""
    place = agent.arena()
    names = place.task.posture_names
    place.close()
    known = agent.repertoire
    return (
        names == VELOCITIES
        and agent.config.skill.feature == "identity"
        and known is not None
        and int(known.filled) > 0
    )


def commands(skills: Float[Array, "n D"], grid: int) -> Float[Array, "c D"]:
    """A grid over the bounding box of the skills, `grid` values along each axis."""
    axes = np.linspace(skills.min(axis=0), skills.max(axis=0), grid, axis=-1)
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, skills.shape[1])


def reachable(
    command: Float[Array, "c D"],
    skills: Float[Array, "n D"],
    ruler: Float[Array, "D D"],
    delta: float,
) -> Bool[Array, " c"]:
    """Commands with a known skill within two thresholds."""
    near = [separation(skills, one[None], ruler).min() for one in command]
    return np.asarray(near) <= NEAR * delta


def tracked(
    roll: Roll,
    skills: Float[Array, "n D"],
    ruler: Float[Array, "D D"],
    delta: float,
    grid: int,
    repeats: int,
) -> tuple[Tracked, Rollouts]:
    """Every command `repeats` times, reachable or not; and the rollouts themselves."""
    command = commands(skills, grid)
    chance = np.arange(repeats * len(command))
    found = roll(np.repeat(command, repeats, axis=0), chance)
    shape = (len(command), repeats, len(VELOCITIES))
    late = np.column_stack([found.speed, found.yaw_rate])
    kept = Tracked(
        command=command,
        reachable=reachable(command, skills, ruler, delta),
        late=late.reshape(shape),
        whole=found.whole.reshape(shape),
    )
    return kept, found
