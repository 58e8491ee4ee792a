"""Who is left of an earlier start is ended; who plays in another folder never is, copied or not."""

import shutil
from contextlib import closing

import pytest

from live.hanging import Time
from live.stacked import LIMIT, live_of, spawn, until
from ursa.errors import UserError
from ursa.live import orphans
from ursa.live.settings import Modules
from ursa.shared import keeper, place, pulse

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


def left(folder):
    """Take a folder over; what was said of it."""
    said = []
    orphans.leave(folder, live_of(folder, modules=Modules(gate=MODULE)), said.append)
    return said


def test_a_gate_of_the_same_folder_that_hangs_is_killed_by_whatever_path_it_is_named(original):
    folder, gate = original
    (folder.parent / "link").symlink_to(folder)
    assert left(folder.parent / "link") == ["waiting for gate of an earlier start to end"]
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
