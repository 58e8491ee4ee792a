"""Modes of the gate, what an operator may order, and the names of what it counts."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Mode(StrEnum):
    """What the robot is doing. Motors hold a position in the SERVO ones, else they only damp."""

    DAMP = "damp"  # limp but damped: the start, and the end of every path
    STAND = "stand"  # ramp from the measured pose to the stance, then wait there
    RUN = "run"  # follow the wishes of the policy
    HOLD = "hold"  # stay where we are until what is wrong has passed
    LIE_DOWN = "lie down"  # ramp to the lying pose, then DAMP
    FAULT = "fault"  # as DAMP, until an operator acknowledges


SERVO_MODES = frozenset({Mode.STAND, Mode.RUN, Mode.HOLD, Mode.LIE_DOWN})


class Order(StrEnum):
    """What an operator or the runtime asks for."""

    STOP = "stop"  # always obeyed, latched
    ACKNOWLEDGE = "acknowledge"  # somebody looked: FAULT -> DAMP, if what caused it is over
    DAMP = "damp"
    STAND = "stand"
    RUN = "run"
    LIE_DOWN = "lie down"


class Level(IntEnum):
    """How much a finding asks for. The highest of a cycle decides."""

    COUNT = 0  # refuse or clamp, and count
    HOLD = 1
    LIE_DOWN = 2
    DAMP = 3
    FAULT = 4  # latched


class Kind(StrEnum):
    """Everything the gate steps in for, by the name it is counted under."""

    BAD_PACKET = "bad packet"
    REPEATED_PACKET = "repeated packet"
    REORDERED_PACKET = "reordered packet"
    RESTARTED = "robot clock restarted"
    STALE = "stale state"
    GAP = "gap in states"
    FROZEN = "frozen sensors"
    MISMATCH = "encoder against velocity"
    JOINT_RANGE = "joint beyond its range"
    JOINT_SPEED = "joint too fast"
    TORQUE = "torque too high"
    MOTOR = "motor gave up"
    TILT = "tilted"
    FALLEN = "did not get up"
    WARM = "warm motor"
    HOT = "hot motor"
    BATTERY = "battery"
    LATE = "missed deadlines"
    SUSPENDED = "suspended"
    CLOCK = "clock ran backwards"
    BAD_WISH = "bad wish"
    OLD_WISH = "reordered wish"
    STALE_WISH = "stale wish"
    CLAMPED_RANGE = "clamped to range"
    CLAMPED_REACH = "clamped to reach"
    CLAMPED_RATE = "clamped to rate"
    CLAMPED_TORQUE = "clamped to torque"
    NOT_FINITE = "command not finite"
    STOP = "stop"
    REMOTE_LOST = "remote lost"
    ORDER_REFUSED = "order refused"
    ACKNOWLEDGED = "acknowledged"
    MODE = "mode"
    ERROR = "error in the gate"


# Told once per occurrence. All others last: they are told when they begin, or get worse.
MOMENTARY = frozenset(
    {
        Kind.BAD_PACKET,
        Kind.REPEATED_PACKET,
        Kind.REORDERED_PACKET,
        Kind.RESTARTED,
        Kind.GAP,
        Kind.OLD_WISH,
        Kind.STOP,
        Kind.ORDER_REFUSED,
        Kind.ACKNOWLEDGED,
        Kind.MODE,
        Kind.ERROR,
    }
)


@dataclass(frozen=True)
class Event:
    """One thing the gate found or did in a cycle."""

    kind: Kind
    level: Level
    detail: str = ""


@dataclass(frozen=True)
class Counts:
    """How often each kind occurred, since the gate began."""

    of: tuple[int, ...] = (0,) * len(Kind)

    def __getitem__(self, kind: Kind) -> int:
        return self.of[_PLACE[kind]]

    def add(self, events: tuple[Event, ...]) -> "Counts":
        """These counts and the events."""
        if not events:
            return self
        of = list(self.of)
        for event in events:
            of[_PLACE[event.kind]] += 1
        return Counts(tuple(of))

    @property
    def named(self) -> dict[str, int]:
        """What occurred at all, for a report."""
        return {kind.value: self[kind] for kind in Kind if self[kind]}


_PLACE = {kind: place for place, kind in enumerate(Kind)}
