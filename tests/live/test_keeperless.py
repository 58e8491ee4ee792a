"""An emulator that is gone is nobody's mistake: its run waits for another as long as it may."""

import subprocess
import sys
from contextlib import closing

import pytest

from live.hanging import Obedient, Time
from live.stacked import LIMIT, live_of
from live.test_contact import told
from log.logs import LAYOUT
from ursa.claim import Claim
from ursa.gate import mailbox
from ursa.live import child, gatekeeper, supervisor, ward
from ursa.live.boxes import Boxes
from ursa.live.settings import Patience, Restarts
from ursa.live.supervisor import GAVE_UP, INTERRUPTED, LOCK, Supervisor
from ursa.log.store import Recorder
from ursa.shared import clock as clocks
from ursa.shared import place, pulse
from ursa.shared.keeper import Keeper

HOUR = 3600.0
LONG = Patience(gate=HOUR, recorder=HOUR, learner=HOUR, actor=HOUR, start=HOUR)  # nobody hangs
ON_CLOCK = ("ursa.live.gating", "live.stub_acting")


class Seconds(Time):
    """Real time for a supervisor: a second passes whenever it sleeps."""

    def __init__(self):
        self.passing = lambda: None

    def sleep(self, seconds):
        self.now += 1.0
        self.passing()


class Sleeper(Obedient):
    """A process on a shared clock: without a keeper it ends by itself, with that exit code."""

    def __init__(self, time, path, code):
        self._time, self._path, self._code, self._heard = time, path, code, time.now

    def poll(self):
        if clocks.kept(self._path):
            self._heard = self._time.now
        if self.returncode is None and self._time.now - self._heard > clocks.GONE:
            self.returncode = self._code
        return self.returncode


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    place.forget(tmp_path)


def waited(folder, monkeypatch, silence, code=child.LATER, returns=None, until=2 * HOUR):
    """A run whose emulator is gone, and another comes after so long; code, seconds and words."""
    time, heard, path = Seconds(), [], folder / "clock"
    Keeper(path).close()
    Recorder(folder, LAYOUT).close()  # all roles begin when the ring is there
    live = live_of(folder, silence=silence, patience=LONG, restarts=Restarts())

    def started(words, **more):
        if "stub_acting" in words[2]:
            with closing(pulse.Pulse(folder, "actor")) as beating:
                beating.beat(0, waiting="for another process")
        return Sleeper(time, path, code) if words[2] in ON_CLOCK else Obedient()

    monkeypatch.setattr(ward.subprocess, "Popen", started)
    monkeypatch.setattr(ward, "time", time)
    monkeypatch.setattr(supervisor, "time", time)
    monkeypatch.setattr(gatekeeper.farewell, "send", lambda *words: "limp")
    monkeypatch.setattr(Boxes, "keep", lambda self, why: None)
    run = Supervisor(folder, live, Claim(folder / LOCK, folder), heard.append)
    gate, keepers, begun = mailbox.Teller(folder), [], time.now

    def passing():
        if returns is not None and time.now == begun + returns:
            keepers.append(Keeper(path))
        if keepers and not run.wards["gate"].ended():
            gate.tell(told(time.now, time.now))

    time.passing = passing
    code = run.run(lambda: time.now > begun + until, lambda _: None)
    for each in (gate, *keepers):
        each.close()
    return code, time.now - begun, "\n".join(heard)


@pytest.mark.parametrize("silence", [600.0, HOUR])
def test_a_run_without_its_emulator_waits_as_long_as_it_was_told_to(folder, monkeypatch, silence):
    code, seconds, heard = waited(folder, monkeypatch, silence)
    assert code == GAVE_UP
    assert silence <= seconds <= silence + 65  # and the patience of the end
    assert f"longer than --silence {silence:g}: giving up" in heard
    for role in ("gate", "actor"):
        assert heard.count(f"{role} ended with exit code {child.LATER}; starting") >= silence / 65


def test_it_goes_on_when_another_emulator_keeps_the_clock(folder, monkeypatch):
    code, seconds, heard = waited(folder, monkeypatch, HOUR, returns=1800.0)
    assert code == INTERRUPTED  # in the end it was asked to
    assert seconds > 2 * HOUR
    assert heard.count("the robot answers again") == 1
    assert "giving up" not in heard


@pytest.mark.parametrize(
    ("code", "most", "why"),
    [
        (child.MISTAKE, 180, "actor ended with exit code 2, 2 times in a row at the same place"),
        (1, 1200, "ended with exit code 1, 21 times in a row, each within 600 s of its start"),
    ],
)
def test_one_that_takes_it_for_a_mistake_or_a_defect_would_give_up(
    folder, monkeypatch, code, most, why
):
    """Sabotage."""
    ended, seconds, heard = waited(folder, monkeypatch, HOUR, code)
    assert ended == GAVE_UP
    assert seconds < most
    assert f"{why}: giving up" in heard


# ---- how such a process leaves ----------------------------------------------------------------

PROCESS = """
from ursa.live import child
from ursa.shared.clock import Shared
child.Gone = {gone}
child.enter(lambda folder: Shared(folder / "clock", "actor", gone=0).wait(2))
"""


def left(folder, gone="child.Gone"):
    """The exit code of a process that waits on a clock, and its words."""
    words = [sys.executable, "-c", PROCESS.format(gone=gone), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    return done.returncode, done.stderr


def test_a_process_without_its_clock_says_so_and_leaves_as_one_that_may_come_again(tmp_path):
    code, said = left(tmp_path)
    assert code == child.LATER
    assert "nobody keeps it; start `ursa robot emulate a1" in said
    Keeper(tmp_path / "clock").close()
    code, said = left(tmp_path)
    assert code == child.LATER
    assert said == f"ursa: clock {tmp_path / 'clock'}: its keeper is gone; start the emulator\n"


def test_one_that_does_not_tell_them_apart_would_leave_as_after_a_mistake(tmp_path):
    """Sabotage."""
    Keeper(tmp_path / "clock").close()
    assert left(tmp_path, gone="()")[0] == child.MISTAKE
