"""A robot of arithmetic behind a gate, in virtual time, and the rule that every command must keep.

The rule is written down here a second time, without a line of the gate's own code.
"""

import copy
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from ursa.gate import gate, machine
from ursa.gate.heard import Wish
from ursa.gate.limits import Limits, limits_of
from ursa.gate.machine import GateState
from ursa.gate.modes import Counts, Event, Kind, Mode, Order
from ursa.gate.wire import POSITION_OFF, SERVO, Command, Refused, State
from ursa.robot.a1 import A1

LIMITS = limits_of(A1)
PERIOD = 0.002
LYING = np.tile([0.0, 1.2, -2.65], 4)  # folded, nearer to the stop than a target may be
STANDING = np.tile([0.0, 0.9, -1.8], 4)
LOWER = np.tile([-0.752851, -0.997197, -2.646533], 4)  # the A1's limits, 0.05 rad inside
UPPER = np.tile([0.752851, 4.138790, -0.966298], 4)
TORQUE = 33.5
ROUNDING = 1e-6


def said(tick: int, angle=STANDING, **changed) -> State:
    """An upright robot at rest that says something new at every tick."""
    tremble = 1e-3 * np.sin(tick + np.arange(3.0))
    calm = State(
        tick=tick % 2**32,
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        gyro=tremble,
        acceleration=np.array([0.0, 0.0, 9.81]) + tremble,
        angle=np.array(angle, float),
        speed=np.zeros(12),
        torque=np.full(12, 3.0),
        temperature=np.full(12, 30.0),
        mode=np.full(12, SERVO),
        foot_force=np.full(4, 30.0),
    )
    return replace(calm, **changed) if changed else calm


def is_limp(command: Command) -> bool:
    """Position loop off, no torque, damping: what every exit has to end on."""
    return bool(
        (command.angle == POSITION_OFF).all()
        and (command.kp == 0).all()
        and (command.torque == 0).all()
        and (command.kd > 0).all()
    )


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The numbers that a command must keep: the gate's own, unless a user narrowed them."""

    rate: float = 12.0  # rad/s
    slowest: float = 2.0  # rad/s: of a ramp, as slowly as a target ever goes
    reach: float = 0.2  # rad
    torque: float = TORQUE

    @classmethod
    def of(cls, limits: Limits) -> "Rule":
        torque = TORQUE * limits.torque_share
        rates = {"rate": limits.rate, "slowest": min(limits.ramp_rate, limits.rate)}
        return cls(**rates, reach=limits.reach, torque=torque)


USUAL = Rule()


def violation(
    command: Command,
    last: np.ndarray | None,
    state: State | None,
    elapsed: float,
    rule: Rule = USUAL,
) -> str | None:
    """Which rule a command breaks; `last` is the target before it, None if the robot was limp."""
    fields = (command.angle, command.speed, command.torque, command.kp, command.kd)
    if not all(np.isfinite(each).all() for each in fields):
        return "not finite"
    if is_limp(command):
        return None
    if state is None:
        return "a target for a robot that has said nothing"
    if np.abs(command.torque).max() > 0 or np.abs(command.speed).max() > 0:
        return "torque or speed fed forward"
    if (command.kp < 0).any() or (command.kp > 80).any() or (command.kd <= 0).any():
        return f"gains {command.kp} {command.kd}"
    asked = command.kp * (command.angle - state.angle) - command.kd * state.speed
    if np.abs(asked).max() > rule.torque + ROUNDING:
        return f"asks for {np.abs(asked).max():.2f} N m"
    if last is None:
        far = np.abs(command.angle - state.angle).max()
        return f"first target {far:.3f} rad from the robot" if far > 0.02 else None
    lower, upper = np.minimum(LOWER, last), np.maximum(UPPER, last)
    if (command.angle < lower - ROUNDING).any() or (command.angle > upper + ROUNDING).any():
        return f"target {command.angle} out of range"
    moved = np.abs(command.angle - last).max()
    if moved > rule.rate * elapsed + ROUNDING:
        return f"target moved {moved:.3f} rad in {elapsed * 1000:.1f} ms"
    far = np.abs(command.angle - state.angle)
    # Beyond its reach, because something moved the leg, a target follows it unless its range ends.
    ends = (command.angle <= lower + ROUNDING) | (command.angle >= upper - ROUNDING)
    least = rule.slowest * min(elapsed, 2 * PERIOD)
    follows = np.abs(last - state.angle) - far >= least - ROUNDING
    if ((far > rule.reach + ROUNDING) & ~ends & ~follows).any():
        return f"target {far.max():.3f} rad from the robot"
    return None


class Bench:
    """A gate, a clock and a robot whose joints go where they are told within some 20 ms."""

    def __init__(self, angle=LYING, limits=LIMITS, start: float = 100.0) -> None:
        self.limits = limits
        self.state: GateState = machine.begin(limits)
        self.now = start
        self.tick = 0
        self.angle = np.array(angle, float)
        self.speed = np.zeros(12)
        self.wish: Wish | None = None
        self.sequence = 0
        self.command = limits.limp
        self.events: list[Event] = []
        self.modes: list[tuple[float, Mode]] = []

    def copy(self) -> "Bench":
        """The same moment again; what happened so far is forgotten."""
        other = copy.copy(self)
        other.events, other.modes = [], []
        return other

    @property
    def mode(self) -> Mode:
        return self.state.mode

    @property
    def counts(self) -> Counts:
        return self.state.counts

    def wants(self, angle=STANDING, age: float = 0.0) -> None:
        """The policy leaves a wish in the mailbox."""
        self.sequence += 1
        wish = np.array(angle, float)
        self.wish = Wish(angle=wish, sequence=self.sequence, time=self.now - age)

    def says(self, **changed) -> State:
        """What the robot would report now."""
        state = said(self.tick, self.angle, speed=self.speed.copy())
        return replace(state, **changed) if changed else state

    def cycle(
        self,
        packet: State | Refused | str | None = "good",
        orders: tuple[Order, ...] = (),
        elapsed: float = PERIOD,
        cut: bool = False,
    ) -> Command:
        """One cycle of gate and robot; a command that breaks the rule fails here and now."""
        self.now += elapsed
        self.tick += max(1, round(elapsed / PERIOD))
        heard = self.says() if isinstance(packet, str) else packet
        last = self.state.pose.target
        self.command, self.state, events = gate.step(
            self.limits, self.now, heard, self.wish, orders, self.state
        )
        if any(event.kind is Kind.GAP for event in events):
            last = None  # begins anew at the measured pose
        rule = Rule.of(self.limits)
        broken = violation(self.command, last, self.state.seen.state, elapsed, rule)
        assert broken is None, f"{broken} in {self.mode} at {self.now:.3f}"
        self.events += events
        if not self.modes or self.modes[-1][1] is not self.mode:
            self.modes.append((self.now, self.mode))
        if not cut:
            self._move(elapsed)
        return self.command

    def _move(self, elapsed: float) -> None:
        stiff = self.command.kp > 0
        speed = np.where(stiff, (self.command.angle - self.angle) / 0.02, -self.speed)
        self.speed = np.clip(speed, -10, 10) * np.where(stiff, 1, 0)
        self.angle = self.angle + self.speed * min(elapsed, 0.01)

    def cycles(self, seconds: float, wish=None, packet="good") -> None:
        """So many seconds of good packets, with a fresh wish every 50 ms if one is given."""
        for count in range(round(seconds / PERIOD)):
            if wish is not None and count % 25 == 0:
                self.wants(wish)
            self.cycle(packet)

    def until(self, mode: Mode, seconds: float = 5.0, wish=None) -> None:
        """Go on until the gate is in that mode; not getting there fails."""
        for count in range(round(seconds / PERIOD)):
            if self.mode is mode:
                return
            if wish is not None and count % 25 == 0:
                self.wants(wish)
            self.cycle()
        raise AssertionError(f"still {self.mode}, not {mode}; {self.counts.named}")

    def stand(self) -> "Bench":
        """Up, from wherever it is, and done with the ramp."""
        self.cycles(0.01)
        self.cycle(orders=(Order.STAND,))
        assert self.mode is Mode.STAND, self.events[-1]
        self.cycles(1.6)
        return self

    def run(self, wish=STANDING) -> "Bench":
        """Following the policy, past the ramp."""
        self.stand()
        self.wants(wish)
        self.cycle(orders=(Order.RUN,))
        assert self.mode is Mode.RUN, self.events[-1]
        self.cycles(1.6, wish)
        return self


@cache
def _at(mode: Mode) -> Bench:
    if mode is Mode.DAMP:
        bench = Bench()
        bench.cycles(0.01)
    elif mode is Mode.STAND:
        bench = Bench().stand()
    elif mode is Mode.RUN:
        bench = Bench().run()
    elif mode is Mode.HOLD:
        bench = at(Mode.RUN)
        bench.cycles(0.15)  # no wish in all this time
    elif mode is Mode.LIE_DOWN:
        bench = at(Mode.RUN)
        bench.cycle(orders=(Order.LIE_DOWN,))
        bench.cycles(0.5)
    else:
        bench = at(Mode.RUN)
        bench.cycle(orders=(Order.STOP,))
    assert bench.mode is mode
    return bench


def at(mode: Mode) -> Bench:
    """A robot in the midst of that mode."""
    return _at(mode).copy()


def registrar(promises: list):
    """A decorator that notes a promise, and the patch without whose original it must break."""

    def broken_by(where: object, what: str, broken: object):
        def noted(check):
            promises.append(pytest.param(check, (where, what, broken), id=check.__name__))
            return check

        return noted

    return broken_by


def unprotected(promise, patch, monkeypatch) -> None:
    """The promise must break where its protection is taken away."""
    for mode in Mode:
        at(mode)  # the robots to start from are made with the protection
    monkeypatch.setattr(*patch)
    with pytest.raises(AssertionError):
        promise()


def names(promises: list) -> list[str]:
    return [each.id for each in promises]
