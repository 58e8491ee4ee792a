"""One bad sensor value on its way: gate, actor, ring, recorder, log, other machine, replay.

A life is one control step and what the actor makes of it: a robot of arithmetic that follows, a
real gate and a real actor on it, and somewhere in the step so many packets in a row with one number
wrong. They are given to the gate behind the wire, whose own check would refuse most of them.
"""

import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path

import numpy as np

from gate.gated import PERIOD, Bench, at
from gate.test_sensors import FIELDS, REPEATS, WRONG, spoilt
from live.carriers import KEY, Once, begun
from ursa import replay
from ursa.channel import carrier
from ursa.channel.channel import Channel
from ursa.env.arena import Arena
from ursa.gate.heard import Wish
from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode
from ursa.gate.wired import Wired
from ursa.live.actor import Actor
from ursa.live.carrying import Carrying
from ursa.live.desk import Desk
from ursa.live.gating import told_of
from ursa.live.replica import Replica
from ursa.live.settings import Live
from ursa.log import rows as reading
from ursa.log.record import Steps
from ursa.log.rows import NAMES
from ursa.log.store import Log, Recorder, ring_of
from ursa.robot.a1 import A1
from ursa.robot.legged import LeggedBody
from ursa.shared import ring
from ursa.task import registry as tasks
from ursa.types import Batch, Row

STEP, CHUNK = 25, 1024  # cycles of a control step; rows that a log gives at a time
TASK = tasks.task("forward", A1)
LIVE = Live(observation=34, action=12, posture=len(TASK.posture_names), skill=2)
Case = tuple[str, int, str, int]  # field, place, what is wrong, packets in a row


def cases(fields=FIELDS, faults=tuple(WRONG)) -> Iterator[Case]:
    for name, place in fields:
        for fault in faults:
            for repeat in REPEATS:
                yield name, place, fault, repeat


class Life:
    """Clock, ear and mouth of an actor in one; its `wait` lets gate and robot go on."""

    def __init__(self, case: Case | None, number: int) -> None:
        """`number`: which of its possible places in the control step the first lie has."""
        self.bench: Bench = at(Mode.RUN)
        self._case, self._cycle = case, 0
        few = 1 if case is None else min(case[3], 3)  # three in a row end within the step
        self._begins = STEP - few + 1 - number % (STEP - few + 1)  # else anywhere in it
        self._told: list[Told] = []
        self._turn()

    def now(self) -> float:
        return self.bench.now

    def wait(self, until: float) -> float:
        while self.bench.now < until - 1e-9:
            self._turn()
        return self.bench.now

    def alive(self) -> None: ...

    def close(self) -> None: ...

    def newest(self) -> Told:
        return self._told[-1]

    def since(self, cycle: int) -> list[Told]:
        return [told for told in self._told if told.cycle > cycle]

    def wish(self, angle: np.ndarray, now: float) -> None:
        bench = self.bench
        bench.sequence += 1
        bench.wish = Wish(angle=np.array(angle), sequence=bench.sequence, time=now)

    def _turn(self) -> None:
        """A command outside the limits fails in here."""
        packet = "good"
        if self._case is not None:
            name, place, fault, repeat = self._case
            if 0 <= self._cycle - self._begins < repeat:
                packet = spoilt(self.bench, name, place, fault, self.bench.state.seen.state)
        self.bench.cycle(packet)
        self._cycle += 1
        self._told.append(told_of(self._cycle, self.bench.now, self.bench.state, None))


class Still:
    """A pilot that keeps what its network was given; it stands, and at the second look it rests."""

    class Known:
        version, skills = 3, np.array([[0.5, -0.5]], np.float32)

    def __init__(self) -> None:
        self.known, self.given = self.Known, []

    def take(self) -> None: ...

    def act(self, observation, first, z, number) -> np.ndarray | None:
        self.given.append(np.array(observation))
        return np.zeros(12) if first else None  # without an action the row is put, and no step made


class Way:
    """Where the lives of many cases leave their rows: a run's folder, and a copy of it."""

    def __init__(self, root: Path) -> None:
        self.robot, self.copy = begun(root / "robot", LIVE), root / "copy"
        self.copy.mkdir()
        self.recorder = Recorder(self.robot, LIVE.layout)
        self.writer = ring.Writer(ring_of(self.robot))
        self.pilot, self.refused, self.begins = Still(), 0, []
        self.modes: list[Mode] = []

    def live(self, case: Case | None) -> None:
        """One life; its rows are in the ring."""
        life = Life(case, len(self.begins) // len(REPEATS))
        self.begins.append((self.writer.next, case))
        engine = Wired(A1, PERIOD, life, life, life)
        engine.told = life.newest()
        place = Arena(LeggedBody(engine), TASK, radius=None)
        actor = Actor(place, self.pilot, self.writer, LIVE.layout, seed=0, skill_period=5)
        actor._outcome = actor.arena.start()
        actor.turn()
        if actor._outcome is not None or (case is not None and case[3] > STEP):
            actor.turn()  # the row of that step; or another step of the same lies
        self.refused += actor.counts["refused"]
        self.modes.append(life.bench.mode)
        if self.writer.waiting > self.writer.slots // 4:
            self.record()

    def record(self) -> None:
        while self.recorder.flush(1e9):
            pass

    def carry(self) -> int:
        """The robot's log to the other machine, over the channel; how many rows are there."""
        mine, theirs = Pipe()
        replica = Replica(self.copy)
        desk = Desk(Once(Channel(theirs, KEY, carrier.LEARNER), lambda: None), replica)
        over = threading.Event()

        def attend() -> None:
            while not over.is_set():
                desk.turn(0.01)
            replica.close()  # SQLite lets go only in the thread that began

        thread = threading.Thread(target=attend)
        thread.start()
        try:
            with closing(
                Carrying(self.robot, LIVE, lambda: Channel(mine, KEY, carrier.ROBOT))
            ) as it:
                while it.turn(0.0):
                    pass
                return it.end
        finally:
            over.set()
            thread.join()
            desk.close()

    def close(self) -> None:
        for each in (self.writer, self.recorder):
            with suppress(OSError):
                each.close()

    def whose(self, number: int) -> Case | None:
        """The case that a row is of."""
        return next(case for first, case in reversed(self.begins) if first <= number)


def logged(folder: Path) -> Steps:
    """Every row of a log, those that nothing is learnt from too."""
    with closing(Log(folder, LIVE.layout)) as log:
        ((_, steps),) = log.steps(0, min(log.end(), CHUNK))
        found = [steps, *(some for _, some in log.steps(CHUNK, log.end()))]
        assert log.faults == []
    row = {name: np.concatenate([getattr(it.row, name) for it in found]) for name in NAMES}
    return replace(steps, row=Row(**row), marks=np.concatenate([it.marks for it in found]))


def learnt(folder: Path) -> Row:
    """What the learner of a folder puts into its replay."""
    with closing(Log(folder, LIVE.layout)) as log:
        found = reading.read(log, 0, log.end())
    assert found is not None
    return found


def batches(rows: Row, length: int = 8) -> Batch:
    """Windows of a learner's replay that hold each of these rows, as its networks get them."""
    count = reading.count(rows)
    empty = replay.empty(1, count, LIVE.layout.sizes)
    seeded = Row(**{name: getattr(rows, name) for name in NAMES})
    filled = replay.rebuild(empty, [(0, seeded)])
    starts = np.minimum(np.arange(0, count, length), count - length).astype(np.int32)[:, None]
    return replay.window(filled, np.zeros_like(starts), starts, length)
