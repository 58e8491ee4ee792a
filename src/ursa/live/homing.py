"""Homing: a scripted trot that turns, for walking home without an agent. Nothing is learnt here."""

import math

import numpy as np
from jaxtyping import Float

from ursa.live.arena import Arena, bearing
from ursa.robot import gait
from ursa.robot.spec import RobotSpec

Array = np.ndarray
STRIDE = 0.40  # of a straight trot, in parts of the stretched leg
SPIN = 0.30  # stride on either side, one forward and one back, for a turn on the spot
AHEAD = 0.6  # rad: nearer than this to its course it walks and turns at once


def step_home(
    spec: RobotSpec, arena: Arena, step: int, x: float, y: float, yaw: float
) -> Float[Array, " A"]:
    """The action of one control step on the way to the middle; `step` counts since homing began."""
    return curve(spec, step, *steering(bearing(x, y, yaw)))


def steering(turn: float) -> tuple[float, float]:
    """Strides of the left and the right legs that lead toward a bearing (left is positive)."""
    if abs(turn) > AHEAD:
        spin = math.copysign(SPIN, turn)
        return -spin, spin
    share = turn / AHEAD
    return STRIDE * (1 - max(0.0, share)), STRIDE * (1 + min(0.0, share))


def curve(spec: RobotSpec, step: int, left: float, right: float) -> Float[Array, " A"]:
    """A trot whose left and right legs take strides of their own: equal ones go straight."""
    both = gait.trot(spec, step, stride=left), gait.trot(spec, step, stride=right)
    sides = np.repeat([leg.origin[1] > 0 for leg in spec.legs], 3)
    return np.where(sides, *both)
