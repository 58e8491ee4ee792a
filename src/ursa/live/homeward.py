"""Homeward: the way back to the middle of the arena, by script or with the skills of an agent."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ursa.gate.mailbox import Pose
from ursa.live import arena as floor
from ursa.live import guided
from ursa.live.homing import step_home
from ursa.robot.reading import up_of
from ursa.robot.spec import RobotSpec

Array = np.ndarray
UPRIGHT = 0.55  # of the body's up: below it a robot lies; the gate thinks so below cos(1.0)


class Script:
    """A trot that turns; needs no agent."""

    def __init__(self, spec: RobotSpec, disc: floor.Arena) -> None:
        self._spec, self._disc, self._step = spec, disc, 0

    def begin(self) -> None:
        self._step = 0

    def __call__(self, observation: Float[Array, "1 O"], pose: Pose) -> Float[Array, " A"]:
        step, self._step = self._step, self._step + 1
        return step_home(self._spec, self._disc, step, pose.x, pose.y, pose.yaw)


class Guide:
    """An agent trained to walk at a velocity: its nearest skill to the one that leads home."""

    def __init__(self, folder: str, spec: RobotSpec, disc: floor.Arena) -> None:
        from ursa.run.agent import Agent  # JAX, and a file to read: only if it is wanted

        self._agent, self._disc = Agent.load(guided.checked(folder, spec.name)), disc
        self._skills = self._agent.skills
        # Compiled now: on the way it would stop the robot for seconds.
        self._agent.act(np.zeros(self._agent.observation_size), self._skills[0])
        self._agent.reset()

    def begin(self) -> None:
        self._agent.reset()

    def __call__(self, observation: Float[Array, "1 O"], pose: Pose) -> Float[Array, " A"]:
        wanted = np.array(floor.velocity(self._disc, pose.x, pose.y, pose.yaw))
        nearest = np.square(self._skills[:, :2] - wanted).sum(axis=1).argmin()
        return self._agent.act(observation[0], self._skills[nearest])


def upright(quaternion: Float[Array, " 4"]) -> bool:
    """Whether a robot stands more or less; one that lies must get up by what it has learnt."""
    return float(up_of(quaternion[:, None])[2, 0]) > UPRIGHT


def guide(folder: str, spec: RobotSpec, disc: floor.Arena) -> Any:
    """Who leads home: the agent in a folder, or the script."""
    return Guide(folder, spec, disc) if folder else Script(spec, disc)
