"""Audit: the robot's own book of what it was told, against the rules that no command may break.

Written without a line of the gate's: range, rate, reach, torque, gains, and a first target where
the robot is. A gate judges by a state that is a little old when its command arrives; so a command
is wrong only if no state that the gate may still believe makes it right. A target may jump to where
the robot is: so begins a gate anew after a gap in what it heard, and it asks for no torque.

How fast a target moves is judged twice. From one command to the next it may move as far as in one
cycle of the gate, however close together they arrive: a busy machine delivers them in bunches. And
over some cycles it may not, on the whole, be faster than allowed: bunches do not add up.
"""

from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np

from ursa.gate.limits import Limits
from ursa.gate.wire import POSITION_OFF, Command, State

Array = np.ndarray
FIRST = 0.02  # rad: of a first target from the measured angle
ROUNDING = 1e-3  # rad and N m: the wire carries 32-bit floats and whole steps of the gains
KEPT = 20  # violations remembered in words
STRETCH = 10  # commands over which a target may not have been too fast on the whole


@dataclass
class Audit:
    """Counts, and the first violations in words."""

    limits: Limits
    spread: float = 0.0  # s that the link may squeeze two commands together
    slack: float = 0.0  # s that this machine may have let commands lie before it looked
    lag: float = 0.0  # s that a gate may take from what it decides to sending it
    counts: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    _told: deque[tuple[float, State]] = field(default_factory=lambda: deque(maxlen=256))
    # When, the target, and the slack then; the oldest first. Empty: there is none to go on from.
    _way: deque[tuple[float, Array, float]] = field(default_factory=lambda: deque(maxlen=STRETCH))
    _limp: float | None = None  # since when it is limp; a target that was overtaken may follow
    _range: tuple[Array, Array] | None = None
    _earlier: tuple[Array, Array] | None = None  # the range before that

    def tell(self, now: float, state: State) -> None:
        """The robot has said this."""
        self._told.append((now, state))

    def hear(self, now: float, command: Command, overtaken: bool = False) -> str | None:
        """The robot was told this; which rule it breaks, or None.

        `overtaken`: a later command came first. Then it is no step from the last target, and no
        target to go on from; how far it moves is not judged, all else is.
        """
        self.counts["commands"] += 1
        if overtaken:
            self.counts["overtaken"] += 1
            wrong = None if is_limp(command) else self._astray(now, command)
            return self._told_of(now, wrong)
        limp = is_limp(command) or not command.servo
        stopped = self._limp is not None and now - self._limp > self.spread + self.slack
        silent = bool(self._way) and now - self._way[-1][0] > self._oldest()
        if silent or (stopped and not limp):
            self.silent()
        wrong = None if limp else self._violation(now, command)
        if limp:
            self.counts["limp"] += 1
            self._limp = now if self._limp is None else self._limp
        else:
            self._way.append((now, command.angle, self.slack))
            self._limp = None
        return self._told_of(now, wrong)

    def _told_of(self, now: float, wrong: str | None) -> str | None:
        if wrong:
            self.counts["violations"] += 1
            if len(self.said) < KEPT:
                self.said.append(f"at {now:.3f} s: {wrong}")
        return wrong

    def silent(self) -> None:
        """Commands stopped for longer than a gate may overlook: the next target is a first one."""
        self._earlier = self._range or self._earlier
        self._range = self._limp = None
        self._way.clear()

    def _unfit(self, command: Command) -> str | None:
        """What no command may be, whatever was told before."""
        limits = self.limits
        if not all(np.isfinite(it).all() for it in (command.angle, command.kp, command.kd)):
            return "not finite"
        if np.abs(command.torque).max() > 0 or np.abs(command.speed).max() > 0:
            return "torque or speed fed forward"
        if (command.kp > limits.kp).any() or (command.kd > limits.kd).any():
            return "gains above the robot's"
        return "no damping" if (command.kd <= 0).any() else None

    def _astray(self, now: float, command: Command) -> str | None:
        """What a command that came late may not be, from wherever its target moved."""
        if wrong := self._unfit(command):
            return wrong
        angle, oldest = command.angle, self._oldest()
        known = [(self.limits.lower, self.limits.upper), self._range, self._earlier]
        known += [(s.angle - FIRST, s.angle + FIRST) for t, s in self._told if now - t <= oldest]
        ranges = [each for each in known if each is not None]
        lower = np.min([low for low, _ in ranges], axis=0)
        upper = np.max([high for _, high in ranges], axis=0)
        if ((angle < lower - ROUNDING) | (angle > upper + ROUNDING)).any():
            return f"target {angle.round(3).tolist()} out of range"
        return self._strain(now, command)

    def _violation(self, now: float, command: Command) -> str | None:
        if wrong := self._unfit(command):
            return wrong
        limits, angle = self.limits, command.angle
        lower, upper = self._range or (limits.lower, limits.upper)
        outside = bool(((angle < lower - ROUNDING) | (angle > upper + ROUNDING)).any())
        far = self._too_far(now, angle)
        if not self._way or outside or far:
            near = self._any(now, lambda s: float(np.abs(angle - s.angle).max()), FIRST)
            if near <= FIRST:
                self._earlier = self._range or self._earlier
                self._range = np.minimum(limits.lower, angle), np.maximum(limits.upper, angle)
                self._way.clear()  # it begins anew here
            elif not self._way:
                return f"first target {near:.3f} rad from the robot"
            elif outside:
                return f"target {angle.round(3).tolist()} out of range"
            else:
                return far
        return self._unreached(now, angle) or self._strain(now, command)

    def _unreached(self, now: float, angle: Array) -> str | None:
        """A target beyond its reach that does not come nearer, by every state that may be believed.

        Something may have moved the robot faster than a target may follow: then it follows.
        """
        if not self._way:
            return None
        before, last, slack = self._way[-1]
        # Between the two, commands may have been lost on the way, or have lain about.
        unknown = max(now - before - self.limits.period, 0.0) + self.spread + max(slack, self.slack)
        leeway = self.limits.rate * unknown + ROUNDING

        def over(state: State) -> float:
            allowed = np.maximum(self.limits.reach, np.abs(last - state.angle))
            return float((np.abs(angle - state.angle) - allowed).max())

        if self._any(now, over, leeway) <= leeway:
            return None
        far = self._any(now, lambda s: float(np.abs(angle - s.angle).max()), 0.0)
        return f"target {far:.3f} rad from the robot"

    def _too_far(self, now: float, angle: Array) -> str:
        """How far a target moved that moved too far, from the last one or from one long before."""
        cycle, spread = self.limits.period + self.lag, self.spread
        for index in (-1, 0) if len(self._way) > 1 else (-1,) if self._way else ():
            before, target, slack = self._way[index]
            passed = max(now - before, cycle) if index else now - before + cycle
            moved = float(np.abs(angle - target).max())
            # The earlier one may have lain about for as long as the slack then; so may this one.
            if moved > self.limits.rate * (passed + spread + max(slack, self.slack)) + ROUNDING:
                return f"target moved {moved:.4f} rad in {1000 * (now - before):.1f} ms"
        return ""

    def _strain(self, now: float, command: Command) -> str | None:
        """More torque than the robot has, by every state that may still be believed."""
        most = float(self.limits.torque.max())
        asked = self._any(now, lambda s: _asked(command, s), most)
        return f"asks for {asked:.2f} N m" if asked > most + 0.05 else None

    def _oldest(self) -> float:
        """Seconds after which no gate believes a state any more."""
        return self.limits.stale_stop + 2 * (self.spread + self.slack + self.limits.period)

    def _any(self, now: float, measure, enough: float) -> float:
        """The least that any recent state makes of it; stops looking when that is enough."""
        best, oldest = np.inf, self._oldest()
        for time, state in reversed(self._told):
            if now - time > oldest:
                break
            best = min(best, measure(state))
            if best <= enough:
                break
        return best


def is_limp(command: Command) -> bool:
    """No position loop and no torque: at most damping."""
    off = (command.kp == 0) | (command.angle >= 0.99 * POSITION_OFF)
    return bool(off.all() and (command.torque == 0).all() and (command.kd >= 0).all())


def _asked(command: Command, state: State) -> float:
    torque = command.kp * (command.angle - state.angle) - command.kd * state.speed
    return float(np.abs(torque).max())
