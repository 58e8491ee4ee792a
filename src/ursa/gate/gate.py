"""Gate: the only one that talks to the robot's motors. A pure step function in given time.

Every cycle it takes what the robot said, what the policy wishes and what an operator orders, and
returns the one command that may be sent. Whatever goes wrong, also in here, that command is safe:
inside the limits, or limp and damped. `now` comes from a monotonic clock; nothing here reads one.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ursa.gate import heard as hearing
from ursa.gate import pose as posing
from ursa.gate.bound import bounded
from ursa.gate.health import NEVER, examine, findings
from ursa.gate.heard import Wish
from ursa.gate.limits import Limits
from ursa.gate.machine import FOLLOWING, GateState, begin, faulted, next_mode
from ursa.gate.modes import MOMENTARY, SERVO_MODES, Event, Kind, Level, Mode, Order
from ursa.gate.remote import stop_pressed
from ursa.gate.seen import look
from ursa.gate.wire import Command, Refused, State

Step = tuple[Command, GateState, tuple[Event, ...]]


def step(
    limits: Limits,
    now: float,
    packet: State | Refused | None,
    wish: Wish | None,
    orders: Iterable[Order],
    state: GateState,
) -> Step:
    """One cycle. Never raises; a mistake in here is a latched fault and a limp robot."""
    try:
        return _step(limits, now, packet, wish, frozenset(orders), state)
    except Exception as error:  # whatever it is, the motors must hear the safe command now
        event = Event(Kind.ERROR, Level.FAULT, f"{type(error).__name__}: {error}")
        return _stopped(limits, now, state, event)


def _step(
    limits: Limits,
    now: float,
    packet: State | Refused | None,
    wish: Wish | None,
    orders: frozenset[Order],
    state: GateState,
) -> Step:
    if not math.isfinite(now) or (state.clock is not None and now < state.clock):
        # Every time remembered so far is void: begin anew, latched.
        event = Event(Kind.CLOCK, Level.FAULT, f"{now} after {state.clock}")
        anew = replace(begin(limits), counts=state.counts, mode=state.mode, fault=state.fault)
        return _stopped(limits, now, anew, event)
    elapsed = limits.period if state.clock is None else now - state.clock
    late, found = _punctual(limits, elapsed, state.late)
    seen, more = look(limits, now, packet, state.seen)
    found += more
    health = state.health
    if seen.state is not None:
        if seen.fresh:
            health = examine(limits, now, seen.state, health)
        found += findings(limits, now, seen.state, health, state.armed)
    heard, more = hearing.listen(limits, now, wish, state.pose.target, state.heard)
    if state.mode in FOLLOWING:
        found += more + hearing.stale(limits, now, heard)
    if Order.STOP in orders or (packet is not None and stop_pressed(packet.remote)):
        who = "by order" if Order.STOP in orders else "by the remote"
        found.append(Event(Kind.STOP, Level.FAULT, who))

    troubled = now if any(event.level >= Level.HOLD for event in found) else state.troubled
    state = replace(
        state, clock=now, late=late, seen=seen, heard=heard, health=health, troubled=troubled
    )
    state, more = next_mode(limits, now, found, orders, state)
    command, state, clamps = _told(limits, now, elapsed, troubled == now, state)
    return command, *_counted(state, found + more + clamps)


def _punctual(limits: Limits, elapsed: float, late: int) -> tuple[int, list[Event]]:
    """Cycles missed in a row, and what they ask for."""
    missed = max(0, round(elapsed / limits.period) - 1)
    late = late + missed if missed else 0
    if elapsed > limits.suspend:
        return late, [Event(Kind.SUSPENDED, Level.DAMP, f"{elapsed:.3f} s between two cycles")]
    if late >= limits.late_hold:
        level = Level.LIE_DOWN if late >= limits.late_stop else Level.HOLD
        return late, [Event(Kind.LATE, level, f"{late} cycles")]
    return late, []


def _told(
    limits: Limits, now: float, elapsed: float, troubled: bool, state: GateState
) -> tuple[Command, GateState, list[Event]]:
    """The command of this mode, inside every limit, or limp."""
    pose, believed = state.pose, state.seen.state
    if state.mode not in SERVO_MODES:
        return limits.limp, state, []
    last = pose.target
    assert believed is not None
    assert last is not None
    elapsed = min(elapsed, 2 * limits.period)  # time lost is not caught up with
    rate, wanted = limits.ramp_speed, last
    if state.mode is Mode.RUN:
        followed = hearing.line(limits, now, state.heard)
        wanted = last if followed is None else followed
        if now - state.since >= limits.ramp_time:
            rate = limits.rate
    elif state.mode is not Mode.HOLD:
        # Getting up waits while something is wrong; lying down is what to do about it.
        if now > state.since and not (troubled and state.mode is Mode.STAND):
            pose = posing.advance(pose, elapsed)
        wanted = posing.along(pose)
    stiffness = limits.tilt_gain if state.health.lowered < NEVER else 1.0
    told = bounded(limits, wanted, last, believed.angle, believed.speed, rate * elapsed, stiffness)
    if not all(np.isfinite(each).all() for each in (told.target, told.kp, told.kd)):
        event = Event(Kind.NOT_FINITE, Level.FAULT, "after all limits")
        return limits.limp, faulted(now, state, event.kind), [event]
    zero = np.zeros_like(told.target)
    command = Command(angle=told.target, speed=zero, torque=zero, kp=told.kp, kd=told.kd)
    clamps = [Event(kind, Level.COUNT) for kind, where in told.clamped.items() if where.any()]
    return command, replace(state, pose=replace(pose, target=told.target)), clamps


def _stopped(limits: Limits, now: float, state: GateState, event: Event) -> Step:
    """Limp, latched and counted, whatever state the gate was in."""
    state = faulted(now, state, f"{event.kind} {event.detail}")
    clock = now if math.isfinite(now) else state.clock
    return limits.limp, replace(state, clock=clock, counts=state.counts.add((event,))), (event,)


def _counted(state: GateState, found: list[Event]) -> tuple[GateState, tuple[Event, ...]]:
    """What is new in this cycle: what lasts is told when it begins or gets worse."""
    lasting = frozenset((e.kind, e.level) for e in found if e.kind not in MOMENTARY)
    told = tuple(e for e in found if e.kind in MOMENTARY or (e.kind, e.level) not in state.lasting)
    return replace(state, lasting=lasting, counts=state.counts.add(told)), told
