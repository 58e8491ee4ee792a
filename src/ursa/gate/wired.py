"""Wired: one robot behind its gate, as the engine under a legged body. No JAX.

A control step is a wish to the gate, a sleep of one control period, and the states that the gate
believed meanwhile, one per cycle. So motion, estimator, observation, reward and cost are those of
simulation, the very same functions. Nothing here can place a robot, and the truth is not known.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from ursa.errors import UserError
from ursa.gate.machine import FOLLOWING
from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode
from ursa.gate.wire import State
from ursa.robot.engine import Impairment, Ticks
from ursa.robot.spec import RobotSpec
from ursa.shared.clock import Clock

Array = np.ndarray
OLDEST = 0.025  # s: a step that ended with an older state is not one to learn from
SILENT = 0.25  # s: a gate that says nothing for longer is dead or as good as that
MISSED = 0.5  # share of the gate's cycles that a step must have seen


@runtime_checkable
class Ear(Protocol):
    """What hears the gate: `mailbox.Listener`."""

    def newest(self) -> Told | None: ...

    def since(self, cycle: int) -> list[Told]: ...


@runtime_checkable
class Mouth(Protocol):
    """What the gate hears: `mailbox.Wisher`."""

    def wish(self, angle: Float[Array, " A"], now: float) -> object: ...


class Wired:
    """The robot as the gate tells of it. See `engine.Engine` for the verbs."""

    exact = False  # nobody can put a robot back to where it was
    count = 1
    real = True  # nothing here is computed: no words about physics

    def __init__(
        self,
        spec: RobotSpec,
        tick: float,
        ear: Ear,
        mouth: Mouth,
        clock: Clock,
        *,
        set_down: Callable[["Wired"], None] | None = None,
    ) -> None:
        """`tick` is the gate's cycle; `set_down` makes the robot stand, for who may order that."""
        self.spec, self.tick, self.clock = spec, tick, clock
        self._ear, self._mouth, self.set_down = ear, mouth, set_down
        self.stepped: Callable[[], None] | None = None  # called after each control step
        self._due = clock.now()
        self.told: Told | None = None  # by the gate, last
        self.trouble = ""  # why the last step is not one to learn from
        self.waited = 0  # control periods spent waiting

    @property
    def running(self) -> bool:
        """Whether the gate follows our wishes now, and its word is fresh."""
        told = self.told
        if told is None or told.state is None or told.mode is not Mode.RUN:
            return False
        return self.clock.now() - told.heard <= OLDEST

    @property
    def state(self) -> State:
        """The last state that can be believed."""
        if self.told is None or self.told.state is None:
            raise UserError("the robot has said nothing yet; is it switched on, and its gate?")
        return self.told.state

    def idle(self) -> None:
        """One control period in which the robot is asked to stay as it is."""
        told = self.told
        if told is not None and told.state is not None:
            stay = told.state.angle if told.target is None else told.target
            self._mouth.wish(stay, self.clock.now())
        self._period()
        self.waited += 1

    # ---- the engine's verbs -------------------------------------------------------------------

    def place(self, which: Bool[Array, " n"]) -> None:
        """Nobody but the gate can make it stand; without somebody to ask, it starts as it is."""
        if self.set_down is not None and which.any():
            self.set_down(self)

    def carry(self, which: Bool[Array, " n"]) -> None:
        """A person does this."""

    def advance(self, target: Float[Array, "n k A"]) -> Ticks:
        """One control step: the gate draws the line to the last target itself."""
        self._mouth.wish(target[0, -1], self.clock.now())
        heard = self._period()
        if self.stepped is not None:
            self.stepped()
        return _ticks(self.spec, [told.state for told in heard if told.state] or [self.state])

    def look(self) -> Ticks:
        return _ticks(self.spec, [self.state])

    def truth(self) -> Any:
        """Not on a robot."""
        return None

    def diverged(self) -> Bool[Array, " n"]:
        """For who can have it stand up again: the gate has taken it out of the policy's hands."""
        told = self.told
        given_up = told is None or told.mode not in FOLLOWING
        given_up = given_up or (told is not None and self.clock.now() - told.now > SILENT)
        return np.array([self.set_down is not None and given_up])

    def impair(self, impairment: Impairment) -> None:
        """Targets can be changed on the way to a robot, its motors cannot."""
        if impairment.locked.any() or (impairment.strength != 1).any():
            raise UserError(
                'damage of a robot over its link: want frozen joints (such as "FL.upper"), or '
                '"undamaged" for a robot that is broken already; weak, limp and locked motors '
                "cannot be told from here"
            )

    def vary(self, friction: Float[Array, " n"], mass: Float[Array, " n"]) -> None:
        raise UserError("the floor and the mass of a real robot cannot be set from here")

    def push(self, force: Float[Array, "n 3"]) -> None:
        raise UserError("a real robot is not pushed from here")

    def save(self) -> dict[str, Array]:
        raise UserError("the state of a real robot cannot be saved")

    def restore(self, state: Mapping[str, Array]) -> None:
        raise UserError("the state of a real robot cannot be restored")

    def close(self) -> None:
        """Mailbox and clock belong to who made them."""

    # ---- time ---------------------------------------------------------------------------------

    def _period(self) -> Sequence[Told]:
        """Sleep one control period, then hear what the gate told meanwhile."""
        self._due += self.spec.period
        now = self.clock.wait(self._due)
        late = now - self._due
        if late > self.spec.period:  # what was missed is not made up for
            self._due = now
        heard = self._ear.since(self.told.cycle) if self.told is not None else []
        newest = heard[-1] if heard else self._ear.newest()
        self.told = newest if newest is not None else self.told
        self.trouble = self._wrong(heard, now, late)
        return heard

    def _wrong(self, heard: Sequence[Told], now: float, late: float) -> str:
        """Why a step with these cycles is not a consequence of its action alone."""
        if late > self.spec.period:
            return f"late by {late:.3f} s"
        stray = next((told for told in heard if told.mode is not Mode.RUN), None)
        if stray is not None:
            return f"mode {stray.mode}"
        if len(heard) < MISSED * self.spec.period / self.tick:
            return f"{len(heard)} cycles of the gate"
        if now - heard[-1].heard > OLDEST:
            return f"a state {now - heard[-1].heard:.3f} s old"
        return ""


def _ticks(spec: RobotSpec, states: Sequence[State]) -> Ticks:
    """States as the estimator takes them, one robot."""

    def stacked(name: str) -> Array:
        return np.stack([getattr(state, name) for state in states])[None]

    return Ticks(
        joint_angle=stacked("angle"),
        joint_speed=stacked("speed"),
        torque=stacked("torque"),
        quaternion=stacked("quaternion"),
        gyro=stacked("gyro"),
        acceleration=stacked("acceleration"),
        contact=stacked("foot_force") > spec.foot_force,
    )
