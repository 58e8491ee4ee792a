"""A gate with a small policy for an emulated A1: straight into it, or by UDP on a shared clock."""

import hashlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ursa.emulator.emulator import Emulator
from ursa.emulator.script import Script
from ursa.emulator.serving import Server, listening, step_shared
from ursa.gate import gate, machine
from ursa.gate.heard import Wish
from ursa.gate.limits import Limits, limits_of
from ursa.gate.link import Link, newest
from ursa.gate.modes import Mode, Order
from ursa.gate.pose import finished
from ursa.gate.wire import Command, Refused, State, encode_command
from ursa.robot import gait, motion
from ursa.robot.a1 import A1
from ursa.shared.clock import Clock, Shared
from ursa.shared.keeper import Keeper

PERIOD = 0.002
LIMITS = limits_of(A1)
Act = Callable[[int], np.ndarray]


def trot(step: int) -> np.ndarray:
    return gait.trot(A1, step)


class Pilot:
    """The gate, an operator who always wants it to run, and a policy of twenty actions a second."""

    def __init__(self, act: Act = trot, limits: Limits = LIMITS, persistent: bool = True) -> None:
        self.limits, self.act, self.persistent = limits, act, persistent
        self.state = machine.begin(limits)
        self.wish: Wish | None = None
        self.cycles = self.steps = 0
        self.modes: list[tuple[float, Mode]] = []
        self._path = motion.begin(limits.stance[None])

    @property
    def mode(self) -> Mode:
        return self.state.mode

    def cycle(self, now: float, packet: State | Refused | None) -> Command:
        if self.cycles % 25 == 0:
            self._policy(now)
        self.cycles += 1
        command, self.state, _ = gate.step(
            self.limits, now, packet, self.wish, self._orders(), self.state
        )
        if not self.modes or self.modes[-1][1] is not self.mode:
            self.modes.append((now, self.mode))
        return command

    def _policy(self, now: float) -> None:
        if self.mode is Mode.RUN:
            action = self.act(self.steps)[None]
            self._path, _ = motion.advance(A1, motion.MotionConfig(), self._path, action, 25)
            self.steps += 1
        elif self.mode is not Mode.HOLD:
            self._path, self.steps = motion.begin(self.limits.stance[None]), 0
        self.wish = Wish(angle=self._path.target[0], sequence=self.cycles, time=now)

    def _orders(self) -> tuple[Order, ...]:
        if self.cycles % 10 or (not self.persistent and self.mode is Mode.FAULT):
            return ()
        if self.mode is Mode.STAND:
            return (Order.RUN,) if finished(self.state.pose) else ()
        wanted = {Mode.FAULT: Order.ACKNOWLEDGE, Mode.DAMP: Order.STAND}
        return (wanted[self.mode],) if self.mode in wanted else ()


class Trace:
    """Every bit of where the robot was, tick by tick."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, emulator: Emulator) -> None:
        ticks = emulator.rig.physics.ticks
        self._hash.update(ticks.joint_angle[0, -1].tobytes() + ticks.quaternion[0, -1].tobytes())
        self._hash.update(repr(emulator.rig.place()).encode())

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def driven(
    emulator: Emulator,
    pilot: Pilot,
    seconds: float,
    watch: Callable[[float, Command], None] | None = None,
) -> str:
    """Lock-step without sockets: a gate cycle every 2 ms. A digest of every bit of the way."""
    trace, counts, last = Trace(), Counter(), None
    start = round(emulator.now / PERIOD)
    for count in range(1, round(seconds / PERIOD) + 1):
        now = round((start + count) * PERIOD * 1e9) / 1e9  # as a shared clock tells it
        packet = newest(emulator.advance(now), last, counts)
        last = packet.tick if isinstance(packet, State) else last
        command = pilot.cycle(now, packet)
        emulator.hear(now, encode_command(command))
        trace.add(emulator)
        if watch is not None:
            watch(now, command)
    return trace.digest


def trotted_over_udp(
    path: Path, cycles: int, seed: int, script: Script | None = None, slow: float = 0.0
) -> tuple[Emulator, Pilot, str]:
    """Gate and emulator on a shared clock, in two threads with a socket between them.

    `slow`: real seconds by which the gate dawdles every 100 cycles.
    """
    keeper = Keeper(path)
    emulator = Emulator(start=keeper.now(), seed=seed, script=script)
    server = Server(emulator, listening(("127.0.0.1", 0)))
    pilot, trace, done = Pilot(), Trace(), threading.Event()
    end = emulator.start + cycles * PERIOD

    def serve() -> None:
        while not done.is_set():
            if keeper.attending() and keeper.settled():
                step_shared(server, keeper)
                if emulator.now <= end + PERIOD / 2:
                    trace.add(emulator)

    def dawdle() -> None:
        if slow and pilot.cycles % 100 == 0:
            time.sleep(slow)

    thread = threading.Thread(target=serve, daemon=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # two threads that take turns: the usual 5 ms are ages
    thread.start()
    clock = Shared(path, "gate")
    with Link(server.local, LIMITS.limp) as link:
        gated(clock, link, pilot, cycles, dawdle)
    done.set()
    clock.close()
    thread.join()
    sys.setswitchinterval(interval)
    server.close()
    keeper.close()
    return emulator, pilot, trace.digest


def gated(clock: Clock, link: Link, pilot: Pilot, cycles: int, dawdle: Callable[[], None]) -> None:
    """A gate process in small: on its clock, over its link, for so many cycles."""
    start = round(clock.now() / PERIOD)
    for count in range(1, cycles + 1):
        now = clock.wait((start + count) * PERIOD)
        link.send(pilot.cycle(now, link.receive()))
        dawdle()
