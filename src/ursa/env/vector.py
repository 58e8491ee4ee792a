"""UrsaVectorEnv: n robots behind Gymnasium's vector interface, advanced together.

Reset-free: `terminated` is always False; `truncated[i]` says that robot i needs a hand, which is
`reset(options={"reset_mask": mask})`. Until then it goes on where it is.
"""

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ursa.env.arena import Arena, Outcome, arena
from ursa.errors import UserError, unknown
from ursa.robot.observation import BOUND
from ursa.robot.spec import RobotSpec
from ursa.task.task import Task

RENDER_MODES = ["rgb_array"]


class UrsaVectorEnv(VectorEnv):
    """`num_envs` robots; the remaining arguments are those of `ursa.env.arena.arena`."""

    metadata = {  # noqa: RUF012 (Gymnasium's own name and type)
        "render_modes": RENDER_MODES,
        "render_fps": 20,
        "autoreset_mode": AutoresetMode.DISABLED,
    }

    def __init__(
        self,
        num_envs: int = 1,
        robot: str | RobotSpec = "a1",
        task: str | Task = "forward",
        *,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, *RENDER_MODES):
            raise unknown("render_mode", str(render_mode), RENDER_MODES)
        self.render_mode = render_mode
        self._settings: dict[str, Any] = options | {"robot": robot, "task": task, "count": num_envs}
        self._studio: Any = None
        self.arena = arena(**self._settings)
        self.num_envs = num_envs
        self.metadata = self.metadata | {"render_fps": round(self.arena.body.spec.control_rate)}
        self.single_observation_space, self.single_action_space = spaces(self.arena)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Set all robots down at rest; with a reset_mask, carry the marked ones back instead.

        Physics has no chance in it; a seed is that of the `disturbance`, where there is one.
        """
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask")
        if mask is not None and seed is not None:
            raise UserError("reset: a seed begins anew, a reset_mask goes on; give one of the two")
        if mask is not None:
            outcome = self.arena.help(mask)
        else:
            self._reseed(seed)
            outcome = self.arena.start()
        return outcome.observation, information(self.arena, outcome)

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One control step (50 ms on the A1 and the Go2)."""
        outcome = self.arena.step(np.asarray(actions, dtype=float))
        terminated = np.zeros(self.num_envs, bool)
        info = information(self.arena, outcome)
        return outcome.observation, outcome.reward, terminated, outcome.stuck, info

    def render(self) -> tuple[np.ndarray, ...] | None:
        """One picture per robot."""
        if self.render_mode is None:
            return None
        if self._studio is None:
            from ursa.show.render import Studio  # GL is loaded when somebody looks

            self._studio = Studio(self.arena.body.spec)
        reading = self.arena.reading
        return tuple(self._studio.picture(reading, robot) for robot in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self.arena.close()
        if self._studio is not None:
            self._studio.close()

    def _reseed(self, seed: int | None) -> None:
        if seed is not None and self._settings.get("disturbance") is not None:
            self.arena.close()
            self._settings["seed"] = seed
            self.arena = arena(**self._settings)


def spaces(arena: Arena) -> tuple[Box, Box]:
    """What one robot observes, and what it can do."""
    size = arena.layout.size
    observation = Box(-BOUND, BOUND, (size,), np.float32)
    return observation, Box(-1.0, 1.0, (arena.body.spec.action_size,), np.float32)


def information(arena: Arena, outcome: Outcome) -> dict[str, Any]:
    """What Gymnasium has no place for, one row per robot. `true_...`: for metrics only."""
    reading = outcome.reading
    info = {
        "cost": outcome.cost,
        "safe": outcome.safe,
        "reward_terms": dict(outcome.terms),
        "posture": outcome.posture,
        "interventions": arena.interventions,
        "velocity": reading.velocity,
        "height": reading.height,
        "power": reading.power,
    }
    if reading.truth is not None:
        info["true_position"] = reading.truth.position
        info["true_velocity"] = reading.truth.velocity
    return info
