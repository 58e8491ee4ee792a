"""Pose: where the gate leads the joints in each mode, ramps included."""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ursa.gate.limits import Limits

Array = np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Pose:
    """The target told last, and the ramp under way. No target: the motors were limp."""

    target: Float[Array, " A"] | None = None  # rad
    start: Float[Array, " A"] | None = None  # of the ramp
    goal: Float[Array, " A"] | None = None
    done: float = 0.0  # seconds of the ramp that are over
    span: float = 0.0  # seconds it takes


def ramp(limits: Limits, start: Float[Array, " A"], goal: Float[Array, " A"]) -> Pose:
    """A ramp that begins exactly at `start`, without a jerk and never above `ramp_speed`."""
    start = np.array(start, float)
    farthest = float(np.abs(goal - start).max())
    # Half a cosine is fastest in the middle: pi/2 times its mean speed.
    span = max(limits.ramp_time, math.pi / 2 * farthest / limits.ramp_speed)
    return Pose(target=start, start=start, goal=np.array(goal, float), span=span)


def advance(pose: Pose, elapsed: float) -> Pose:
    """The ramp, `elapsed` seconds later."""
    return replace(pose, done=min(pose.done + elapsed, pose.span))


def finished(pose: Pose) -> bool:
    return pose.done >= pose.span


def along(pose: Pose) -> Float[Array, " A"]:
    """Where the ramp is now."""
    assert pose.start is not None
    assert pose.goal is not None
    share = 0.5 - 0.5 * math.cos(math.pi * pose.done / pose.span) if pose.span else 1.0
    return pose.start + share * (pose.goal - pose.start)
