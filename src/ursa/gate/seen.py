"""Seen: the last state of the robot that can be believed, how old it is, and what was wrong since.

Packets may come late, twice, in the wrong order, damaged or full of nonsense. One that is not
newer than the last is dropped; one that cannot follow from the last is bad, and the last good one
stands in for it for a while. The robot's own tick only orders packets; time is the gate's.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ursa.gate.limits import Limits
from ursa.gate.modes import Event, Kind, Level
from ursa.gate.packet import newer
from ursa.gate.wire import Refused, State, doubtful

Array = np.ndarray

# How fast the fields can change, and by how much at once: our choices.
TURN = 0.1, 40.0  # rad, rad/s: of the body
MOVE = 0.05, 32.0  # rad, rad/s: of a joint, one and a half times its no-load speed
WARMTH = 5.0  # degrees from one packet to the next: a motor has mass
MEMORY = 0.1  # s: how long a difference between angle and integrated speed is remembered


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the gate believes of the robot."""

    state: State | None = None  # last good one
    time: float = -math.inf  # of its arrival
    fresh: bool = False  # it came in this cycle
    gap: bool = False  # and after a gap: what was held before it is void
    bad: int = 0  # bad packets in a row since
    changed: float = -math.inf  # when a sensor last said something new
    drift: Float[Array, " A"] | None = None  # rad: angle minus integrated speed, fading


def look(
    limits: Limits, now: float, packet: State | Refused | None, seen: Seen
) -> tuple[Seen, list[Event]]:
    """Take in what arrived in this cycle, and say what is wrong with it or with its absence."""
    events: list[Event] = []
    seen, before = replace(seen, fresh=False, gap=False), seen.time
    if packet is not None:
        reason = _doubt(limits, now, packet, seen, events)
        if reason is None and isinstance(packet, State):
            seen = _believed(limits, now, packet, seen)
            if seen.gap:
                lost = now - before > limits.stale_stop
                level = Level.FAULT if lost else Level.HOLD
                events.append(Event(Kind.GAP, level, f"of {now - before:.3f} s"))
        elif reason:
            seen = replace(seen, bad=seen.bad + 1)
            events.append(Event(Kind.BAD_PACKET, Level.COUNT, reason))
    if seen.state is not None:
        events += _ages(limits, now, seen)
    return seen, events


def _doubt(
    limits: Limits, now: float, packet: State | Refused, seen: Seen, events: list[Event]
) -> str | None:
    """Why a packet is bad, "" if it is merely not news, None if it is good."""
    if isinstance(packet, Refused):
        return f"{packet.reason}: {packet.detail}"
    last = seen.state
    if last is not None and not newer(packet.tick, last.tick):
        if now - seen.time <= limits.stale_stop:
            same = packet.tick == last.tick
            kind = Kind.REPEATED_PACKET if same else Kind.REORDERED_PACKET
            events.append(Event(kind, Level.COUNT, f"tick {packet.tick} after {last.tick}"))
            return ""
        events.append(Event(Kind.RESTARTED, Level.COUNT, f"tick {packet.tick} after {last.tick}"))
    refused = doubtful(packet)
    if refused is not None:
        return f"{refused.reason}: {refused.detail}"
    if last is not None and now - seen.time <= limits.stale_stop:
        # A longer silence excuses no more: a number that stays wrong must not become believable.
        return _jump(packet, last, min(now - seen.time, limits.stale_hold))
    return None


def _jump(packet: State, last: State, elapsed: float) -> str | None:
    """Which field cannot have got from the last good packet to this one."""
    moved = float(np.abs(packet.angle - last.angle).max())
    if moved > MOVE[0] + MOVE[1] * elapsed:
        return f"jump: a joint moved {moved:.2f} rad in {elapsed * 1000:.0f} ms"
    likeness = abs(float(packet.quaternion @ last.quaternion))
    turned = 2 * math.acos(min(likeness, 1.0)) if likeness < 0.9999 else 0.0
    if turned > TURN[0] + TURN[1] * elapsed:
        return f"jump: the body turned {turned:.2f} rad in {elapsed * 1000:.0f} ms"
    warmed = float(np.abs(packet.temperature - last.temperature).max())
    if warmed > WARMTH:
        return f"jump: a motor's temperature changed by {warmed:.0f} C at once"
    return None


def _believed(limits: Limits, now: float, packet: State, seen: Seen) -> Seen:
    last, elapsed = seen.state, now - seen.time
    gap = last is not None and elapsed > limits.stale_hold
    changed, drift = now, np.zeros_like(packet.angle)
    if last is not None and not _differs(packet, last):
        changed = seen.changed
    if last is not None and seen.drift is not None and not gap:
        surprise = packet.angle - last.angle - elapsed * (packet.speed + last.speed) / 2
        drift = (seen.drift + surprise) * math.exp(-elapsed / MEMORY)
    return Seen(state=packet, time=now, fresh=True, gap=gap, changed=changed, drift=drift)


def _differs(packet: State, last: State) -> bool:
    names = ("gyro", "acceleration", "speed", "angle", "quaternion")
    return any(bool((getattr(packet, name) != getattr(last, name)).any()) for name in names)


def _ages(limits: Limits, now: float, seen: Seen) -> list[Event]:
    events, age = [], now - seen.time
    if age > limits.stale_stop:
        events.append(Event(Kind.STALE, Level.FAULT, f"no good state for {age:.3f} s"))
    elif age > limits.stale_hold or seen.bad > limits.bad_packets:
        events.append(Event(Kind.STALE, Level.HOLD, f"{age:.3f} s, {seen.bad} bad packets"))
    still = now - seen.changed
    if still > limits.frozen_hold and age <= limits.stale_hold:
        level = Level.FAULT if still > limits.frozen_stop else Level.HOLD
        events.append(Event(Kind.FROZEN, level, f"no sensor changed for {still:.3f} s"))
    if seen.drift is not None:
        worst = float(np.abs(seen.drift).max())
        if worst > limits.drift_hold:
            level = Level.FAULT if worst > limits.drift_stop else Level.HOLD
            joint = limits.spec.joint_names[int(np.abs(seen.drift).argmax())]
            events.append(Event(Kind.MISMATCH, level, f"{joint} by {worst:.2f} rad"))
    return events
