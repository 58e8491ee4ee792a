"""A disk that is full or makes errors: recording pauses and says why, loses nothing, goes on."""

import errno
import hashlib
import os
import resource
import shutil
import sqlite3
from contextlib import contextmanager, suppress

import pytest

from log.logs import KIND, LAYOUT, oracle, oracles, served, step
from ursa.log import store, volume, witness
from ursa.log.ledger import Ledger, Refused
from ursa.log.store import Recorder
from ursa.log.volume import Volume
from ursa.shared import place, ring


@contextmanager
def files_up_to(size):
    """The kernel itself refuses to let a file grow further."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def whole(folder, end):
    """What a log must be: everything, once, in order, with nothing to report."""
    return served(folder) == ({number: oracle(number) for number in range(end)}, [], end)


def filled(folder):
    """A ledger whose database may not grow: told, refused, then given room; ends at 305."""
    ledger = Ledger(folder, KIND)
    ledger.commit(0, oracles(0, 5))
    connection = ledger._volume[0].connection
    connection.execute("PRAGMA max_page_count = 6")  # it has 3 now
    told = ""
    while not told and ledger.end < 305:
        try:
            ledger.commit(ledger.end, oracles(ledger.end, ledger.end + 20))
        except Refused as error:
            told = str(error)
    connection.execute("PRAGMA max_page_count = 1000")
    if ledger.end < 305:
        ledger.commit(ledger.end, oracles(ledger.end, 305))
    ledger.close()
    return told


def test_a_full_database_refuses_whole_commits_and_goes_on_in_the_same_volume(tmp_path):
    told = filled(tmp_path)
    assert "database or disk is full; all " in told
    assert "free some space, recording goes on by itself" in told
    assert whole(tmp_path, 305)
    assert not (tmp_path / "toy-000002.db").exists()


def test_with_the_error_swallowed_that_check_fails(tmp_path, monkeypatch):
    commit = Volume.commit

    def hushed(self, first, records):
        with suppress(sqlite3.Error):
            commit(self, first, records)

    monkeypatch.setattr(Volume, "commit", hushed)
    filled(tmp_path)
    assert not whole(tmp_path, 305)


def test_an_error_of_the_disk_ends_a_volume_and_the_next_one_takes_all(tmp_path):
    ledger, told = Ledger(tmp_path, KIND), []
    with files_up_to(100_000):
        while ledger.end < 600:
            try:
                ledger.commit(ledger.end, oracles(ledger.end, ledger.end + 10))
            except Refused as error:
                told.append(str(error))
    ledger.close()
    assert len(told) >= 3
    assert all("disk I/O error" in it and "check the disk" in it for it in told)
    assert (tmp_path / f"toy-{len(told) + 1:06d}.db").exists()
    assert whole(tmp_path, 600)


def test_a_disk_that_takes_nothing_leaves_nothing_behind_and_is_used_again(tmp_path):
    ledger = Ledger(tmp_path, KIND)
    with files_up_to(5000):
        for _ in range(4):
            with pytest.raises(Refused, match="all 0 before are intact"):
                ledger.commit(0, oracles(0, 10))
    assert [path.name for path in tmp_path.iterdir()] == ["toy.lock"]
    assert ledger.commit(0, oracles(0, 10)) == 10
    ledger.close()
    assert whole(tmp_path, 10)


def with_failing_sync(folder, patch, failing):
    """Commit 30 records while the syncs of these numbers fail; returns the files in order."""
    sync, synced = witness.sync, []

    def sometimes(file):
        synced.append(os.fstat(file).st_ino)
        if len(synced) in failing:
            raise OSError(errno.EIO, "Input/output error")
        sync(file)

    patch.setattr(witness, "sync", sometimes)
    ledger = Ledger(folder, KIND)
    for _ in range(13):
        with suppress(Refused):
            ledger.commit(ledger.end, oracles(ledger.end, ledger.end + 3))
    ledger.close()
    return synced


def never_again(synced, failing):
    return all(synced[number - 1] not in synced[number:] for number in failing)


def test_a_sync_that_failed_is_never_tried_again_on_that_file(tmp_path, monkeypatch):
    synced = with_failing_sync(tmp_path, monkeypatch, {3, 4, 8})
    assert len(synced) == 13
    assert never_again(synced, {3, 4, 8})
    assert whole(tmp_path, 30)


def test_with_the_volume_kept_that_check_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(Ledger, "_leave", lambda self: None)
    synced = with_failing_sync(tmp_path, monkeypatch, {3})
    assert not (never_again(synced, {3}) and whole(tmp_path, 30))


class FailsAfterCommit(sqlite3.Connection):
    """The second COMMIT of each connection reaches the file, but its sync fails."""

    def execute(self, question, *values):
        done = super().execute(question, *values)
        if question == "COMMIT":
            self.commits = getattr(self, "commits", 0) + 1
            if self.commits == 2:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
                raise error
        return done


def test_records_of_a_commit_whose_sync_failed_are_written_again_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(volume, "Connection", FailsAfterCommit)
    ledger, left = Ledger(tmp_path, KIND), []

    def digests():
        """Of the first volume, as it lies there."""
        names = ("toy-000001.db", "toy-000001.db-wal", "toy-000001.ack")
        return [hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in names]

    while ledger.end < 12:
        try:
            ledger.commit(ledger.end, oracles(ledger.end, ledger.end + 3))
        except Refused:
            left.append(digests())
    ledger.close()
    assert len(left) == 3
    assert left == [digests()] * 3  # and a volume that was left is never touched again
    assert whole(tmp_path, 12)


@pytest.fixture
def stack(tmp_path):
    recorder = Recorder(tmp_path, LAYOUT, slots=256)
    writer = ring.Writer(store.ring_of(tmp_path))
    yield tmp_path, recorder, writer
    writer.close()
    recorder.close()
    place.forget(tmp_path)


def test_a_full_disk_pauses_recording_until_space_returns(stack, monkeypatch, caplog):
    folder, recorder, writer = stack
    tried, free = [], shutil.disk_usage
    for number in range(100):
        writer.put(step(number))

    def little(path):
        """3 MB are left until second 20."""
        tried.append(now)
        return free(path) if now >= 20 else free(path)._replace(free=3_000_000)

    monkeypatch.setattr(shutil, "disk_usage", little)
    for now in range(20):
        assert recorder.turn(now) == 0
        assert writer.waiting == 100
        assert f"could not write steps from 0 on to {folder}: only 3 MB are free" in recorder.paused
    assert tried == [0, 1, 3, 7, 15]  # twice as long each time
    assert caplog.messages == [recorder.paused]  # told once, not every time
    for now in (20, 30, 31):
        assert recorder.turn(now) == (100 if now == 31 else 0)
    assert (recorder.end, recorder.paused, writer.waiting) == (100, "", 0)
    assert caplog.messages[1:] == ["recording goes on at step 100"]
    assert store.audit(folder, LAYOUT) == (100, [])


def test_with_the_refusal_swallowed_steps_would_be_lost(stack, monkeypatch):
    folder, recorder, writer = stack

    def careless(self, write, now):
        with suppress(Refused):
            write()
        self._ring.release(self._ring.tail() + len(self._ring.peek(store.MOST)))
        return True

    monkeypatch.setattr(Recorder, "_attempt", careless)
    free = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free(path)._replace(free=0))
    for number in range(100):
        writer.put(step(number))
    recorder.turn(0.0)
    monkeypatch.setattr(shutil, "disk_usage", free)
    assert (writer.waiting, store.audit(folder, LAYOUT)) == (0, (0, []))


def test_a_ring_without_a_recorder_fills_and_then_refuses_but_never_overwrites(stack):
    _, recorder, writer = stack
    answers = [writer.put(step(number)) for number in range(300)]
    assert answers == [True] * 256 + [False] * 44
    assert recorder.refused == 44
    assert recorder.turn(1.0) == 256
    assert writer.put(step(256))
