"""The task of RQ3 (App. D.3): keep a good posture; phi reads forward speed and yaw rate.

r = r_upr + r_hip + r_upper + r_lower - 0.001 (r_speed + r_work + r_smooth), each posture term
gated by the one before; c = sum_j max(0.7 - r_j, 0).
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from ursa.config import VelocityConfig
from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.task import terms
from ursa.task.task import Task

Array = np.ndarray
SPEEDS = (-2.0, 2.0)  # m/s; a robot of this size and these motors does not go faster
YAW_RATES = (-4.0, 4.0)  # rad/s
# This cost is never negative, so C <= 0 would hold only for a critic without noise.
TOLERANCE = 0.01


def velocity(spec: RobotSpec, config: VelocityConfig | None = None) -> Task:
    """The velocity task for a robot with legs."""
    config = config or VelocityConfig()
    pose = terms.pose(spec)

    def reward(before: Reading, after: Reading) -> Mapping[str, Float[Array, " n"]]:
        upright = terms.upright(after)
        hip, upper, lower = terms.gated(upright, terms.legs(after, pose))
        return {
            "upright": upright,
            "hip": hip,
            "upper": upper,
            "lower": lower,
            **terms.effort(before, after),
        }

    def cost(reading: Reading) -> Float[Array, " n"]:
        return _shortfall(terms.upright(reading), *terms.legs(reading, pose))

    def literal_cost(reading: Reading) -> Float[Array, " n"]:
        upright = terms.upright(reading)
        return _shortfall(upright, *terms.gated(upright, terms.legs(reading, pose)))

    return Task(
        name="velocity",
        reward=reward,
        cost=literal_cost if config.gated else cost,
        posture=posture,
        posture_names=("forward_speed", "yaw_rate"),
        posture_range=(SPEEDS, YAW_RATES),
        tolerance=TOLERANCE,
        swinging=True,
    )


def posture(reading: Reading) -> Float[Array, "n 2"]:
    """(v_x, w_z): how fast the robot goes along its heading, and how fast it turns."""
    return np.column_stack([terms.forward_speed(reading), terms.yaw_rate(reading)])


def _shortfall(*goods: Float[Array, " n"]) -> Float[Array, " n"]:
    """How far the posture terms fall below the gate, summed."""
    return np.maximum(terms.GATE - np.stack(goods), 0.0).sum(axis=0)
