"""Machine: what the gate remembers, and which mode follows from trouble, orders and time.

Trouble comes first, then the most careful of the orders, then what follows by itself. Nothing but
an order ever switches limp motors on, and only an acknowledgement unlatches a fault. A limp robot
that was out of touch gets a reason to wait for a person, too: somebody may have carried it away;
and so does one that is not upright: whoever sets it on its feet must not have it stand up in hand.
"""

from dataclasses import dataclass, field, replace

from ursa.gate import heard as hearing
from ursa.gate import pose as posing
from ursa.gate.health import NEVER, Health, healthy, unfit, upright
from ursa.gate.heard import Heard
from ursa.gate.limits import Limits
from ursa.gate.modes import SERVO_MODES, Counts, Event, Kind, Level, Mode, Order
from ursa.gate.pose import Pose
from ursa.gate.seen import Seen

FOLLOWING = frozenset({Mode.RUN, Mode.HOLD})  # modes in which the policy is expected to speak
UP = frozenset({Mode.STAND, Mode.RUN, Mode.HOLD})
ALONE = 10.0  # s that a robot stands for nobody: a policy that was slow to begin is there by then
CAREFUL = (Order.DAMP, Order.LIE_DOWN, Order.ACKNOWLEDGE, Order.STAND, Order.RUN)
WISHES = frozenset({Kind.BAD_WISH, Kind.STALE_WISH})
LIMP_TILT = f"{Kind.TILT} while limp"
CONTACT = frozenset({Kind.STALE, Kind.GAP})  # at level FAULT: a cable pulled, a robot switched off


@dataclass(frozen=True, kw_only=True, eq=False)
class GateState:
    """Everything the gate remembers between two cycles."""

    mode: Mode = Mode.DAMP
    since: float = 0.0  # when the mode began
    armed: float = NEVER  # since when the motors serve
    fault: str = ""  # why FAULT is latched, or why trouble made it limp
    clock: float | None = None  # time of the last cycle
    late: int = 0  # cycles missed in a row
    troubled: float = -NEVER  # when something last asked for HOLD or more
    seen: Seen = field(default_factory=Seen)
    heard: Heard = field(default_factory=Heard)
    pose: Pose = field(default_factory=Pose)
    health: Health
    lasting: frozenset[tuple[Kind, Level]] = frozenset()  # what the last cycle found, told already
    counts: Counts = field(default_factory=Counts)


def begin(limits: Limits) -> GateState:
    """A gate that has seen nothing yet: limp, and waiting for an operator."""
    return GateState(health=healthy(limits.spec.action_size))


def faulted(now: float, state: GateState, reason: str) -> GateState:
    """Limp and latched; the first reason stays until somebody acknowledged it."""
    return replace(
        state,
        mode=Mode.FAULT,
        since=state.since if state.mode is Mode.FAULT else now,
        armed=NEVER,
        fault=(state.fault if state.mode is Mode.FAULT else "") or reason,
        pose=Pose(),
    )


def next_mode(
    limits: Limits, now: float, found: list[Event], orders: frozenset[Order], state: GateState
) -> tuple[GateState, list[Event]]:
    """The mode of this cycle, with the pose it begins from, and what there is to tell about it."""
    events = _alone(now, state)
    worst = _worst(found + events)
    level = worst.level if worst is not None else Level.COUNT
    reason = f"{worst.kind} {worst.detail}".strip() if worst is not None and level else ""
    stop = worst is not None and worst.kind is Kind.STOP
    before = state.mode
    if stop or (level == Level.FAULT and before in SERVO_MODES):
        state = faulted(now, replace(state, fault="") if stop else state, reason)
    elif level == Level.DAMP and before in SERVO_MODES:
        state = replace(state, mode=Mode.DAMP, fault=reason)
    else:
        order = next((each for each in CAREFUL if each in orders), None)
        if order is not None:
            refusal = _refusal(limits, now, order, found, state)
            if refusal:
                events.append(Event(Kind.ORDER_REFUSED, Level.COUNT, f"{order}: {refusal}"))
            else:
                state = _obeyed(limits, order, state, events)
        state = _moved_on(limits, now, level, state)
    lost = [event for event in found if event.kind in CONTACT and event.level == Level.FAULT]
    if lost and state.mode is Mode.DAMP and not state.fault:
        state = replace(state, fault=f"{lost[0].kind} {lost[0].detail}")
    if state.mode is Mode.DAMP and not state.fault and _tilted(limits, state):
        state = replace(state, fault=LIMP_TILT)
    if state.seen.gap and {before, state.mode} <= SERVO_MODES:
        state = replace(state, pose=_anchored(limits, state))
    if state.mode is not before:
        events.append(Event(Kind.MODE, Level.COUNT, f"{before} -> {state.mode} {reason}".strip()))
        limp = state.mode not in SERVO_MODES
        state = replace(
            state,
            since=now,
            armed=NEVER if limp else min(state.armed, now),
            pose=Pose() if limp else state.pose,
        )
    return state, events


def _worst(found: list[Event]) -> Event | None:
    """What decides. A stop keeps its name beside any other trouble: only a person takes it back."""
    stops = (event for event in found if event.kind is Kind.STOP)
    return next(stops, max(found, key=lambda event: event.level, default=None))


def _alone(now: float, state: GateState) -> list[Event]:
    """What it asks for that nobody has wished for anything since the robot stands, or for long.

    A ramp that is under way for longer than it should be is no reason to wait: it may never end,
    with an order to stand again and again, or with trouble that has it wait half way up.
    """
    if state.mode is not Mode.STAND:
        return []
    alone = min(now - state.since - state.pose.span, hearing.age(now, state.heard))
    if alone <= ALONE:
        return []
    return [Event(Kind.STALE_WISH, Level.LIE_DOWN, f"stands for nobody since {alone:.3f} s")]


def _obeyed(limits: Limits, order: Order, state: GateState, events: list[Event]) -> GateState:
    target = state.pose.target
    if order is Order.ACKNOWLEDGE:
        events.append(Event(Kind.ACKNOWLEDGED, Level.COUNT, state.fault))
        return replace(state, mode=Mode.DAMP, fault="")
    if order is Order.LIE_DOWN:
        return _lying_down(limits, state)
    if order is Order.STAND:
        if target is None:  # limp until now: the first command is the measured pose
            assert state.seen.state is not None
            target = state.seen.state.angle
        pose = posing.ramp(limits, target, limits.stance)
        return replace(state, mode=Mode.STAND, fault="", pose=pose)
    return replace(state, mode=Mode.RUN if order is Order.RUN else Mode.DAMP)


def _refusal(
    limits: Limits, now: float, order: Order, found: list[Event], state: GateState
) -> str | None:
    """Why an order cannot be followed now, or None."""
    mode, seen = state.mode, state.seen
    trouble = [event for event in found if event.level >= Level.HOLD]
    if order is Order.ACKNOWLEDGE:
        if not state.fault:
            return f"nothing to acknowledge in {mode}"
        if mode is Mode.DAMP and _tilted(limits, state):
            return f"still {Kind.TILT}: set it upright"
        trouble = [e for e in trouble if e.level >= Level.DAMP or e.kind is Kind.STALE]
        return f"still {trouble[0].kind} {trouble[0].detail}" if trouble else None
    if mode is Mode.FAULT:
        return f"acknowledge first: {state.fault}"
    if order is Order.LIE_DOWN and mode not in UP:
        return f"in {mode} there is nothing to lay down"
    if order is Order.STAND:
        if seen.state is None or now - seen.time > limits.stale_hold:
            return "no recent state of the robot"
        trouble = [event for event in trouble if event.kind not in WISHES]
        if trouble:
            return f"{trouble[0].kind} {trouble[0].detail}"
        return None if mode in UP else unfit(limits, now, seen.state, state.health)
    if order is Order.RUN:
        if mode is not Mode.STAND or not posing.finished(state.pose):
            return f"stand first; now in {mode}"
        if trouble or state.heard.bad:
            return trouble[0].kind if trouble else state.heard.bad
        if hearing.age(now, state.heard) > limits.wish_hold:
            return "no recent wish of the policy"
    return None


def _tilted(limits: Limits, state: GateState) -> bool:
    return state.seen.state is not None and not upright(limits, state.seen.state)


def _moved_on(limits: Limits, now: float, level: Level, state: GateState) -> GateState:
    """What happens by itself: trouble lays down or holds, a ramp ends, after trouble we go on."""
    mode = state.mode
    if level == Level.LIE_DOWN and mode in UP:
        return _lying_down(limits, state)
    if level == Level.HOLD and mode is Mode.RUN:
        return replace(state, mode=Mode.HOLD)
    if mode is Mode.LIE_DOWN and posing.finished(state.pose):
        return replace(state, mode=Mode.DAMP)
    if mode is Mode.HOLD and now - state.troubled >= limits.settle:
        return replace(state, mode=Mode.RUN)
    return state


def _lying_down(limits: Limits, state: GateState) -> GateState:
    assert state.pose.target is not None
    ramp = posing.ramp(limits, state.pose.target, limits.lying)
    return replace(state, mode=Mode.LIE_DOWN, pose=ramp)


def _anchored(limits: Limits, state: GateState) -> Pose:
    """After a gap nobody knows what the robot did: begin where it is, never where we were."""
    assert state.seen.state is not None
    goal = limits.lying if state.mode is Mode.LIE_DOWN else limits.stance
    return posing.ramp(limits, state.seen.state.angle, goal)
