"""A gate that hangs is found in half a second: by a command without a supervisor, and at an end.

Time is virtual: it passes only while one of those who look sleeps between two looks.
"""

from contextlib import closing, suppress
from dataclasses import replace
from itertools import count
from threading import Event, Thread

import pytest

from live.hanging import Obedient, Stopped, Time
from live.stacked import LIMIT, live_of, until
from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate import blackbox, farewell, mailbox
from ursa.gate.modes import Mode
from ursa.live import boxes, gating, scribe, settings, stander, supervisor, vigil, ward
from ursa.live.gatekeeper import Gatekeeper
from ursa.live.scribe import Scribe
from ursa.live.settings import Patience
from ursa.live.supervisor import INTERRUPTED, LOCK, Supervisor
from ursa.live.vigil import Vigil
from ursa.live.ward import PAUSE, Ward
from ursa.shared import place, pulse

LONGEST = 10.0  # s of virtual time, then nobody is believed to notice
SOON = 1.0  # s after which one that was sabotaged is believed to wait for somebody


class Scene:
    """A gate that beats once and hangs; processes, time and the way to the robot are stubs."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.time = folder, Time()
        self.begun, self.limp = [], []  # when it beat; when the robot was told to go limp
        self.over = Event()  # that, or time is up
        self.live = live_of(folder, clock="wall", patience=Patience())
        monkeypatch.setattr(ward, "time", self.time)
        monkeypatch.setattr(ward.subprocess, "Popen", self.started)
        monkeypatch.setattr(farewell, "send", self.spoken)
        monkeypatch.setattr(stander, "READING", LIMIT)  # somebody reads, however busy he is

    def started(self, words, **more):
        if words[2] != self.live.modules.gate:
            return Obedient()
        beats = pulse.Pulse(self.folder, "gate")
        beats.beat(10)
        beats.close()
        self.begun.append(self.time.now)
        return Stopped()

    def spoken(self, robot, limits):
        self.limp.append(self.time.now)
        self.over.set()
        return "limp"


@pytest.fixture
def scene(tmp_path, monkeypatch):
    yield Scene(tmp_path, monkeypatch)
    place.forget(tmp_path)


# ---- while a command uses a robot -------------------------------------------------------------


def alone(scene, monkeypatch):
    """Nothing but the vigil looks, and time is its own."""

    class Sleep(Event):
        """How a vigil sleeps: virtual time passes, and no other."""

        def wait(self, timeout=None):
            scene.time.sleep(timeout)
            if scene.time.now > scene.begun[0] + LONGEST:
                scene.over.set()
            return self.is_set()

    monkeypatch.setattr(vigil, "Event", Sleep)
    monkeypatch.setattr(stander.ready, "held", lambda *arguments: None)
    monkeypatch.setattr(stander, "heard", lambda engine: True)


def watched(scene, monkeypatch):
    """Seconds from the beat to the limp command, while the program computes; None: nobody does."""
    alone(scene, monkeypatch)
    said = []
    with stander.gated(scene.folder, scene.live, said.append) as engine:
        assert scene.over.wait(LIMIT)  # it computes, and looks at nothing meanwhile
        if not scene.limp:
            return None
        with pytest.raises(UserError, match="the gate is gone; see what was said above"):
            engine.set_down(engine)
    assert said[1].startswith("gate hung for 0.5 s and was killed, 1 times")
    assert len(scene.begun) == 1  # no other gate was started
    return scene.limp[0] - scene.begun[0]


def test_a_gate_that_hangs_while_a_command_computes_is_killed_and_the_robot_limp(
    scene, monkeypatch
):
    """A look that sees the beat, half a second, and the look after that."""
    assert 0.5 <= watched(scene, monkeypatch) <= 0.5 + 3 * PAUSE


def test_a_command_that_only_looks_whether_its_gate_is_dead_would_not_notice(scene, monkeypatch):
    """Sabotage: as a look at the process alone has it, which is there."""
    monkeypatch.setattr(Ward, "hangs", lambda self: False)
    assert watched(scene, monkeypatch) is None


def test_a_command_that_looks_between_two_steps_only_would_not_notice(scene, monkeypatch):
    """Sabotage: a thread that starts the gate, and then leaves the looks to the program."""

    def lazy(self):
        self._keeper.look()
        while not self._over.wait(PAUSE):
            pass

    monkeypatch.setattr(Vigil, "_watch", lazy)
    assert watched(scene, monkeypatch) is None


def beats(scene, monkeypatch):
    """How often the gate was told that somebody looks, while the program computed."""
    alone(scene, monkeypatch)
    with stander.gated(scene.folder, scene.live, lambda said: None):
        assert scene.over.wait(LIMIT)
        last = pulse.last(scene.folder, "vigil")
    return 0 if last is None else last.number


def test_a_gate_is_told_at_every_look_that_somebody_looks(scene, monkeypatch):
    """25 looks in the half second until it hangs; one more or less at either end."""
    assert 24 <= beats(scene, monkeypatch) <= 28


def test_one_that_looks_without_a_word_would_be_taken_for_hung(scene, monkeypatch):
    """Sabotage."""

    def mute(self):
        while self._keeper.look() and not self._over.wait(PAUSE):
            pass

    monkeypatch.setattr(Vigil, "_watch", mute)
    assert beats(scene, monkeypatch) == 0


def limp_unread(scene, monkeypatch, patience):
    """Whether the robot is limp after a while, though nobody reads that its gate hangs."""
    alone(scene, monkeypatch)
    read = Event()
    with stander.gated(
        scene.folder, scene.live, lambda said: said.startswith("gate hung") and read.wait()
    ):
        scene.over.wait(patience)
        limp = bool(scene.limp)
        read.set()
    return limp


def test_a_terminal_that_nobody_reads_does_not_hold_up_the_limp_command(scene, monkeypatch):
    assert limp_unread(scene, monkeypatch, LIMIT)


def test_a_vigil_that_waits_for_its_terminal_would_leave_it_standing(scene, monkeypatch):
    """Sabotage."""

    class Direct:
        def __init__(self, sink, name):
            self.put = sink

        def close(self, patience):
            return True

    monkeypatch.setattr(stander, "Outlet", Direct)
    assert not limp_unread(scene, monkeypatch, SOON)


def memory_left(scene, monkeypatch, fault=""):
    """Whether the memory of a command is there after its end; its gate may have told a fault."""
    memory = place.shared(scene.folder)
    alone(scene, monkeypatch)
    with stander.gated(scene.folder, scene.live, lambda said: None):
        scene.over.wait(LIMIT)
        with closing(mailbox.Teller(scene.folder)) as gate:
            gate.tell(mailbox.Told(cycle=1, now=1.0, mode=Mode.DAMP, since=0.5, fault=fault))
    return memory.exists()


def test_a_command_that_used_a_robot_gives_its_memory_back(scene, monkeypatch):
    assert not memory_left(scene, monkeypatch)


def test_without_that_it_would_stay_until_the_machine_is_restarted(scene, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(stander, "forget", lambda folder: None)
    assert memory_left(scene, monkeypatch)


def test_why_the_robot_waits_for_a_person_is_remembered(scene, monkeypatch):
    assert memory_left(scene, monkeypatch, "stop by order")


# ---- at an end --------------------------------------------------------------------------------


def ended_alone(scene, monkeypatch):
    """The end of a command that uses a robot: from asking the gate to the limp command."""
    keeper = Gatekeeper(scene.folder, scene.live, print, lambda: False)
    keeper.look()
    keeper.look()
    asked = scene.time.now
    keeper.end(stander.GONE)
    keeper.ward.close()
    return scene.limp[-1] - asked


def ended_in_order(scene, monkeypatch):
    """The end of a run: from the signal to the limp command."""
    monkeypatch.setattr(supervisor, "time", scene.time)
    settings.write(scene.folder, scene.live)
    run = Supervisor(scene.folder, scene.live, Claim(scene.folder / LOCK, scene.folder), print)
    run.look()
    run.look()
    asked = scene.time.now
    assert run.run(lambda: True, lambda _: None) == INTERRUPTED
    return scene.limp[-1] - asked


@pytest.mark.parametrize("end", [ended_alone, ended_in_order])
def test_a_gate_that_hangs_at_an_end_is_not_waited_for(scene, monkeypatch, end):
    assert 0.5 <= end(scene, monkeypatch) <= 0.5 + 3 * PAUSE
    assert len(scene.limp) == 1


@pytest.mark.parametrize(("end", "seconds"), [(ended_alone, 30.0), (ended_in_order, 60.0)])
def test_an_end_that_does_not_look_would_wait_as_long_as_for_one_that_lies_down(
    scene, monkeypatch, end, seconds
):
    """Sabotage."""
    monkeypatch.setattr(Ward, "relieve", lambda self: None)
    assert seconds <= end(scene, monkeypatch) <= seconds + 3 * PAUSE


# ---- a disk that hangs ------------------------------------------------------------------------


def unwritten(scene, monkeypatch, patience=LIMIT):
    """Whether a command hears that its gate is lost, and leaves, while a disk takes nothing."""
    alone(scene, monkeypatch)
    monkeypatch.setattr(boxes, "PATIENCE", 0.1)
    keeper, writing, disk = stander_of(scene), Event(), Event()
    watch = Vigil(keeper, lambda why: writing.set() or disk.wait())
    leaving = Thread(target=watch.close, daemon=True)
    try:
        assert writing.wait(LIMIT)
        with suppress(UserError):
            watch.check()
            return "not heard"
        leaving.start()
        leaving.join(patience)
        return "kept" if leaving.is_alive() else "left"
    finally:
        disk.set()
        watch._thread.join(LIMIT)
        keeper.ward.close()


def stander_of(scene):
    """The keeper of a gate of one's own, which is started once."""
    gating.create(scene.folder, scene.live)
    once = replace(scene.live, restarts=replace(scene.live.restarts, allowed=0))
    return Gatekeeper(scene.folder, once, print, lambda: False)


def test_a_disk_that_hangs_hides_no_lost_gate_and_keeps_nobody_from_leaving(scene, monkeypatch):
    assert unwritten(scene, monkeypatch) == "left"


def test_one_that_asks_its_thread_alone_would_go_on_with_a_dead_gate(scene, monkeypatch):
    """Sabotage: the thread lives, and waits for the disk."""
    monkeypatch.setattr(vigil, "GONE", "")
    assert unwritten(scene, monkeypatch) == "not heard"


def test_one_that_waits_until_all_is_written_would_stay(scene, monkeypatch):
    """Sabotage."""

    class Waiting(Thread):
        def join(self, timeout=None):
            super().join()

    monkeypatch.setattr(vigil, "Thread", Waiting)
    assert unwritten(scene, monkeypatch, SOON) == "kept"


def scribbled(scene, monkeypatch, patience=LIMIT):
    """Whether a scribe leaves that has a fault to write down, and a disk that takes nothing."""
    writing, disk, cycles = Event(), Event(), count(1)
    monkeypatch.setattr(scribe, "PATIENCE", 0.1)
    monkeypatch.setattr(blackbox, "dump", lambda *words: writing.set() or disk.wait())
    gating.create(scene.folder, scene.live)
    found = Scribe(scene.folder, print)
    leaving = Thread(target=found.close, daemon=True)
    try:
        with closing(mailbox.Teller(scene.folder)) as gate:  # of a fault from before it writes none
            until(lambda: writing.is_set() or gate.tell(faulty(next(cycles))), "it writes")
        leaving.start()
        leaving.join(patience)
        return not leaving.is_alive()
    finally:
        found._over.set()
        disk.set()
        found._thread.join(LIMIT)


def faulty(cycle):
    return mailbox.Told(cycle=cycle, now=cycle, mode=Mode.FAULT, since=cycle, fault="hot")


def test_a_scribe_whose_disk_hangs_is_left_alone_too(scene, monkeypatch):
    assert scribbled(scene, monkeypatch)


def test_a_scribe_that_is_waited_for_would_keep_the_command_from_leaving(scene, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Scribe, "close", lambda self: self._over.set() or self._thread.join())
    assert not scribbled(scene, monkeypatch, SOON)
