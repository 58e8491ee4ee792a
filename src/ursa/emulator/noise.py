"""Noise: what the sensors add to the truth. Sizes of ordinary parts; our choice, not measured."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ursa.gate.wire import State
from ursa.robot.number import number

Array = np.ndarray
DRAWS = 46  # angle, speed, torque 12 each; gyro, acceleration 3 each; the feet 1 each
WIDTHS = {"angle": 12, "speed": 12, "torque": 12, "gyro": 3, "acceleration": 3}


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Standard deviations. Not all zero: a gate takes sensors that never change for frozen ones."""

    angle: float = 0.001  # rad
    speed: float = 0.05  # rad/s
    torque: float = 0.1  # N m
    gyro: float = 0.01  # rad/s
    acceleration: float = 0.1  # m/s^2

    def __post_init__(self) -> None:
        for name in WIDTHS:
            number(f"noise.{name}", getattr(self, name), least=0)


def noisy(noise: Noise, state: State, draw: Float[Array, " w"]) -> State:
    """The state as the sensors tell it; `draw` holds normal numbers, DRAWS of them."""
    told, at = {}, 0
    for name, width in WIDTHS.items():
        told[name] = getattr(state, name) + getattr(noise, name) * draw[at : at + width]
        at += width
    foot = np.maximum(0.0, state.foot_force + draw[at:])
    changed = {**vars(state), **told, "foot_force": foot}
    return State(**changed)
