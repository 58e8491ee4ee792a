"""A computer that can be sent to sleep, and the gate's own loop on its clock, all in one process.

Time passes while somebody sleeps, and no other; the robot is one of arithmetic.
"""

import time
from collections import Counter

from benchmarks.loopback import Joints

from gate.gated import LIMITS, STANDING, is_limp
from ursa.gate.heard import Wish
from ursa.gate.modes import Mode, Order
from ursa.gate.wire import decode_state, encode_command
from ursa.live import gating
from ursa.shared import clock as clocks


class Enough(Exception):
    """So much time has passed that nothing more is expected."""


class Kernel:
    """In the place of the module `time`."""

    def __init__(self):
        self.awake, self.slept = 1000.0, 0.0  # s; the second: the computer itself
        self.end = float("inf")  # of what is awaited
        self.passing = lambda: None  # called whenever somebody sleeps

    def monotonic(self):
        return self.awake

    def clock_gettime(self, which):
        """Two clocks of Linux; only one of them counts what the computer slept."""
        assert which in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME)
        return self.awake + (self.slept if which == time.CLOCK_BOOTTIME else 0.0)

    def sleep(self, seconds):
        self.passing()
        self.awake += seconds
        if self.awake > self.end:
            raise Enough


class Wire:
    """In the place of a link: every command is answered."""

    def __init__(self):
        self.counts, self._joints, self._answer = Counter(), Joints(), None
        self.command = None  # the last

    def receive(self):
        found, self._answer = self._answer, None
        return None if found is None else decode_state(found)

    def send(self, command):
        self.command = command
        self._answer = self._joints.obey(encode_command(command))

    def cut(self):
        """What was under way is lost."""
        self._answer = None


class Ears:
    """In the place of the mailbox: a policy that always wishes to stand, and orders."""

    def __init__(self, clock):
        self.wishes = self.orders = self
        self.given, self._clock, self._count = (), clock, 0

    def newest(self):
        self._count += 1
        return Wish(angle=STANDING, sequence=self._count, time=self._clock.now())

    def waiting(self):
        return self.given

    def obeyed(self):
        self.given = ()

    def pose(self, now):
        return None


class Mouth:
    """In the place of the shared memory: what the gate told last."""

    last = told = None

    def say(self, told, *more):
        self.told = told


class Gate:
    """A gate on the clock of a computer."""

    def __init__(self, monkeypatch, leader=lambda kernel: None):
        """`leader`: makes the look at whoever looks after it."""
        self.kernel, clock = Kernel(), clocks.Wall()
        monkeypatch.setattr(clocks, "time", self.kernel)
        self.wire, self.ears, self._mouth = Wire(), Ears(clock), Mouth()
        parts = (clock, self.wire, self.ears, self._mouth)
        self.loop = gating.Loop(LIMITS, *parts, leader=leader(self.kernel))
        self.cycles(5)

    @property
    def told(self):
        return self._mouth.told

    @property
    def limp(self):
        return is_limp(self.wire.command)

    def cycles(self, count, *orders):
        """So many; the orders are there in the first."""
        self.ears.given = orders
        for _ in range(count):
            self.loop.cycle()

    def runs(self):
        """Stand up, follow the policy."""
        self.cycles(1000, Order.STAND)  # a ramp of 1.5 s is 750
        self.cycles(1, Order.RUN)
        assert self.told.mode is Mode.RUN, self.told
        assert not self.limp

    def lasts(self, seconds, ending):
        """What the loop says when it ends within so long; None if it does not."""
        self.kernel.end = self.kernel.awake + seconds
        try:
            return self.loop.run(ending)
        except Enough:
            return None
