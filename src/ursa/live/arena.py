"""Arena: a round floor for one robot, and the way home when it strays. Pure functions.

Near the edge the robot stops learning and walks home; it goes on where it is well inside again, so
that it does not turn around at every step. Beyond the edge only a hand helps: such cases are told.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from ursa.robot.number import number


class Zone(StrEnum):
    """Where a robot is."""

    INSIDE = "inside"
    MARGIN = "margin"  # within `margin` of the edge: go home
    OUT = "out"  # beyond the edge: go home, and tell somebody


@dataclass(frozen=True, kw_only=True)
class Arena:
    """A disc around the origin of the pose source."""

    radius: float  # m
    margin: float  # m: home from this far inside the edge
    back: float = 0.5  # home is where it is this share of the way from edge-of-margin to middle

    def __post_init__(self) -> None:
        number("arena_radius", self.radius, above=0)
        number("arena_margin", self.margin, above=0)
        number("arena: back", self.back, above=0)
        assert self.margin < self.radius, "checked by the settings"
        assert self.back < 1, "a share"

    @property
    def home(self) -> float:
        """Metres from the middle within which homing ends."""
        return (1 - self.back) * (self.radius - self.margin)


@dataclass(frozen=True, kw_only=True)
class Homing:
    """Whether the robot is on its way home, and how often it had to."""

    active: bool = False
    count: int = 0  # times that homing began
    outs: int = 0  # times that the robot was found beyond the edge
    lasted: int = 0  # control steps on the way home, this time
    zone: Zone = Zone.INSIDE


def zone(arena: Arena, x: float, y: float) -> Zone:
    """Which part of the arena a place is in."""
    away = math.hypot(x, y)
    if away > arena.radius:
        return Zone.OUT
    return Zone.MARGIN if away > arena.radius - arena.margin else Zone.INSIDE


def follow(arena: Arena, homing: Homing, x: float, y: float) -> Homing:
    """Take in a pose: homing begins in the margin and ends well inside."""
    here = zone(arena, x, y)
    active = homing.active
    if here is not Zone.INSIDE:
        active = True
    elif math.hypot(x, y) <= arena.home:
        active = False
    return Homing(
        active=active,
        count=homing.count + (active and not homing.active),
        outs=homing.outs + (here is Zone.OUT and homing.zone is not Zone.OUT),
        lasted=homing.lasted + 1 if active else 0,
        zone=here,
    )


def bearing(x: float, y: float, yaw: float) -> float:
    """Radians to turn (counter-clockwise) until the robot looks at the middle, -pi to pi."""
    return wrapped(math.atan2(-y, -x) - yaw)


def wrapped(angle: float) -> float:
    """The same direction between -pi and pi."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


def velocity(
    arena: Arena, x: float, y: float, yaw: float, fastest: float = 0.3, sharpest: float = 0.8
) -> tuple[float, float]:
    """What to ask of velocity skills: forward m/s and turn rad/s that lead to the middle.

    Turns on the spot while the middle is behind, walks a curve when it is ahead.
    """
    turn = bearing(x, y, yaw)
    forward = fastest * max(0.0, math.cos(turn)) ** 2
    near = min(1.0, math.hypot(x, y) / arena.home) if arena.home else 1.0
    return forward * near, max(-sharpest, min(sharpest, 1.5 * turn))
