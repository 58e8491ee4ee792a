"""The task of RQ1 and RQ2 (App. D.1): run forward; phi reads the posture.

r = r_upr + 1[r_upr > 0.7] (5 r_velx - 0.5 r_vely - 0.5 r_yaw)
    - 0.001 (r_speed + r_work + r_smooth),   c = 0.7 - r_upr.
The paper calls r_upr > 0.7 safe; at exactly 0.7 the cost is 0, which counts as safe here, so that
the safe set is written once, as cost <= 0.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from ursa.config import ForwardConfig
from ursa.errors import UserError, unknown
from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.task import terms
from ursa.task.task import Task

Array = np.ndarray
Shaping = Callable[[Float[Array, " n"]], Float[Array, " n"]]


OVERSHOOT = 0.2  # rad beyond a hard limit that is still a posture
LOWEST_RANGE = 0.1  # m of height that even a robot without legs may span


def forward(spec: RobotSpec, config: ForwardConfig | None = None) -> Task:
    """The forward task for a robot; every choice is turned into a function here, once."""
    config = config or ForwardConfig()
    columns, names = _inputs(spec, config.joints)  # first: the rest a config's own check tells too
    if not 0 < config.desired_speed < float("inf"):
        raise UserError(f"forward.desired_speed = {config.desired_speed} m/s, want > 0")
    speed = _chosen("speed", config.speed)(config.desired_speed)
    lateral, yaw = _chosen("lateral", config.lateral), _chosen("yaw", config.yaw)

    def reward(before: Reading, after: Reading) -> Mapping[str, Float[Array, " n"]]:
        upright = terms.upright(after)
        gate = (upright > terms.GATE).astype(float)
        return {
            "upright": upright,
            "forward": 5.0 * gate * speed(terms.forward_speed(after)),
            "lateral": -0.5 * gate * lateral(terms.lateral_speed(after)),
            "yaw": -0.5 * gate * yaw(terms.yaw_rate(after)),
            **terms.effort(before, after),
        }

    def posture(reading: Reading) -> Float[Array, "n P"]:
        return np.column_stack([reading.joint_angle[:, columns], reading.height])

    return Task(
        name="forward",
        reward=reward,
        cost=_chosen("cost", config.cost),
        posture=posture,
        posture_names=names,
        posture_range=_ranges(spec, names),
    )


def _chosen(what: str, word: str) -> Any:
    if word not in CHOICES[what]:
        raise unknown(f"forward.{what}", word, CHOICES[what])
    return CHOICES[what][word]


def _inputs(spec: RobotSpec, joints: tuple[str, ...]) -> tuple[slice | list[int], tuple]:
    if not joints:
        return slice(None), (*spec.joint_names, "height")
    for name in joints:
        if name not in spec.joint_names:
            raise unknown(f"joint of {spec.name} for forward.joints", name, spec.joint_names)
    return [spec.joint_names.index(name) for name in joints], (*joints, "height")


def _ranges(spec: RobotSpec, names: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """Joints can overshoot their limits a little: contacts are soft, and so are encoders."""
    limits = {j.name: (j.lower - OVERSHOOT, j.upper + OVERSHOOT) for j in spec.joints}
    return tuple(
        {**limits, "height": (0.0, max(2 * spec.rest_height, LOWEST_RANGE))}[name] for name in names
    )


def _clipped(desired_speed: float) -> Shaping:
    return lambda speed: np.clip(speed / desired_speed, -1.0, 1.0)


def _raw(desired_speed: float) -> Shaping:
    return lambda speed: speed


def _printed(reading: Reading) -> Float[Array, " n"]:
    return terms.GATE - terms.upright(reading)


def _hinged(reading: Reading) -> Float[Array, " n"]:
    return np.maximum(terms.GATE - terms.upright(reading), 0.0)


_SIZE: Mapping[str, Shaping] = {"squared": np.square, "absolute": np.abs}
CHOICES: Mapping[str, Mapping[str, Callable]] = {
    "speed": {"clipped": _clipped, "raw": _raw},
    "lateral": _SIZE,
    "yaw": _SIZE,
    "cost": {"printed": _printed, "hinged": _hinged},
}
