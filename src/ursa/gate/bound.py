"""Bound: from where a joint should go to what its motor may be told.

The order is fixed: range, reach of the measured angle, rate, and then the torque that the gains
would make of the remaining error. Works on any leading axes. Everything given must be finite.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ursa.gate.limits import Limits
from ursa.gate.modes import Kind
from ursa.gate.packet import KD, KP

Array = np.ndarray


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """A target with the gains to go there, and which bound changed something."""

    target: Float[Array, "*b A"]
    kp: Float[Array, "*b A"]
    kd: Float[Array, "*b A"]
    clamped: dict[Kind, Bool[Array, "*b A"]]


def bounded(
    limits: Limits,
    wanted: Float[Array, "*b A"],
    last: Float[Array, "*b A"],
    angle: Float[Array, "*b A"],
    speed: Float[Array, "*b A"],
    step: float,
    stiffness: float = 1.0,
) -> Bounded:
    """The nearest to `wanted` that is allowed, `step` radians from the `last` target at most.

    A last target outside the range (the robot was switched on that way) may move inwards only.
    """
    lower, upper = np.minimum(limits.lower, last), np.maximum(limits.upper, last)
    inside = np.minimum(np.maximum(wanted, lower), upper)
    near = np.minimum(np.maximum(inside, angle - limits.reach), angle + limits.reach)
    near = np.minimum(np.maximum(near, lower), upper)
    target = np.minimum(np.maximum(near, last - step), last + step)
    kp, kd = gains(limits, target - angle, speed, stiffness)
    clamped = {
        Kind.CLAMPED_RANGE: inside != wanted,
        Kind.CLAMPED_REACH: near != inside,
        Kind.CLAMPED_RATE: target != near,
        Kind.CLAMPED_TORQUE: (kp < _cut(limits.kp * stiffness, KP)) | (kd < _cut(limits.kd, KD)),
    }
    return Bounded(target=target, kp=kp, kd=kd, clamped=clamped)


def gains(
    limits: Limits, error: Float[Array, "*b A"], speed: Float[Array, "*b A"], stiffness: float
) -> tuple[Float[Array, "*b A"], Float[Array, "*b A"]]:
    """kp and kd, as the wire will carry them, that ask for no more than the allowed torque.

    Damping first, it may take all of it; then as much stiffness as is left. Less stiffness than
    that stays inside too, so cutting kp to whole steps last does no harm.
    """
    most = limits.torque
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kd = _cut(np.minimum(limits.kd, most / np.abs(speed)), KD)
        drag = kd * speed
        room = np.where(error > 0, most + drag, most - drag)  # toward the target
        kp = np.minimum(limits.kp * stiffness, np.maximum(room, 0.0) / np.abs(error))
    return _cut(np.where(error == 0, limits.kp * stiffness, kp), KP), kd


def _cut(gain: Array, per_unit: int) -> Array:
    return np.floor(gain * per_unit) / per_unit
