"""Power may go at any moment: what was acknowledged is there, what is there is what was written.

`log.disk` says what is simulated, what is taken from SQLite's documentation, and what only a
pulled plug could show.
"""

import os
import random

import pytest

import sizes
from log import crash, disk
from sizes import patience, size
from ursa import durable
from ursa.log import ledger, volume, witness
from ursa.log.volume import Volume
from ursa.log.witness import Witness

SEED = sizes.SEED + 7
STATES = size("URSA_POWER_STATES")
RUNS = max(3, STATES // 7000)  # recorded, each with other portions


folders = pytest.fixture(disk.folders)


def explored(patch, folders, states, sabotage=None, runs=1):
    """What is wrong in so many crash states of recorded runs, with a protection removed or not;
    how many differ."""
    print(f"seed {SEED}")
    disks = []
    for number in range(runs):
        folder = folders[0] / str(number)
        folder.mkdir()
        with patch.context() as watched:
            disks.append(crash.recorded(watched, folder, random.Random(SEED + number), sabotage))
    totals = max(each.told for each in disks)
    patch.setattr(ledger, "refuse_remote", lambda folder: None)  # reads a table of the system
    if sabotage:
        sabotage(patch)  # readers and the new writer are of the same make
    return disk.explore(
        disks, folders[1], states, SEED, lambda folder, told: crash.opened(folder, told, totals)
    )


def test_the_recorded_run_has_moments_of_every_sort(monkeypatch, folders):
    recorded = crash.recorded(monkeypatch, folders[0], random.Random(SEED))
    assert recorded.told > 30
    assert recorded.moments[-1].told == recorded.told
    assert {moment.what for moment in recorded.moments} >= {
        "renamed",
        "witness written",
        "witness synced",
        "commit on its way",
        "commit done",
        "fold on its way",
        "close folds",
        "log removed",
        "told",
    }


@pytest.mark.timeout(patience("URSA_POWER_STATES"))
def test_20000_crash_states_lose_nothing_and_raise_no_false_alarm(monkeypatch, folders):
    """Each is read, and opened by a new writer that goes on."""
    wrong, distinct = explored(monkeypatch, folders, STATES, runs=RUNS)
    assert wrong == []
    print(f"{distinct} states differ")
    assert distinct > 2000


def witness_not_synced(patch):
    patch.setattr(witness, "sync", lambda file: None)


def log_not_synced(patch):
    class Lazy(volume.Connection):
        def execute(self, question, *values):
            return super().execute(question.replace("= FULL", "= NORMAL"), *values)

    patch.setattr(volume, "Connection", Lazy)


def acknowledged_before_the_commit(patch):
    hands = []
    make, commit = Witness.__init__, Volume.commit

    def born(self, *words):
        make(self, *words)
        hands.append(self)

    def early(self, first, records):
        hands[-1].acknowledge(first + len(records))
        commit(self, first, records)

    patch.setattr(Witness, "__init__", born)
    patch.setattr(Volume, "commit", early)


def witness_without_checksum(patch):
    def trusting(data):
        if len(data) != witness.SLOT.size:
            return None
        _, _, number, writes, begin, end, _ = witness.SLOT.unpack(data)
        return witness.Said(number=number, writes=writes, begin=begin, end=end)

    patch.setattr(witness, "_unpacked", trusting)


def both_slots_at_once(patch):
    put = witness.write

    def twice(file, data, offset):
        put(file, data, 0)
        put(file, data, witness.APART)

    patch.setattr(witness, "write", twice)


def names_not_synced(patch):
    patch.setattr(durable, "sync_folder", lambda folder: None)


def new_files_not_synced(patch):
    patch.setattr(durable, "write", lambda path, data: path.write_bytes(data) and None)


def renamed_in_place(patch):
    """A file gets its name before its bytes."""

    def hasty(old, new):
        data = old.read_bytes()
        os.unlink(old)
        new.write_bytes(b"")
        durable.sync_folder(new.parent)
        durable.write(new, data)

    patch.setattr(durable, "rename", hasty)


@pytest.mark.parametrize(
    "sabotage",
    [
        witness_not_synced,
        log_not_synced,
        acknowledged_before_the_commit,
        witness_without_checksum,
        both_slots_at_once,
        names_not_synced,
        new_files_not_synced,
        renamed_in_place,
    ],
)
def test_with_a_protection_removed_the_same_check_fails(monkeypatch, folders, sabotage):
    assert explored(monkeypatch, folders, 600, sabotage)[0]
