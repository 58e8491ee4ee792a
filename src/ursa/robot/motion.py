"""Motion: from an action in [-1, 1] to one joint target per physics tick, in four stages.

Affine map onto the joint's action range, low-pass filter at the control rate, straight line
from the last target to the new one over the ticks, and at every tick a clip to the
neighbourhood of the measured angle (done by the engine, which alone sees that angle).
The stages and their constants are those of the DayDreamer A1; each can be switched off.
"""

import math
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float

from ursa.errors import UserError
from ursa.robot.spec import RobotSpec

Array = np.ndarray


@dataclass(frozen=True, kw_only=True)
class MotionConfig:
    """Which stages are on. A stage whose constant the spec leaves out is off in any case."""

    filter: bool = True  # low-pass of spec.filter_cutoff
    interpolate: bool = True  # ramp over the ticks; off: the new target at once
    clip: bool = True  # told to the engine: `tick_clip` at every tick


@dataclass(frozen=True, kw_only=True)
class MotionState:
    """What the stages remember of n robots between two actions."""

    x1: Float[Array, "n A"]  # filter input one step ago, rad
    x2: Float[Array, "n A"]  # two steps ago
    y1: Float[Array, "n A"]  # filter output one step ago: the last joint target
    y2: Float[Array, "n A"]
    fresh: Bool[Array, " n"]  # set down, not yet commanded: there is no last target to ramp from

    @property
    def target(self) -> Float[Array, "n A"]:
        """The joint target the last step ended on."""
        return self.y1


def target_of(spec: RobotSpec, action: Float[Array, "*b A"]) -> Float[Array, "*b A"]:
    """Joint targets of actions; an action beyond [-1, 1] counts as the nearest bound."""
    center, half = spec.action_range
    return center + half * np.minimum(np.maximum(action, -1.0), 1.0)


def action_of(spec: RobotSpec, angle: Float[Array, "*b A"]) -> Float[Array, "*b A"]:
    """The inverse map, unclipped: outside [-1, 1] where the angle is beyond the action range."""
    center, half = spec.action_range
    return (angle - center) / half


def tick_clip(
    target: Float[Array, "*b A"], angle: Float[Array, "*b A"], spec: RobotSpec
) -> Float[Array, "*b A"]:
    """The target brought inside the hard limits, then within spec.tick_clip of the angle.

    This bounds the position error a motor ever sees, and with it the torque, also for a joint
    pushed out of its limits.
    """
    inside = np.minimum(np.maximum(target, spec.of_joints("lower")), spec.of_joints("upper"))
    if spec.tick_clip is None:
        return inside
    return np.minimum(np.maximum(inside, angle - spec.tick_clip), angle + spec.tick_clip)


@lru_cache
def butterworth(cutoff: float, rate: float) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Second-order low-pass (b, a) with a[0] = 1: gain 1 at rest, 0.71 at `cutoff` (both in Hz)."""
    if not 0 < cutoff < rate / 2:
        raise UserError(
            f"filter_cutoff = {cutoff} Hz at a control rate of {rate} Hz: want more than 0 and "
            f"less than half the rate ({rate / 2} Hz); None switches the filter off"
        )
    w = math.tan(math.pi * cutoff / rate)  # bilinear transform, prewarped at the cutoff
    scale = 1 + math.sqrt(2) * w + w * w
    b = np.array([w * w, 2 * w * w, w * w]) / scale
    a = np.array([scale, 2 * (w * w - 1), 1 - math.sqrt(2) * w + w * w]) / scale
    b.flags.writeable = a.flags.writeable = False  # handed out again to whoever asks
    return b, a


def begin(angle: Float[Array, "n A"]) -> MotionState:
    """Robots set down at these measured angles: the filter has been resting there."""
    angle = np.array(angle, dtype=float)
    fresh = np.ones(len(angle), dtype=bool)
    return MotionState(x1=angle, x2=angle, y1=angle, y2=angle, fresh=fresh)


def restart(
    state: MotionState, angle: Float[Array, "n A"], which: Bool[Array, " n"]
) -> MotionState:
    """`begin` for the marked robots; the others go on."""
    begun = begin(angle)
    mixed = {}
    for field in fields(MotionState):
        mine, theirs = getattr(state, field.name), getattr(begun, field.name)
        mixed[field.name] = np.where(which.reshape(-1, *[1] * (mine.ndim - 1)), theirs, mine)
    return MotionState(**mixed)


def advance(
    spec: RobotSpec,
    config: MotionConfig,
    state: MotionState,
    action: Float[Array, "n A"],
    ticks: int,
) -> tuple[MotionState, Float[Array, "n k A"]]:
    """One control step: the joint target of each of its `ticks`, the last one reached exactly."""
    x = y = target_of(spec, action)
    if config.filter and spec.filter_cutoff is not None:
        y = _low_pass(*butterworth(spec.filter_cutoff, spec.control_rate), x, state)
    target = np.empty((len(y), ticks, spec.action_size))
    if config.interpolate:
        start = np.where(state.fresh[:, None], y, state.y1)
        weight = np.arange(1, ticks + 1) / ticks
        np.multiply(weight[None, :, None], (y - start)[:, None, :], out=target)
        target += start[:, None, :]
        target[:, -1] = y
    else:
        target[:] = y[:, None, :]
    fresh = np.zeros_like(state.fresh)
    return MotionState(x1=x, x2=state.x1, y1=y, y2=state.y1, fresh=fresh), target


def _low_pass(b: Array, a: Array, x: Array, state: MotionState) -> Array:
    # Direct form, written as a change of y1 (sum of b = sum of a): a resting filter stays at
    # rest to the last bit, and rounding cannot pile up.
    rest = state.y1
    change = b[0] * (x - rest) + b[1] * (state.x1 - rest) + b[2] * (state.x2 - rest)
    return rest + (change - a[2] * (state.y2 - rest))
