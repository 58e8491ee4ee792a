"""Charge: what is left in the battery, and what a low one does to the motors.

The A1's state packet does not tell it, so the emulator's robot does as a real one: its motors get
weaker, and at nothing it is off and silent. Our numbers: 90 Wh as on the data sheet, 30 W for the
computers, motors of 70 %, and 0.05 W per (N m)^2 in a coil that holds.
"""

import numpy as np
from jaxtyping import Float

Array = np.ndarray
CAPACITY = 90 * 3600.0  # J
IDLE = 30.0  # W
EFFICIENCY = 0.7
COPPER = 0.05  # W per (N m)^2
SAG = 0.2  # of voltage, from full to empty: as much less torque and speed


def drained(
    share: float, torque: Float[Array, " A"], speed: Float[Array, " A"], seconds: float
) -> float:
    """The share left a moment later; 0 is empty."""
    work = float(np.maximum(torque * speed, 0.0).sum()) / EFFICIENCY
    power = IDLE + work + COPPER * float(torque @ torque)
    return max(0.0, share - power * seconds / CAPACITY)


def strength(share: float) -> float:
    """What the motors give of what they could: 1 when full, 0 when off."""
    return 1.0 - SAG * (1.0 - share) if share > 0 else 0.0
