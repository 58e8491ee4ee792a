"""Health: what the robot's own state says about joints, motors, posture and battery over time.

A single odd sample moves nothing; what lasts asks for HOLD, LIE_DOWN or DAMP. Fed with believed
states only (see `seen.py`), so every number here is finite.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from ursa.gate.limits import Limits
from ursa.gate.modes import Event, Kind, Level
from ursa.gate.remote import in_touch
from ursa.gate.wire import SERVO, State

Array = np.ndarray
NEVER = math.inf


@dataclass(frozen=True, kw_only=True)
class Health:
    """What has to be remembered between two states. Times are when something began, or NEVER."""

    outside: Int[Array, " A"]  # states in a row beyond the range
    racing: Int[Array, " A"]  # states in a row too fast
    straining: Float[Array, " A"]  # since when above the peak torque
    heat: Float[Array, " A"]  # mean square torque over the peak's, fading
    time: float = NEVER  # of the last state
    warm: float = NEVER  # since when a motor is warm
    warm_last: float = -NEVER  # when one was warm last
    tilted: float = NEVER  # since when beyond `tilt`
    lowered: float = NEVER  # since when gains are lowered for it
    silent: float = NEVER  # since when the remote is out of touch


def healthy(joints: int) -> Health:
    """Nothing known yet."""
    none = np.zeros(joints, int)
    return Health(
        outside=none, racing=none, straining=np.full(joints, NEVER), heat=np.zeros(joints)
    )


def examine(limits: Limits, now: float, state: State, health: Health) -> Health:
    """Take in a new believed state."""
    beyond = (state.angle < limits.hard_lower - limits.beyond) | (
        state.angle > limits.hard_upper + limits.beyond
    )
    racing = np.abs(state.speed) > limits.overspeed
    straining = np.abs(state.torque) > limits.peak
    elapsed = min(max(now - health.time, 0.0), limits.stale_stop) if health.time < NEVER else 0.0
    load = (state.torque / limits.peak) ** 2
    heat = health.heat + (load - health.heat) * (elapsed / limits.heat_time)
    warm = bool(state.temperature.max() >= limits.warm or heat.max() > limits.heat**2)
    up = _up(state)
    tilted = _since(up < limits.tilted_most, health.tilted, now)
    lowered = health.lowered
    if now - tilted > limits.tilt_time:
        lowered = min(lowered, now)
    elif up > limits.upright_least:
        lowered = NEVER
    return replace(
        health,
        outside=np.where(beyond, health.outside + 1, 0),
        racing=np.where(racing, health.racing + 1, 0),
        straining=np.where(straining, np.minimum(health.straining, now), NEVER),
        heat=heat,
        time=now,
        warm=_since(warm, health.warm, now),
        warm_last=now if warm else health.warm_last,
        tilted=tilted,
        lowered=lowered,
        silent=_since(limits.remote and not in_touch(state.remote), health.silent, now),
    )


def findings(limits: Limits, now: float, state: State, health: Health, armed: float) -> list[Event]:
    """What is wrong; `armed` is since when the motors ought to serve, or NEVER."""
    found = _joints(limits, now, health)
    hottest = float(state.temperature.max())
    if hottest >= limits.hot or now - health.warm > limits.finish:
        found.append(Event(Kind.HOT, Level.LIE_DOWN, _worst(limits, state.temperature, "C")))
    elif health.warm < NEVER:
        found.append(Event(Kind.WARM, Level.COUNT, _worst(limits, state.temperature, "C")))
    if health.lowered < NEVER:
        found.append(Event(Kind.TILT, Level.COUNT, "gains lowered"))
        if now - health.lowered > limits.get_up:
            found.append(Event(Kind.FALLEN, Level.DAMP, "needs a hand"))
    if state.battery is not None and not state.battery >= limits.battery_low:
        enough = state.battery >= limits.battery_stop
        level = Level.COUNT if enough else Level.LIE_DOWN
        found.append(Event(Kind.BATTERY, level, f"{state.battery:.0%} left"))
    if now - armed > limits.obey and (state.mode != SERVO).any():
        found.append(Event(Kind.MOTOR, Level.FAULT, _worst(limits, state.mode != SERVO, "")))
    if now - health.silent > limits.remote_time:
        found.append(Event(Kind.REMOTE_LOST, Level.HOLD))
    return found


def unfit(limits: Limits, now: float, state: State, health: Health) -> str | None:
    """Why the motors must not be switched on now, or None."""
    serious = [event for event in findings(limits, now, state, health, NEVER) if event.level]
    if serious:
        return f"{serious[0].kind}: {serious[0].detail}"
    if state.temperature.max() >= limits.cool:
        return f"motors still at {state.temperature.max():.0f} C, want below {limits.cool:g}"
    if now - health.warm_last < limits.rest:
        return f"motors rest for {limits.rest - (now - health.warm_last):.0f} s more"
    if not upright(limits, state):
        return "tilted: set it upright"
    if state.battery is not None and state.battery < limits.battery_low:
        return f"battery at {state.battery:.0%}, want {limits.battery_low:.0%}"
    return None


def upright(limits: Limits, state: State) -> bool:
    """Whether it may be switched on the way it lies or hangs."""
    return _up(state) >= limits.upright_least


def _joints(limits: Limits, now: float, health: Health) -> list[Event]:
    found = []
    if health.outside.max() >= limits.samples:
        found.append(Event(Kind.JOINT_RANGE, Level.DAMP, _worst(limits, health.outside, "")))
    if health.racing.max() >= limits.samples:
        found.append(Event(Kind.JOINT_SPEED, Level.DAMP, _worst(limits, health.racing, "")))
    strained = now - float(health.straining.min())
    if strained > limits.torque_hold:
        level = Level.DAMP if strained > limits.torque_stop else Level.HOLD
        found.append(Event(Kind.TORQUE, level, _worst(limits, -health.straining, "")))
    return found


def _up(state: State) -> float:
    """Height of the body's up: 1 upright, 0 on its side, -1 on its back."""
    w, x, y, z = state.quaternion.tolist()
    return 1 - 2 * (x * x + y * y) / (w * w + x * x + y * y + z * z)


def _since(holds: bool, since: float, now: float) -> float:
    return min(since, now) if holds else NEVER


def _worst(limits: Limits, values: Array, unit: str) -> str:
    """The joint it is about, for the operator."""
    joint = int(np.argmax(values))
    return f"{limits.spec.joint_names[joint]} {values[joint]:g} {unit}" if unit else (
        limits.spec.joint_names[joint]
    )  # fmt: skip
