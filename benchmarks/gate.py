"""Whether the gate keeps its 500 cycles a second here, and how long a stop takes to get out.

    python -m benchmarks.gate [--json FILE]

Real time, real processes, real datagrams: the gate's own loop on the machine's clock, in front of a
robot of arithmetic on loopback that answers each command. A cycle's work is from waking to having
told everybody; a deadline is missed when a whole period passed without a command. Measured alone,
then with every core computing beside it, with and without real-time priority. A stop is timed from
the order (or from the key, in a process that computes) to the first limp datagram at the robot.
"""

import os
import pty
import tempfile
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loopback import Robot, answering
from benchmarks.report import emit, run
from ursa.gate import mailbox
from ursa.gate.link import Link, address
from ursa.gate.modes import Mode, Order
from ursa.gate.wire import Command
from ursa.live import child, gating, settings
from ursa.live.keys import Keys
from ursa.live.settings import Live
from ursa.shared import place
from ursa.shared.clock import Wall

CYCLES = 10_000  # of each measurement: 20 s
STOPS = 40  # of each kind
PROMISED = 0.050  # s from a stop to limp
PERIOD = 0.05  # s between two wishes
PATIENCE = 15.0  # s for anything to happen
processes = get_context("spawn")
wall = Wall()  # what the gate goes by; another clock of the machine may be hours behind


def gate(cycles: int = CYCLES, stops: int = STOPS) -> None:
    cores = os.cpu_count() or 1
    for busy, hurry in ((0, True), (cores, True), (cores, False)):
        with Scene(hurry=hurry) as scene, computing(busy):
            kind = "real-time" if scene.hurried else "ordinary"
            name = f"gate at 500 Hz, {kind} priority, {busy} of {cores} cores busy"
            if not scene.runs():  # it was late so often that the gate would not have it
                cycle_times(f"{name}, limp", scene.timed(cycles))
                continue
            cycle_times(name, scene.timed(cycles))
            stop_times(f"stop order to packet: {name}", scene.stops(stops, scene.desk.order))
            if busy and hurry:
                with pressed(scene) as press:
                    stop_times(f"stop key to packet: {name}", scene.stops(stops, press))


def cycle_times(name: str, times: np.ndarray) -> None:
    """What a table of (woke, sent, done) for each cycle says."""
    woke, sent, done = times.T
    period = 1 / 500
    for what, seconds in (("work", done - woke), ("waking to packet", sent - woke)):
        quantiles(f"{what} of a cycle: {name}", seconds, 1e6, "us")
        emit(f"{what} of a cycle: {name}, max", 1e6 * float(seconds.max()), "us")
    between = np.diff(sent)
    quantiles(f"time between two packets: {name}", between, 1e3, "ms")
    emit(f"time between two packets: {name}, max", 1e3 * float(between.max()), "ms")
    missed = np.maximum(np.round(between / period) - 1, 0).sum()
    emit(f"missed deadlines: {name}", 1e5 * missed / len(times), "per 100k cycles")


def stop_times(name: str, seconds: np.ndarray) -> None:
    """Beside what is promised."""
    quantiles(name, seconds, 1e3, "ms")
    slowest = float(seconds.max())
    emit(f"{name}, slowest of {len(seconds)}", 1e3 * slowest, "ms", "50 ms", PROMISED / slowest)


def quantiles(name: str, values: np.ndarray, scale: float, unit: str) -> None:
    for share in (50, 99):
        emit(f"{name}, p{share}", scale * float(np.percentile(values, share)), unit)


class Stopwatch(Wall):
    """The machine's clock, and when it last woke somebody."""

    woke = 0.0

    def wait(self, until: float) -> float:
        self.woke = super().wait(until)
        return self.woke


class Timed(Link):
    """A link that knows when it last sent."""

    sent = 0.0

    def send(self, command: Command) -> bool:
        went = super().send(command)
        self.sent = wall.now()
        return went


def gated(folder: Path, asked: Any, tables: Any, hurry: bool) -> None:
    """A gate process: cycles until it is ended; sends the times of as many as are asked for."""
    live = settings.read(folder)
    limits, clock, hurried = live.gate_limits(), Stopwatch(), False
    if hurry:
        gating._hurry()
        hurried = os.sched_getscheduler(0) == os.SCHED_FIFO
    tables.send(hurried)
    with ExitStack() as stack:
        mouth = stack.enter_context(closing(gating.Mouth(folder)))
        link = Timed(address(live.link), limits.limp)
        stack.callback(link.close)
        ears = stack.enter_context(closing(gating.Ears(folder, live.pose)))
        loop, ending = gating.Loop(limits, clock, link, ears, mouth), child.Ending()
        times, count = np.empty((0, 3)), 0
        while not ending.asked:
            if asked.poll():
                times, count = np.empty((asked.recv(), 3)), 0
            loop.cycle()
            if count < len(times):
                times[count] = clock.woke, link.sent, wall.now()
                count += 1
                if count == len(times):
                    tables.send(times)


class Scene:
    """A gate process and a robot process; this one orders and wishes."""

    def __init__(self, *, hurry: bool) -> None:
        with ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            stack.callback(place.forget, self.folder)
            robot = stack.enter_context(closing(Robot()))
            live = Live(link="udp://{}:{}".format(*robot.address), blackbox=10.0)
            settings.write(self.folder, live)
            gating.create(self.folder, live)
            self._limped = stack.enter_context(answering(robot, processes))
            self._ask, asked = processes.Pipe()
            self._tables, tables = processes.Pipe()
            process = processes.Process(target=gated, args=(self.folder, asked, tables, hurry))
            process.start()
            stack.callback(process.join)
            stack.callback(process.terminate)
            self.hurried = bool(self._tables.recv())
            self._actor = stack.enter_context(closing(mailbox.Wisher(self.folder)))
            self._ears = stack.enter_context(closing(mailbox.Listener(self.folder)))
            self.desk = stack.enter_context(closing(mailbox.Orderer(self.folder, "supervisor")))
            self._left = stack.pop_all()

    def __enter__(self) -> "Scene":
        return self

    def __exit__(self, *_: object) -> None:
        self._left.close()

    def until(self, true: Callable[[mailbox.Told], bool]) -> None:
        """Wish to stay until the gate tells what we want to hear."""
        begun = time.monotonic()
        while (told := self._ears.newest()) is None or not true(told):
            self._wish(told)
            time.sleep(PERIOD / 10)
            assert time.monotonic() - begun < PATIENCE, f"the gate is stuck: {told}"

    def _wish(self, told: mailbox.Told | None) -> None:
        if told is not None and told.state is not None:
            angle = told.state.angle if told.target is None else told.target
            self._actor.wish(angle, wall.now())

    def runs(self) -> bool:
        """Stand up and follow; whether it did in the end. What happens on the way is forgiven."""
        begun = time.monotonic()
        while (told := self._ears.newest()) is None or told.mode is not Mode.RUN:
            if time.monotonic() - begun > PATIENCE or not self._led(Mode.STAND):
                return False
            self.desk.order(Order.RUN)  # refused until it stands
            later = wall.now() + 0.1
            self.until(lambda it, later=later: it.mode is Mode.RUN or it.now > later)
        return True

    def timed(self, cycles: int) -> np.ndarray:
        """When each of so many cycles woke, sent and was done."""
        self._ask.send(cycles)
        begun = time.monotonic()
        while not self._tables.poll(PERIOD):
            self._wish(self._ears.newest())
            assert time.monotonic() - begun < cycles / 100 + PATIENCE, "the gate is stuck"
        return self._tables.recv()

    def stops(self, count: int, order: Callable[[Order], object]) -> np.ndarray:
        """Seconds from a stop to the first limp datagram, again and again out of standing up."""
        found = np.empty(count)
        for index in range(count):
            led = [self._led(mode) for mode in (Mode.DAMP, Mode.STAND)]
            assert all(led), "it does not stand up any more"
            time.sleep(0.05 + 0.001 * (index % 7))  # at another moment of the cycle each time
            while self._limped.poll():
                self._limped.recv()
            begun = time.monotonic()
            order(Order.STOP)
            while not self._limped.poll():  # computing, in one thread of this process
                assert time.monotonic() - begun < PATIENCE, "the stop did not arrive"
            found[index] = self._limped.recv() - begun
        return found

    def _led(self, mode: Mode) -> bool:
        """To limp, or up from anywhere; an order that was refused is given again, for a while."""
        begun = time.monotonic()
        while (told := self._ears.newest()) is None or told.mode is not mode:
            faulted = told is not None and told.mode is Mode.FAULT
            wanted = Order.STAND if mode is Mode.STAND else Order.DAMP
            self.desk.order(Order.ACKNOWLEDGE if faulted else wanted)
            later = wall.now() + 0.02
            self.until(lambda it, later=later: it.mode is mode or it.now > later)
            if time.monotonic() - begun > PATIENCE:
                return False
        return True


@contextmanager
def pressed(scene: Scene) -> Iterator[Callable[[Order], object]]:
    """A stop by way of a terminal and the thread that hears it."""
    ours, theirs = pty.openpty()
    tty.setcbreak(theirs)
    with closing(mailbox.Orderer(scene.folder, "keys")) as mouth, closing(Keys(theirs)) as keys:
        keys.listen(mouth.order)
        yield lambda order: os.write(ours, b"s")
    os.close(ours)
    os.close(theirs)


@contextmanager
def computing(count: int) -> Iterator[None]:
    """So many processes that do nothing but compute."""
    busy = [processes.Process(target=_compute, daemon=True) for _ in range(count)]
    for each in busy:
        each.start()
    try:
        yield
    finally:
        for each in busy:
            each.terminate()
            each.join()


def _compute() -> None:
    matrix = np.ones((200, 200))
    while True:
        matrix = np.tanh(matrix @ matrix)


if __name__ == "__main__":
    run(gate)
