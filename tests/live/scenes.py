"""A gate process in front of a robot and a clock that the test keeps: no time passes unasked."""

from gate.gated import STANDING, is_limp
from live.stacked import live_of, spawn
from live.stub_robot import Robot, bound
from ursa.gate import mailbox
from ursa.gate.modes import Mode, Order
from ursa.live import gating, settings
from ursa.shared import place
from ursa.shared.keeper import Keeper


class Scene:
    """A gate process, with a robot and a clock in this one."""

    def __init__(self, folder, desk=True):
        """`desk`: the test orders in place of a supervisor; else it has one of its own."""
        self.folder, self.live = folder, live_of(folder, blackbox=10.0)
        settings.write(folder, self.live)
        gating.create(folder, self.live)
        self.robot = Robot(bound(int(self.live.link.rpartition(":")[2])))
        self.keeper = Keeper(folder / "clock")
        self.ears, self.actor = mailbox.Listener(folder), mailbox.Wisher(folder)
        self.desk = mailbox.Orderer(folder, "supervisor") if desk else None
        self.gate = None

    @property
    def told(self):
        return self.ears.newest()

    def start(self, how=""):
        words = ("live.stub_gating", self.folder, how) if how else ("ursa.live.gating", self.folder)
        self.begins(spawn(self.folder / "gate.log", *words))

    def begins(self, process):
        """Let time pass until a gate speaks, which lives as long as this process."""
        before = -1 if self.told is None else self.told.cycle
        self.gate = process
        self.lets(lambda: self.told is not None and self.told.cycle > before)

    def lets(self, true, cycles=20_000, every=10):
        """Let time pass until something is so or the gate has ended, for so many cycles at most.

        It is looked at every tenth cycle only.
        """
        passed = 0
        while passed % every or not (true() or self.gate.poll() is not None):
            if self.keeper.due() is None and self.gate.poll() is not None:
                break
            if not self.keeper.settled(5) or self.keeper.due() is None:
                continue
            self.hears()
            if passed % 25 == 0:
                self.actor.wish(STANDING, self.keeper.now())
            self.keeper.advance(self.keeper.due())
            passed += 1
            assert passed < cycles, f"not within {cycles} cycles: {self.said()}"
        self.hears()
        return passed

    def hears(self):
        """The robot takes what was sent to it."""
        while self.robot.answer():
            pass

    def runs(self):
        self.desk.order(Order.STAND)
        self.lets(lambda: self.told.ready)
        self.desk.order(Order.RUN)
        self.lets(lambda: self.told.mode is Mode.RUN)
        assert not is_limp(self.robot.command)

    def ends(self):
        """Let time pass until the gate is gone; its exit code."""
        self.lets(lambda: False, cycles=4_000)
        return self.gate.wait()

    def said(self):
        return (self.folder / "gate.log").read_text()[-1500:]

    def close(self):
        if self.gate is not None:
            self.gate.kill()
            self.gate.wait()
        for each in (self.keeper, self.ears, self.actor, self.desk):
            if each is not None:
                each.close()
        self.robot.wire.close()
        place.forget(self.folder)
