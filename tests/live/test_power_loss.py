"""Power may go at any moment of a learner's life: its log, journal and checkpoints fit together.

A policy on its way to the actor is not among it: that memory is made anew after a power cut, and
the learner publishes again what it has become.
"""

import random

import jaxtyping
import pytest

import sizes
from live import pupil
from log import disk
from sizes import patience, size
from ursa import checkpoint, durable
from ursa.live import rounds
from ursa.log import ledger, witness
from ursa.log.watermark import Journal

SEED = sizes.SEED + 11
STATES = size("URSA_LEARNER_STATES")
EACH = 1000  # states of one recorded life


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


folders = pytest.fixture(disk.folders)


def explored(patch, folders, states, sabotage=None, seed=SEED):
    """What is wrong in so many crash states; how many differ."""
    print(f"seed {seed}")
    run = folders[0] / str(seed)
    run.mkdir()
    with patch.context() as watched:
        recorded, minds = pupil.recorded(watched, run, random.Random(seed), sabotage)
    patch.setattr(ledger, "refuse_remote", lambda folder: None)  # reads a table of the system
    if sabotage:
        sabotage(patch)
    return disk.explore(
        [recorded], folders[1], states, seed, lambda folder, told: pupil.opened(folder, told, minds)
    )


@pytest.mark.timeout(patience("URSA_LEARNER_STATES"))
def test_a_learner_goes_on_from_300_crash_states_as_if_nothing_had_happened(monkeypatch, folders):
    for first in range(0, STATES, EACH):
        states = min(EACH, STATES - first)
        wrong, distinct = explored(monkeypatch, folders, states, seed=SEED + first)
        assert wrong == []
        assert distinct > states // 2  # three quarters differ


def checkpoints_not_synced(patch):
    """Their bytes are on their way when they get their name."""
    write = durable.write

    def partly(path, data):
        if path.parent.name.startswith(checkpoint.TEMPORARY):
            path.write_bytes(data)
        else:
            write(path, data)

    patch.setattr(durable, "write", partly)


def names_of_checkpoints_not_synced(patch):
    sync = durable.sync_folder

    def partly(folder):
        if folder.name != rounds.CHECKPOINTS:
            sync(folder)

    patch.setattr(durable, "sync_folder", partly)


def names_of_new_folders_not_synced(patch):
    """With the name of their folder all checkpoints go."""
    patch.setattr(durable, "make_folder", lambda it: it.mkdir(parents=True, exist_ok=True))


def checkpoints_written_in_place(patch):
    """No temporary folder: the name is there before what it stands for."""

    def hasty(folder, name, files, described):
        (folder / name).mkdir()
        durable.sync_folder(folder)
        for file, data in files.items():
            durable.write(folder / name / file, data)
        durable.sync_folder(folder / name)
        return folder / name

    patch.setattr(checkpoint, "_write", hasty)


def rounds_noted_late(patch):
    """A round is on disk when the next one begins: after it, not before."""
    note, waiting = Journal.note, {}

    def late(journal, watermark):
        if id(journal) in waiting:
            note(journal, waiting[id(journal)])
        waiting[id(journal)] = watermark
        return journal.rounds

    patch.setattr(Journal, "note", late)


def witness_not_synced(patch):
    patch.setattr(witness, "sync", lambda file: None)


@pytest.mark.parametrize(
    "sabotage",
    [
        checkpoints_not_synced,
        names_of_checkpoints_not_synced,
        names_of_new_folders_not_synced,
        checkpoints_written_in_place,
        rounds_noted_late,
        witness_not_synced,
    ],
)
def test_with_a_protection_removed_the_same_check_fails(monkeypatch, folders, sabotage):
    assert explored(monkeypatch, folders, 300, sabotage)[0]
