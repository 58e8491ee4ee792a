"""The point robot's task: go along x, not too fast along y. Its answers are known exactly."""

import numpy as np
from jaxtyping import Float

from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.task.task import Task

Array = np.ndarray
SAFE_SPEED = 0.5  # m/s along y: of the reachable square, the skills below are safe


def point(spec: RobotSpec) -> Task:
    """The same for every robot: only the estimated horizontal velocity is looked at."""
    return Task(
        name="point",
        reward=reward,
        cost=cost,
        posture=posture,
        posture_names=("v_x", "v_y"),
        posture_range=((-2.0, 2.0), (-2.0, 2.0)),
    )


def reward(before: Reading, after: Reading) -> dict[str, Float[Array, " n"]]:
    """The speed along x."""
    return {"forward": after.velocity[:, 0]}


def cost(reading: Reading) -> Float[Array, " n"]:
    """How much too fast along y; negative where it is safe."""
    return reading.velocity[:, 1] - SAFE_SPEED


def posture(reading: Reading) -> Float[Array, "n 2"]:
    """The horizontal velocity."""
    return reading.velocity[:, :2]
