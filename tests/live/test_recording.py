"""The recorder says when the disk is nearly full, long before it has to stop."""

import shutil
from contextlib import closing
from types import SimpleNamespace

import pytest

from live.stacked import live_of
from log.logs import LAYOUT, step
from ursa.live import recording, settings, train_command
from ursa.live.recording import Room
from ursa.log import store
from ursa.log.store import Recorder
from ursa.shared import place, ring


@pytest.fixture
def disk(monkeypatch):
    """A disk with so many bytes left, and how often somebody asked."""
    found = SimpleNamespace(free=9e9, asked=0)

    def usage(folder):
        found.asked += 1
        return found

    monkeypatch.setattr(recording.shutil, "disk_usage", usage)
    return found


def said(folder, disk, least=settings.Live.room_low):
    """What is told at 0, 20 and 40 s, while the disk fills and is emptied again."""
    room, told = Room(folder, least), []
    for now, free in ((100.0, 5e9), (120.0, 4.94e9), (140.0, 8e9)):
        disk.free = free
        told.append(room.look(now))
    return told


LOW = "only 4.9 GB of disk are free, less than 5: make room"


def test_below_five_gigabytes_it_is_told_until_there_is_room_again(tmp_path, disk, caplog):
    assert said(tmp_path, disk) == ["", LOW, ""]
    assert caplog.messages == [LOW]


def test_one_that_is_told_to_bear_less_says_nothing(tmp_path, disk):
    """Sabotage."""
    assert said(tmp_path, disk, least=0.0) == ["", "", ""]


def test_the_disk_is_asked_every_ten_seconds_and_told_of_once(tmp_path, disk, caplog):
    room, disk.free = Room(tmp_path, 5.0), 1e9
    for turn in range(1000):  # 20 s
        assert (
            room.look(50.0 + 0.02 * turn) == "only 1.0 GB of disk are free, less than 5: make room"
        )
    assert disk.asked == 2
    assert len(caplog.messages) == 1


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run with 100 steps in memory, whose recorder is asked to end before it has begun."""
    settings.write(tmp_path, live_of(tmp_path))
    monkeypatch.setattr(recording.child, "Ending", lambda: SimpleNamespace(asked=True))
    recording.pulse.create(tmp_path, "recorder")
    Recorder(tmp_path, LAYOUT).close()
    with closing(ring.Writer(store.ring_of(tmp_path))) as writer:
        for number in range(100):
            assert writer.put(step(number))
    yield tmp_path
    place.forget(tmp_path)


def test_an_end_on_a_full_disk_says_that_the_memory_must_stay(run, monkeypatch, caplog):
    """By its exit code: a supervisor gives the memory of a run back that ended with 0."""
    real = shutil.disk_usage
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=0))
        assert recording.main(run) == 1
        assert store.left(run) == 100
    assert "ended with steps in memory only: could not write steps from 0 on" in caplog.text
    assert recording.main(run) == 0  # there is room again
    assert (store.left(run), store.audit(run, LAYOUT)) == (0, (100, []))


def disturbed(run, monkeypatch):
    """The exit code of a recorder to whom somebody hands a step after its last look."""
    whole, late = Recorder.flush, [step(100)]

    def flush(self, now):
        found = whole(self, now)
        if not found and late:
            with closing(ring.Writer(store.ring_of(run))) as writer:
                assert writer.put(late.pop())
        return found

    monkeypatch.setattr(Recorder, "flush", flush)
    return recording.main(run)


def test_a_step_that_comes_after_the_last_look_keeps_the_memory_too(run, monkeypatch, caplog):
    assert disturbed(run, monkeypatch) == 1
    assert store.left(run) == 1
    assert "in memory only: they came after the last look; is somebody still acting?" in caplog.text


def test_one_that_asks_only_whether_the_disk_refused_would_lose_it(run, monkeypatch):
    """Sabotage: all in order, and a supervisor would give the memory back with a step in it."""
    monkeypatch.setattr(Recorder, "waits", False)
    assert disturbed(run, monkeypatch) == 0
    assert store.left(run) == 1


def farewell(run, monkeypatch, capsys):
    """The last words of a run whose recorder left steps in memory."""

    class Over:
        last_rows = last_updates = restarts = 0

        def __init__(self, *words):
            pass

        def run(self, stop, show):
            return 1

    monkeypatch.setattr(train_command, "Supervisor", Over)
    monkeypatch.setattr(train_command, "create", lambda *words: None)
    monkeypatch.setattr(train_command.ready, "held", lambda *words: None)
    words = ["--link", "udp://127.0.0.1:8399", "--preset", "tiny", "--out", str(run), "--quiet"]
    assert train_command.train(words) == 1
    return capsys.readouterr().err


MORE = "100 ROWS MORE ARE IN MEMORY ONLY, the disk took none of them: make room"


def test_who_ends_a_run_hears_what_is_in_memory_only(run, monkeypatch, capsys):
    said = " ".join(farewell(run, monkeypatch, capsys).split())
    assert MORE in said
    assert f"--resume {run} before this computer is switched off" in said


def test_one_that_does_not_look_would_say_nothing(run, monkeypatch, capsys):
    """Sabotage."""
    monkeypatch.setattr(store, "left", lambda folder: 0)
    assert "MEMORY" not in farewell(run, monkeypatch, capsys)
