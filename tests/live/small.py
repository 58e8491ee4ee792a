"""A doll, its gate and their mailbox in one process; who sleeps lets all of it go on.

The doll is an A1 of arithmetic: its joints are where they were told to be, it stands on its feet
whatever it does. Its gate runs at 100 Hz, so that a minute of its life costs a second.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ursa.gate import gate, machine, mailbox
from ursa.gate.limits import limits_of
from ursa.gate.modes import Mode
from ursa.gate.wire import SERVO, Command, State
from ursa.gate.wired import Wired
from ursa.live.gating import told_of
from ursa.robot.a1 import A1

PERIOD = 0.01
LIMITS = replace(limits_of(A1), period=PERIOD)


class Doll:
    """Lies with folded legs at first."""

    def __init__(self) -> None:
        self.state = State(
            tick=0,
            quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
            gyro=np.zeros(3),
            acceleration=np.array([0.0, 0.0, 9.81]),
            angle=LIMITS.lying.copy(),
            speed=np.zeros(12),
            torque=np.zeros(12),
            temperature=np.full(12, 30.0),
            mode=np.full(12, SERVO),
            foot_force=np.full(4, 40.0),
        )

    def obey(self, command: Command) -> State:
        angle = np.where(command.kp > 0, command.angle, self.state.angle)
        tick = self.state.tick + 1
        self.state = replace(
            self.state,
            tick=tick,
            angle=angle,
            speed=(angle - self.state.angle) / PERIOD,
            gyro=np.array([0.0, 0.0, 1e-6 * (tick % 7)]),  # a sensor that never changes is broken
        )
        return self.state


class Small:
    """The clock of the actor: its `wait` runs the gate's cycles and the doll between them."""

    def __init__(self, folder: Path, doll: Any = None) -> None:
        """`doll`: another one, of whatever it is made; `obey` takes a command, returns a state."""
        folder.mkdir(exist_ok=True)
        mailbox.create(folder)
        self.doll, self._said = doll or Doll(), None
        self.teller, self.wishes = mailbox.Teller(folder), mailbox.Wishes(folder)
        self.orders, self.ear = mailbox.Orders(folder), mailbox.Listener(folder)
        self.mouth, self.orderer = mailbox.Wisher(folder), mailbox.Orderer(folder, "supervisor")
        self.state, self.cycles = machine.begin(LIMITS), 100  # one second
        self.modes: list[Mode] = []
        self.wait(1.1)

    def engine(self) -> Wired:
        engine = Wired(A1, PERIOD, self.ear, self.mouth, self)
        engine.idle()
        return engine

    def now(self) -> float:
        return self.cycles * PERIOD

    def wait(self, until: float) -> float:
        while self.now() < until - 1e-9:
            self._cycle()
        return self.now()

    def alive(self) -> None: ...

    def close(self) -> None:
        for it in (self.teller, self.wishes, self.orders, self.ear, self.mouth, self.orderer):
            it.close()

    def _cycle(self) -> None:
        self.cycles += 1
        orders, wish = self.orders.waiting(), self.wishes.newest()
        command, self.state, _ = gate.step(LIMITS, self.now(), self._said, wish, orders, self.state)
        self.orders.obeyed()
        self._said = self.doll.obey(command)
        self.teller.tell(told_of(self.cycles, self.now(), self.state, None))
        if not self.modes or self.modes[-1] is not self.state.mode:
            self.modes.append(self.state.mode)
