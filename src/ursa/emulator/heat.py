"""Heat: how warm a motor gets from the torque it gives. A coil with one time constant.

Our numbers, not the maker's: half the peak torque for ever ends 45 degrees above the room, most of
it after seven minutes. At `CUT` a motor switches itself off, until it has cooled to `AGAIN`.
"""

import numpy as np
from jaxtyping import Bool, Float

Array = np.ndarray
ROOM = 25.0  # degrees Celsius
RISE = 45.0 / 16.75**2  # degrees per (N m)^2, in the end
TIME = 420.0  # s
CUT, AGAIN = 60.0, 55.0


def cold(joints: int, at: float = 30.0) -> Float[Array, " A"]:
    """Motors before the first step."""
    return np.full(joints, at)


def warmed(
    temperature: Float[Array, " A"], torque: Float[Array, " A"], seconds: float
) -> Float[Array, " A"]:
    """The temperatures a moment later."""
    goal = ROOM + RISE * torque * torque
    return temperature + (goal - temperature) * (seconds / TIME)


def cut_out(temperature: Float[Array, " A"], off: Bool[Array, " A"]) -> Bool[Array, " A"]:
    """Which motors are off for being too hot."""
    return (temperature >= CUT) | (off & (temperature > AGAIN))
