"""Who is left of an earlier start is ended, a gate that hangs at once; who plays in another folder
never is, copied or not."""

import shutil
from contextlib import closing

import pytest

from gate.gated import is_limp
from live.hanging import Time
from live.silent import Robot
from live.stacked import LIMIT, live_of, spawn, until
from ursa.errors import UserError
from ursa.gate import farewell
from ursa.live import orphans
from ursa.live.settings import Modules, Patience
from ursa.shared import keeper, place, pulse
from ursa.shared.sleepers import Sleepers

MODULE = "live.stub_lingering"


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Patience costs no real time: it passes while somebody sleeps."""
    monkeypatch.setattr(orphans, "time", Time())


@pytest.fixture
def original(tmp_path):
    """A run whose gate lives, and hangs."""
    folder = tmp_path / "original"
    folder.mkdir()
    pulse.create(folder, "gate")
    gate = spawn(tmp_path / "gate.log", MODULE, folder)
    until(lambda: pulse.last(folder, "gate"), "it beats")
    yield folder, gate
    gate.kill()
    gate.wait()
    place.forget(folder)


@pytest.fixture
def copy(original, tmp_path):
    """A copy of its files, as `cp -r` makes it."""
    folder = shutil.copytree(original[0], tmp_path / "copy")
    yield folder
    place.forget(folder)


def left(folder, **changes):
    """Take a folder over; what was said of it."""
    said = []
    orphans.leave(folder, live_of(folder, modules=Modules(gate=MODULE), **changes), said.append)
    return said


def test_a_gate_of_the_same_folder_that_hangs_is_killed_by_whatever_path_it_is_named(original):
    folder, gate = original
    (folder.parent / "link").symlink_to(folder)
    assert left(folder.parent / "link")[0] == "waiting for gate of an earlier start to end"
    assert gate.wait(LIMIT) == -9


def test_a_copy_of_a_run_has_memory_of_its_own_and_leaves_the_original_alone(original, copy):
    folder, _ = original
    assert (folder / "identity").read_bytes() == (copy / "identity").read_bytes()
    assert left(copy) == []  # nobody plays there, so nobody is waited for
    assert orphans.present(folder) == ["gate"]
    assert place.shared(copy) != place.shared(folder)
    assert pulse.last(copy, "gate") is None


def test_even_with_one_memory_for_both_the_gate_of_another_folder_is_never_killed(
    original, copy, monkeypatch
):
    of_original = place.shared(original[0])
    monkeypatch.setattr(place, "_name", lambda folder, identity: of_original.name)
    with pytest.raises(UserError, match="a process that this run did not start: end it first"):
        left(copy)
    assert orphans.present(original[0]) == ["gate"]


def test_one_that_goes_by_module_and_number_would_kill_the_gate_of_another_robot(
    original, copy, monkeypatch
):
    """Sabotage."""
    of_original = place.shared(original[0])
    monkeypatch.setattr(place, "_name", lambda folder, identity: of_original.name)
    monkeypatch.setattr(orphans, "plays", lambda pid, module, folder: True)
    left(copy)
    assert original[1].wait(LIMIT) == -9


# ---- a gate that hangs, and a robot that stands on its last target ----------------------------


@pytest.fixture
def robot():
    found = Robot()
    yield found
    found.close()


@pytest.fixture
def ended(monkeypatch):
    """When somebody was about to be ended first, in seconds since the start."""
    found, end = [], orphans._end

    def noted(*words):
        found.append(orphans.time.now - Time.now)
        return end(*words)

    monkeypatch.setattr(orphans, "_end", noted)
    return found


WALL = {"clock": "wall", "patience": Patience()}  # of a robot, where half a second is a hang


def test_a_gate_that_hangs_is_ended_as_soon_as_by_a_supervisor_and_the_robot_limp_at_once(
    original, robot, ended
):
    folder, gate = original
    said = left(folder, link="udp://{}:{}".format(*robot.address), **WALL)
    assert 0.5 < ended[0] <= 0.5 + 2 * orphans.PAUSE
    assert gate.wait(LIMIT) == -9
    assert said[1:] == [
        "a gate of an earlier start hung and was killed: 55 limp commands were sent in its place, "
        "and the robot answered 0"
    ]
    heard = robot.heard()
    assert len(heard) == 55
    assert all(map(is_limp, heard))


def test_one_that_waits_as_long_as_for_the_others_would_leave_it_standing_for_a_minute(
    original, robot, ended, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(orphans._Gate, "lost", lambda self: False)
    left(original[0], link="udp://{}:{}".format(*robot.address), **WALL)
    assert ended[0] > 60.0


def test_one_that_does_not_speak_for_it_would_leave_it_standing_for_good(
    original, robot, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(farewell, "send", lambda *words: "")
    left(original[0], link="udp://{}:{}".format(*robot.address), **WALL)
    assert robot.heard() == []


class Beating(Time):
    """Time in which a role of ours beats whenever somebody sleeps, until it leaves."""

    def __init__(self, beating, leaves):
        self._beating, self._leaves, self._gone = beating, self.now + leaves, False

    def sleep(self, seconds):
        super().sleep(seconds)
        if self.now < self._leaves:
            self._beating.beat(1)
        elif not self._gone:
            self._gone = True
            self._beating.close()


@pytest.mark.parametrize(
    ("role", "leaves", "first"),
    [("gate", 9.0, None), ("gate", 11.0, 10.0), ("recorder", 59.0, None)],
)
def test_a_gate_that_beats_has_ten_seconds_to_lay_the_robot_down_and_others_a_minute(
    tmp_path, ended, monkeypatch, role, leaves, first
):
    pulse.create(tmp_path, role)
    beating = pulse.Pulse(tmp_path, role)
    beating.beat(0)
    monkeypatch.setattr(orphans, "time", Beating(beating, leaves))
    assert left(tmp_path, **WALL) == [f"waiting for {role} of an earlier start to end"]
    assert ended[:1] == ([] if first is None else [pytest.approx(first, abs=0.1)])
    place.forget(tmp_path)


def standing(folder, monkeypatch, asleep):
    """Take over a gate that does not beat, on a clock that stands still; `asleep`: it is seen."""
    monkeypatch.setattr(Sleepers, "of", lambda self, party: lambda: asleep)
    pulse.create(folder, "gate")
    beating = pulse.Pulse(folder, "gate")
    beating.beat(0)
    monkeypatch.setattr(beating, "beat", lambda progress: None)
    monkeypatch.setattr(orphans, "time", Beating(beating, 59.0))
    left(folder, patience=Patience())
    place.forget(folder)


def test_a_gate_whose_clock_stands_still_does_not_hang(tmp_path, ended, monkeypatch):
    standing(tmp_path, monkeypatch, asleep=True)
    assert ended == []


def test_one_that_does_not_look_at_the_clock_would_take_it_for_hung(tmp_path, ended, monkeypatch):
    """Sabotage: five seconds are a hang on a clock that goes."""
    standing(tmp_path, monkeypatch, asleep=False)
    assert ended[0] == pytest.approx(5.0, abs=0.1)


# ---- memory -----------------------------------------------------------------------------------


def test_memory_is_given_back_when_its_folder_is_gone_and_nobody_uses_it(original, tmp_path):
    """Of a run that was removed; but never that of one whose gate lives, moved or removed."""
    folder, gate = original
    mine, other = tmp_path / "mine", tmp_path / "other"
    memories = []
    for each in (mine, other):
        each.mkdir()
        memories.append(place.shared(each))
    assert swept(mine, (*memories, place.shared(folder))) == []  # all are there
    shutil.rmtree(other)
    moved = folder.rename(tmp_path / "moved")
    assert swept(mine, (*memories, place.shared(moved))) == [memories[1]]
    gate.kill()
    gate.wait()
    assert swept(moved, [place.shared(moved)]) == []  # it knows by now where it is
    moved.rename(folder)
    assert swept(mine, [place.shared(folder)]) == [place.shared(folder)]
    place.forget(mine)


def test_a_sweep_that_does_not_look_at_locks_would_take_it_from_a_living_gate(
    original, tmp_path, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(place, "held", lambda lock: False)
    (tmp_path / "mine").mkdir()
    moved = original[0].rename(tmp_path / "moved")
    memory = place.shared(moved)
    assert swept(tmp_path / "mine", [memory]) == [memory]
    moved.rename(original[0])
    place.forget(tmp_path / "mine")


def swept(folder, ours):
    """Which of our memories a sweep took; those of others on this machine are none of ours."""
    return [each for each in place.sweep(folder) if each in ours]


def test_a_clock_that_an_emulator_keeps_outlives_the_memory_of_its_run(tmp_path):
    memory = place.shared(tmp_path)
    (memory / "ring").touch()
    with closing(keeper.Keeper(memory / "clock")):
        place.forget(tmp_path)
        assert not (memory / "ring").exists()
        assert (memory / "clock").exists()
    place.forget(tmp_path)
    assert not memory.exists()


def test_a_run_that_does_not_look_would_take_the_clock_away(tmp_path, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(place, "held", lambda lock: False)
    memory = place.shared(tmp_path)
    with closing(keeper.Keeper(memory / "clock")):
        place.forget(tmp_path)
        assert not memory.exists()
