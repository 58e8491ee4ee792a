"""UrsaEnv: one robot behind Gymnasium's interface, with the same meaning as the vector one."""

from typing import Any

import gymnasium
import numpy as np

from ursa.env.vector import UrsaVectorEnv
from ursa.robot.spec import RobotSpec
from ursa.task.task import Task


class UrsaEnv(gymnasium.Env):
    """One robot; the arguments are those of `ursa.env.arena.arena`, and render_mode.

    Never `terminated`; `truncated` says that the robot needs a hand.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(
        self,
        robot: str | RobotSpec = "a1",
        task: str | Task = "forward",
        *,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self._robots = UrsaVectorEnv(1, robot, task, render_mode=render_mode, **options)
        self.render_mode = render_mode
        self.metadata = {
            name: self._robots.metadata[name] for name in ("render_modes", "render_fps")
        }
        self.observation_space = self._robots.single_observation_space
        self.action_space = self._robots.single_action_space
        self._stuck = False

    @property
    def arena(self):
        return self._robots.arena

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Carry a robot that needed a hand back to the middle, as it is.

        Otherwise, and whenever a seed is given, set it down at rest.
        """
        super().reset(seed=seed)
        carry = {"reset_mask": np.ones(1, bool)} if self._stuck and seed is None else None
        observation, info = self._robots.reset(seed=seed, options=carry)
        self._stuck = False
        return observation[0], _first(info)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One control step."""
        observation, reward, _, stuck, info = self._robots.step(np.asarray(action)[np.newaxis])
        self._stuck = bool(stuck[0])
        return observation[0], float(reward[0]), False, self._stuck, _first(info)

    def render(self) -> np.ndarray | None:
        """A picture of the robot."""
        pictures = self._robots.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        self._robots.close()


def _first(info: dict[str, Any]) -> dict[str, Any]:
    """The information of the only robot, without the axis of robots."""
    return {
        name: _first(value) if isinstance(value, dict) else value[0] for name, value in info.items()
    }
