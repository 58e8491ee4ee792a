"""The log: what was acknowledged is there after any kill, in order, once, and nothing else is."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from log.logs import KIND, LAYOUT, oracle, oracles, quick, served, step
from sizes import SEED, patience, size
from ursa.errors import UserError
from ursa.log import store, witness
from ursa.log.ledger import Ledger
from ursa.log.record import Mark, unpack
from ursa.log.shelf import Shelf
from ursa.log.store import Log, Recorder
from ursa.log.volume import Volume
from ursa.shared import place, ring

TESTS = Path(__file__).parents[1]
KILLS = size("URSA_STORE_KILLS")
long = pytest.mark.timeout(patience("URSA_STORE_KILLS"))


def killed(tmp_path, scene, trials, sabotage="", seed=11 + SEED):
    """What a scene of `log.kills` counted."""
    root = quick(tmp_path)
    print(f"seed {seed}")
    words = [sys.executable, "-m", "log.kills", scene, str(root / "run"), str(seed), str(trials)]
    done = subprocess.run([*words, sabotage], cwd=TESTS, capture_output=True, text=True)
    shutil.rmtree(root, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def run(tmp_path):
    """A folder of a run; its shared memory is given back."""
    yield tmp_path
    place.forget(tmp_path)


@long
def test_300_kills_lose_no_acknowledged_record(tmp_path):
    counted = killed(tmp_path, "log", KILLS)
    assert counted.pop("acknowledged") > 1000
    assert counted == {"kills": KILLS, "lost": 0, "changed": 0, "alarms": 0}


def test_acknowledging_before_the_commit_would_lose_some(tmp_path):
    assert killed(tmp_path, "log", 20, "early")["lost"] > 0


@long
def test_80_kills_of_actor_and_recorder_lose_nothing_that_was_handed_over(tmp_path):
    each = round(KILLS / 7.5)
    counted = killed(tmp_path, "stack", each)
    assert counted.pop("handed over") > 100
    assert counted == {"kills": 2 * each, "lost": 0, "changed": 0, "alarms": 0}


def test_releasing_the_ring_before_the_commit_would_lose_some(tmp_path):
    assert killed(tmp_path, "stack", 20, "early")["lost"] > 0


def test_of_six_starts_on_one_folder_exactly_one_wins(tmp_path):
    assert killed(tmp_path, "starts", 20) == {"trials": 20, "won": 20, "refused": 100}


def test_without_the_lock_all_would_win(tmp_path):
    assert killed(tmp_path, "starts", 3, "no lock")["won"] == 18


def test_a_commit_syncs_fully_and_is_told_after_its_witness(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path, KIND)
    assert ledger.commit(0, oracles(0, 3)) == 3
    connection = ledger._volume[0].connection
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL

    seen = []
    put = witness.write
    shelf = Shelf(tmp_path, KIND)

    def looked(file, data, offset):
        seen.append((ledger.end, shelf.refresh(), len(list(shelf.unwitnessed()))))
        put(file, data, offset)

    monkeypatch.setattr(witness, "write", looked)
    assert ledger.commit(3, oracles(3, 5)) == 5
    assert seen == [(3, 3, 2)]  # committed, but nobody was told and no reader is given them
    assert shelf.refresh() == 5
    ledger.close()
    shelf.close()


def test_every_writer_begins_a_volume_and_a_reader_sees_one_log(tmp_path):
    for first in (0, 4, 8):
        ledger = Ledger(tmp_path, KIND)
        assert ledger.end == first
        ledger.commit(first, oracles(first, first + 4))
        ledger.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in names if name.endswith(".db")] == [
        f"toy-{n:06d}.db" for n in (1, 2, 3)
    ]
    found, faults, end = served(tmp_path)
    assert (found, faults, end) == ({n: oracle(n) for n in range(12)}, [], 12)
    shelf = Shelf(tmp_path, KIND)
    assert list(shelf.records(3, 9)) == [
        (3, oracles(3, 4)),
        (4, oracles(4, 8)),
        (8, oracles(8, 9)),
    ]
    shelf.close()


def test_a_reader_beside_the_writer_sees_each_commit_when_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("ursa.log.volume.CHECKPOINT", 3)
    shelf, ledger = Shelf(tmp_path, KIND), Ledger(tmp_path, KIND)
    assert shelf.end == 0
    for end in range(2, 60, 2):
        ledger.commit(end - 2, oracles(end - 2, end))
        assert shelf.refresh() == end
        assert [data for _, some in shelf.records(0, end) for data in some] == oracles(0, end)
    ledger.close()
    assert shelf.refresh() == 58
    shelf.close()


def test_a_commit_that_could_not_be_told_any_more_counts_for_the_next_writer(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path, KIND)
    ledger.commit(0, oracles(0, 2))
    ledger._volume[0].commit(2, oracles(2, 5))  # and here the writer dies
    ledger._leave()
    ledger.close()
    assert served(tmp_path)[2] == 2
    ledger = Ledger(tmp_path, KIND)
    assert ledger.end == 5
    ledger.close()
    assert served(tmp_path) == ({n: oracle(n) for n in range(5)}, [], 5)


@pytest.mark.parametrize("first", [1, 3, 100])
def test_a_gap_or_a_second_record_of_a_number_is_refused(tmp_path, first):
    ledger = Ledger(tmp_path, KIND)
    ledger.commit(0, oracles(0, 2))
    with pytest.raises(ValueError, match=f"record {first} where 2 is the next"):
        ledger.commit(first, oracles(first, first + 1))
    with pytest.raises(ValueError, match="100 bytes"):
        ledger.commit(2, [b"short"])
    ledger.close()
    assert served(tmp_path)[2] == 2


def test_a_declared_gap_is_reported_with_its_range(tmp_path):
    ledger = Ledger(tmp_path, KIND)
    ledger.commit(0, oracles(0, 3))
    ledger.leave_gap(7)
    ledger.commit(7, oracles(7, 9))
    ledger.close()
    found, faults, end = served(tmp_path)
    assert sorted(found) == [0, 1, 2, 7, 8]
    assert [(fault.kind, fault.first, fault.end) for fault in faults] == [("missing", 3, 7)]
    assert str(faults[0]) == "missing: records 3 to 6 (4): toy-000001.db: not in the file"
    assert end == 9


def test_a_log_of_another_version_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr("ursa.log.volume.FORMAT", 2)
        later.setattr("ursa.log.witness.FORMAT", 2)
        ledger = Ledger(tmp_path, KIND)
        ledger.commit(0, oracles(0, 3))
        ledger.close()
    with pytest.raises(
        UserError, match=r"toy-000001.db is a ledger of format 2, .* reads format 1"
    ):
        Ledger(tmp_path, KIND)
    with pytest.raises(UserError, match="format 2"):
        Shelf(tmp_path, KIND)


def test_a_log_of_another_layout_is_refused(tmp_path):
    ledger = Ledger(tmp_path, KIND)
    ledger.commit(0, oracles(0, 3))
    ledger.close()
    with pytest.raises(UserError, match="laid out as bytes of their number, want other"):
        Ledger(tmp_path, replace(KIND, layout="other"))


def test_a_network_file_system_is_refused(tmp_path, monkeypatch):
    table = f"1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:9 / {tmp_path} rw - nfs4 host:/ rw\n"
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "mounts")
    (tmp_path / "mounts").write_text(table)
    with pytest.raises(UserError, match=r"network file system \(nfs4\).*a disk of this machine"):
        Ledger(tmp_path / "run", KIND)
    (tmp_path / "mounts").write_text(table.replace("nfs4", "xfs"))
    Ledger(tmp_path / "run", KIND).close()


def test_a_step_comes_back_as_it_was(run):
    recorder = Recorder(run, LAYOUT)
    writer = ring.Writer(store.ring_of(run))
    for number in range(70):
        assert writer.put(step(number))
    assert recorder.turn(0.0) == 70  # 64 are enough to be due at once
    view = Log(run, LAYOUT)
    ((first, steps),) = view.steps(0, view.end())
    assert (first, steps.row.observation.shape, steps.skill.shape) == (0, (70, 1, 3), (70, 2))
    assert steps.row.action[69].tolist() == [[-69.0, -69.0]]
    assert steps.row.reward[69].tolist() == [34.5]
    assert steps.row.safe[:4, 0].tolist() == [True, False, True, False]
    assert steps.row.first[:2, 0].tolist() == [True, False]
    assert Mark(int(steps.marks[3])) == Mark.HOMING | Mark.INTERVENTION
    assert (steps.policy[69], steps.time[69], steps.age[69]) == (69, 3450, 7)
    assert steps.skill.dtype == steps.row.posture.dtype == np.float32
    for it in (view, writer, recorder):
        it.close()


@pytest.mark.parametrize("name", ["observation", "reward", "posture"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_never_stored(name, value):
    wide = {"observation": (1, 3), "reward": (1,), "posture": (1, 1)}[name]
    with pytest.raises(UserError, match=f"step: {name} is {value}, want a finite number"):
        step(1, **{name: np.full(wide, value, np.float32)})


def test_a_step_of_another_width_is_refused():
    with pytest.raises(UserError, match=r"observation of shape \(1, 4\), want \(1, \*\(3,\)\)"):
        step(1, observation=np.zeros((1, 4), np.float32))


def test_the_recorder_commits_after_64_steps_or_half_a_second(run):
    recorder = Recorder(run, LAYOUT)
    writer = ring.Writer(store.ring_of(run))
    writer.put(step(0))
    assert [recorder.turn(now) for now in (10.0, 10.2, 10.4, 10.5, 10.6)] == [0, 0, 0, 1, 0]
    for number in range(1, 64):
        writer.put(step(number))
    assert recorder.turn(10.6) == 0  # 63 wait
    writer.put(step(64))
    assert recorder.turn(10.6) == 64
    assert (recorder.end, writer.waiting) == (65, 0)
    writer.close()
    recorder.close()


def ended(run, monkeypatch, flush=Recorder.flush):
    """100 steps wait, the disk is full for 40 s (tries at 0, 1, 3, 7, 15, 31 s; the next one at
    61 s), then there is room, and the run ends at 40 s. What is on disk, and what is left."""
    recorder = Recorder(run, LAYOUT)
    writer = ring.Writer(store.ring_of(run))
    for number in range(100):
        writer.put(step(number))
    real = shutil.disk_usage
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=0))
        for now in range(40):
            assert recorder.turn(float(now)) == 0
    while flush(recorder, 40.0):
        pass
    found = recorder.end, recorder.waits
    recorder.close()
    writer.close()
    return *found, store.left(run)


def test_at_the_end_all_is_tried_once_more_however_long_ago_a_refusal_was(run, monkeypatch):
    assert ended(run, monkeypatch) == (100, False, 0)


def test_an_end_that_waits_for_the_next_try_would_leave_them_in_memory(run, monkeypatch):
    """Sabotage."""
    flush = Recorder.flush
    patient = lambda self, now: 0 if now < self._after else flush(self, now)  # noqa: E731
    assert ended(run, monkeypatch, patient) == (0, True, 100)


def test_a_recorder_that_is_started_on_a_full_disk_waits_like_one_that_was_there(run, monkeypatch):
    Recorder(run, LAYOUT).close()
    with closing(ring.Writer(store.ring_of(run))) as writer:
        writer.put(step(0))
    real = shutil.disk_usage
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=0))
        recorder = Recorder(run, LAYOUT)
        recorder.flush(0.0)
        assert "free some space" in recorder.paused
    assert recorder.flush(0.0) == 1
    recorder.close()


def test_at_the_end_steps_behind_a_damaged_one_are_put_on_disk_and_it_is_told(run):
    recorder = Recorder(run, LAYOUT)
    writer = ring.Writer(store.ring_of(run))
    for number in range(10):
        writer.put(step(number))
    ring.write(writer._mapped, writer._start(4), b"\0" * 16)  # memory went bad
    while recorder.flush(0.0):
        pass
    assert (recorder.end, recorder.waits) == (10, False)
    recorder.close()
    writer.close()
    assert sorted(served(run, LAYOUT.kind)[0]) == [0, 1, 2, 3, 5, 6, 7, 8, 9]


def test_steps_after_a_hole_begin_a_sequence(run):
    recorder = Recorder(run, LAYOUT)
    writer = ring.Writer(store.ring_of(run))
    for number in range(70):
        writer.put(step(number))
    recorder.turn(0.0)
    recorder.close()
    writer.close()
    database = sqlite3.connect(run / "steps-000001.db")
    database.execute("DELETE FROM record WHERE number BETWEEN 10 AND 12")
    database.commit()
    database.close()
    view = Log(run, LAYOUT)
    parts = {first: steps.row.first[:, 0].tolist() for first, steps in view.steps(0, view.end())}
    assert {first: len(starts) for first, starts in parts.items()} == {0: 10, 13: 57}
    assert parts[0] == [True] + [False] * 9  # as it was recorded
    assert parts[13] == [True] + [False] * 56  # because of the hole
    ((_, late),) = view.steps(13, 15)  # asked from just behind the hole: the same
    assert late.row.first[:, 0].tolist() == [True, False]
    ((_, later),) = view.steps(14, 16)
    assert later.row.first[:, 0].tolist() == [False, False]
    assert [(it.kind, it.first, it.end) for it in store.audit(run, LAYOUT)[1]] == [
        ("missing", 10, 13)
    ]
    view.close()


def test_a_record_is_little_endian_without_padding():
    data = step(2)
    assert len(data) == LAYOUT.kind.size == 8 + 8 + 4 + 4 + 4 * (3 + 2 + 1 + 1 + 1 + 2) + 2
    assert data[:8] == (100).to_bytes(8, "little")  # 50 ns times 2
    assert unpack(LAYOUT, [data]).row.posture.tolist() == [[[2.0]]]


def test_a_volume_gets_its_name_only_when_it_is_whole(tmp_path, monkeypatch):
    def full(self, *words):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Volume, "__init__", full)
    ledger = Ledger(tmp_path, KIND)
    with pytest.raises(UserError, match="could not write toy from 0 on"):
        ledger.commit(0, oracles(0, 1))
    ledger.close()
    assert [path.name for path in tmp_path.iterdir()] == ["toy.lock"]
