"""Limits: every number the gate protects a robot with, in one frozen value made from its spec.

On by default. A user may narrow them and never widen them: the default is the less safe end of what
is allowed, and `_limit` or `_floor` says on which side each is safer. Code that has to go further
(a test, a benchmark) takes `dataclasses.replace`, up to what the hardware bears.
Sources: [U] the maker's headers and description, [D] DayDreamer's A1, [R] our choice, to be
confirmed with the robot on a stand. Times in seconds, angles in radians.
"""

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from ursa.errors import UserError, unknown
from ursa.gate.wire import POSITION_OFF, Command
from ursa.robot.spec import LEG_PARTS, RobotSpec

Array = np.ndarray


def _limit(default: float, least: float, most: float, unit: str = "s") -> Any:
    """A limit of which less is safer; `least` and `most` are what code may ask for."""
    return _field(default, (least, default), (least, most), unit)


def _floor(default: float, least: float, most: float, unit: str = "s") -> Any:
    """One of which more is safer. (There is none yet of which neither side is.)"""
    return _field(default, (default, most), (least, most), unit)


def _field(default: float, user: tuple[float, float], widest: tuple[float, float], unit: str):
    said = {"least": user[0], "most": user[1], "widest": widest, "unit": unit}
    return field(default=default, metadata=said)


@dataclass(frozen=True, kw_only=True, eq=False)
class Limits:
    """Numbers with their allowed ranges, and what follows from them and the spec per joint."""

    spec: RobotSpec
    # the cycle
    period: float = _limit(0.002, 0.001, 0.01)  # [U] between two commands
    late_hold: int = _limit(5, 1, 10, "cycles")  # missed in a row, then HOLD
    late_stop: int = _limit(20, 2, 50, "cycles")  # then LIE_DOWN
    suspend: float = _limit(1.0, 0.1, 1.0)  # between two cycles, then DAMP
    # what the robot says
    stale_hold: float = _limit(0.02, 0.004, 0.05)  # age of the last good state
    stale_stop: float = _limit(0.1, 0.02, 0.1)
    bad_packets: int = _limit(2, 0, 5, "packets")  # in a row that the last good one may stand for
    frozen_hold: float = _limit(0.05, 0.01, 0.2)  # not a bit of it changes
    frozen_stop: float = _limit(0.2, 0.02, 0.5)
    drift_hold: float = _limit(0.3, 0.1, 0.5, "rad")  # angle against integrated speed, over 0.1 s
    drift_stop: float = _limit(0.6, 0.2, 1.0, "rad")
    # what the policy wishes
    wish_hold: float = _limit(0.125, 0.02, 0.25)  # its age
    wish_stop: float = _limit(0.3, 0.05, 1.0)
    # what a motor is told
    margin: float = _floor(0.05, 0.02, 0.3, "rad")  # targets keep this far inside the hard limits
    reach: float = _limit(0.2, 0.01, 0.4, "rad")  # [D] of a target from the measured angle
    rate: float = _limit(12.0, 0.5, 16.0, "rad/s")  # [R] of a target
    torque_share: float = _limit(1.0, 0.1, 1.0, "of the peak")  # that gains and error may ask for
    damping: float = _floor(2.0, 0.5, 4.0, "N m s/rad")  # [R] of a limp joint
    ramp_rate: float = _limit(2.0, 0.1, 2.0, "rad/s")  # peak, in every ramp
    ramp_time: float = _floor(1.5, 1.5, 10.0)  # shortest ramp
    settle: float = _floor(0.1, 0.05, 5.0)  # quiet for so long, then HOLD ends
    # what the joints do
    beyond: float = _limit(0.05, 0.01, 0.1, "rad")  # outside the hard limits
    overspeed: float = _limit(16.0, 1.0, 21.0, "rad/s")  # [U]
    samples: int = _limit(3, 1, 5, "packets")  # in a row that say so
    torque_hold: float = _limit(0.02, 0.004, 0.05)  # above the peak torque
    torque_stop: float = _limit(0.1, 0.01, 0.2)
    obey: float = _limit(0.1, 0.02, 0.5)  # a motor has to report that it serves
    # heat
    warm: float = _limit(50.0, 30.0, 52.0, "C")  # [D] finish the skill, then rest
    hot: float = _limit(55.0, 32.0, 57.0, "C")  # rest now; the motors cut out at 60
    cool: float = _limit(45.0, 20.0, 48.0, "C")  # may work again
    rest: float = _floor(60.0, 10.0, 3600.0)  # and has rested so long
    finish: float = _limit(12.5, 0.0, 30.0)  # for finishing the skill: 250 steps at 20 Hz
    heat: float = _limit(0.5, 0.1, 0.6, "of the peak")  # [R] root mean square torque ...
    heat_time: float = _limit(60.0, 10.0, 120.0)  # ... over this time
    # posture
    tilt: float = _limit(1.3, 0.3, 1.4, "rad")
    upright: float = _limit(1.0, 0.1, 1.2, "rad")  # full gains again
    tilt_time: float = _limit(0.3, 0.02, 0.5)
    tilt_gain: float = _limit(0.4, 0.0, 0.5, "of kp")  # while tilted; enough to roll over
    get_up: float = _limit(30.0, 0.5, 600.0)  # [R] for getting up by itself, then DAMP
    # supplies
    battery_low: float = _floor(0.25, 0.2, 1.0, "share")
    battery_stop: float = _floor(0.15, 0.1, 1.0, "share")
    remote: bool = False  # the hand-held remote must stay in touch; a user says 1 or 0
    remote_time: float = _limit(0.5, 0.1, 2.0)

    def __post_init__(self) -> None:
        wrong = [
            _outside(each, getattr(self, each.name), *each.metadata["widest"]) for each in ranged()
        ]
        wrong.append(_unswitched("remote", self.remote))
        wrong = [said for said in wrong if said] or self._disordered()
        if wrong:
            raise UserError("gate limits: " + "; ".join(wrong))
        for array in (self.lower, self.upper, self.torque, self.stance, self.lying):
            array.flags.writeable = False
        assert self.limp.kp.max() == 0  # made now: it must be there when all else fails

    def _disordered(self) -> list[str]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        wrong = [
            f"{low} = {values[low]} must be below {high} = {values[high]}"
            for low, high in ORDERED
            if not values[low] < values[high]
        ]
        slowest = min(self.spec.of_joints("speed"))
        for name in ("rate", "overspeed"):
            if values[name] > slowest:
                wrong.append(f"{name} = {values[name]} exceeds the slowest motor's {slowest} rad/s")
        return wrong

    @cached_property
    def hard_lower(self) -> Float[Array, " A"]:
        return self.spec.of_joints("lower")

    @cached_property
    def hard_upper(self) -> Float[Array, " A"]:
        return self.spec.of_joints("upper")

    @cached_property
    def lower(self) -> Float[Array, " A"]:
        """Of a target."""
        return self.hard_lower + self.margin

    @cached_property
    def upper(self) -> Float[Array, " A"]:
        return self.hard_upper - self.margin

    @cached_property
    def kp(self) -> Float[Array, " A"]:
        return self.spec.of_joints("kp")

    @cached_property
    def kd(self) -> Float[Array, " A"]:
        return self.spec.of_joints("kd")

    @cached_property
    def peak(self) -> Float[Array, " A"]:
        """What a motor can give."""
        return self.spec.of_joints("torque")

    @cached_property
    def torque(self) -> Float[Array, " A"]:
        """What gains and error together may ask of a motor."""
        return self.torque_share * self.peak

    @cached_property
    def ramp_speed(self) -> float:
        """Peak of a ramp: one is never faster than any other target may be."""
        return min(self.ramp_rate, self.rate)

    @cached_property
    def stance(self) -> Float[Array, " A"]:
        return np.clip(self.spec.of_joints("stance"), self.lower, self.upper)

    @cached_property
    def lying(self) -> Float[Array, " A"]:
        """Folded legs, each foot under its hip: the trunk is a hand's breadth above the floor."""
        folded = {"hip": 0.0, "upper": 1.3, "lower": -2.6}
        angle = [folded[part] for _ in self.spec.legs for part in LEG_PARTS]
        return np.clip(np.array(angle), self.lower, self.upper)

    @cached_property
    def upright_least(self) -> float:
        """Cosine of `upright`; and of `tilt`: the z of the body's up below which it is tilted."""
        return math.cos(self.upright)

    @cached_property
    def tilted_most(self) -> float:
        return math.cos(self.tilt)

    @cached_property
    def limp(self) -> Command:
        """Position loop off, no torque, only damping: right in every pose, needs no measurement."""
        zero = np.zeros(self.spec.action_size)
        return Command(
            angle=zero + POSITION_OFF, speed=zero, torque=zero, kp=zero, kd=zero + self.damping
        )


ORDERED = (
    ("late_hold", "late_stop"),
    ("stale_hold", "stale_stop"),
    ("frozen_hold", "frozen_stop"),
    ("drift_hold", "drift_stop"),
    ("wish_hold", "wish_stop"),
    ("torque_hold", "torque_stop"),
    ("cool", "warm"),
    ("warm", "hot"),
    ("upright", "tilt"),
    ("battery_stop", "battery_low"),
)


def ranged() -> list[Field[Any]]:
    """Every limit that is a number; its metadata has `least` and `most` for a user, and `unit`."""
    return [each for each in fields(Limits) if each.metadata]


def described() -> str:
    """Every limit that a user may narrow, a line each."""
    lines = [
        f"{each.name:<13}{each.default:<6g} {each.metadata['least']:g} to "
        f"{each.metadata['most']:g} {each.metadata['unit']}"
        for each in ranged()
    ]
    lines.append(f"{'remote':<13}{0:<6} 0 or 1: the hand-held remote must stay in touch, or HOLD")
    return "\n".join(lines)


def _outside(each: Field[Any], value: Any, least: float, most: float) -> str:
    """What is wrong with a value of a limit, or nothing."""
    whole = isinstance(each.default, int)
    number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if number and least <= value <= most:
        return ""
    return (
        f"{each.name} = {value!r}, allowed {least} to {most} {each.metadata['unit']} "
        f"(default {each.default})"
    )


def _unswitched(name: str, value: Any) -> str:
    """What is wrong with a value of something that is on or off, or nothing."""
    if isinstance(value, int) and value in (0, 1):  # true and false among them
        return ""
    return f"{name} = {value!r}, allowed 1 (or true) and 0 (or false) (default 0)"


def limits_of(spec: RobotSpec, narrowed: Mapping[str, Any] | None = None) -> Limits:
    """The limits of a robot with legs, narrowed by what a user set; all mistakes in one message."""
    if not spec.legs:
        raise UserError(f"robot {spec.name} has no legs: the gate knows how to lay down legs only")
    given = dict(narrowed or {})
    names = [each.name for each in fields(Limits) if each.name != "spec"]
    for name in given:
        if name not in names:
            raise unknown("gate limit", name, names)
    wrong = [
        _outside(each, given[each.name], each.metadata["least"], each.metadata["most"])
        for each in ranged()
        if each.name in given
    ]
    if "remote" in given:
        wrong.append(_unswitched("remote", given["remote"]))
    if any(wrong):
        raise UserError(
            "gate limits can be narrowed and never widened: "
            + "; ".join(said for said in wrong if said)
        )
    if "remote" in given:
        given["remote"] = bool(given["remote"])
    return Limits(spec=spec, **given)
