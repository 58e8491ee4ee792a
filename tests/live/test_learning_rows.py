"""What a learner sees of the log: which rows it learns from, and which may become skills."""

from dataclasses import replace

import numpy as np
import pytest

from live.lessons import LAYOUT, LIVE, Recording, begin, drained, lived
from ursa import replay
from ursa.live.learning import Learning
from ursa.log import record, rows
from ursa.log.record import Mark
from ursa.log.store import Log

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def folder(tmp_path):
    return begin(tmp_path / "run")


def known(learning):
    """Skills in the repertoire."""
    return int(np.asarray(learning.student.learner.law.repertoire.filled)[0])


def taught(folder, **changes):
    """A learner that has seen ten ordinary steps, twenty of another kind, and ten more."""
    recording = Recording(folder)
    recording.add(10)
    recording.add(20, **changes)
    recording.add(34)
    learning = Learning(folder, LIVE)
    drained(learning)
    recording.close()
    learning.close()
    ring = learning.student.learner.ring
    return learning, np.asarray(ring.first)[0, 0], int(np.asarray(ring.written)[0])


def test_ordinary_steps_are_learnt_from_and_offered_to_the_repertoire(folder):
    learning, first, written = taught(folder)
    assert written == learning.student.column == 64
    assert known(learning) == 64
    assert np.flatnonzero(first).tolist() == [0, 50]


@pytest.mark.parametrize("mark", [Mark.HOMING, Mark.RISING])
def test_steps_on_the_way_home_or_up_commit_nothing_to_the_repertoire(folder, mark):
    learning, first, written = taught(folder, marks=mark)
    assert written == 64  # the world is learnt from them
    assert known(learning) == 44
    assert np.flatnonzero(first).tolist() == [0, 50]


@pytest.mark.parametrize("changes", [{"marks": Mark.INTERVENTION}, {"age": 30_000}])
def test_steps_that_the_gate_moved_or_chosen_on_stale_sensors_are_left_out(folder, changes):
    learning, first, written = taught(folder, **changes)
    assert written == 44
    assert known(learning) == 44
    assert np.flatnonzero(first).tolist() == [0, 10, 30]  # number 30 is column 10, and begins


def test_without_the_marks_the_way_home_would_become_skills(folder, monkeypatch):
    """Sabotage."""
    unpack = record.unpack

    def unmarked(*words):
        found = unpack(*words)
        return replace(found, marks=0 * found.marks)

    monkeypatch.setattr(record, "unpack", unmarked)
    learning, _, _ = taught(folder, marks=Mark.HOMING)
    assert known(learning) == 64


def gapped(folder):
    """The rows of a log in which ten numbers are missing after the twentieth."""
    recording = Recording(folder)
    recording.add(20)
    recording.gap(30)
    recording.add(15)
    recording.close()
    log = Log(folder, LAYOUT)
    whole = rows.read(log, 0, 45)
    pieces = [rows.read(log, *part) for part in ((0, 12), (12, 20), (20, 33), (33, 45))]
    log.close()
    return whole, pieces


def crossing(first):
    """Whether a window that holds the rows before and after the gap would run across it."""
    return not first[20, 0]


def test_no_sequence_runs_across_a_gap_in_the_log(folder):
    whole, pieces = gapped(folder)
    assert rows.count(whole) == 35
    assert not crossing(whole.first)
    assert np.flatnonzero(whole.first).tolist() == [0, 20]
    again = np.concatenate([it.first for it in pieces])
    np.testing.assert_array_equal(whole.first, again)  # wherever the rounds are cut


def test_a_reader_that_does_not_part_sequences_runs_across(folder, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(record, "parted", lambda steps: steps)
    whole, _ = gapped(folder)
    assert crossing(whole.first)


def test_a_row_that_is_no_number_is_left_out_and_parts_the_sequence(folder):
    recording = Recording(folder)
    recording.add(5)
    good = np.frombuffer(lived(5), LAYOUT.cell).copy()
    good["reward"] = np.nan
    recording._ledger.commit(5, [good.tobytes()])
    recording.add(5)
    recording.close()
    log = Log(folder, LAYOUT)
    found = rows.read(log, 0, 11)
    log.close()
    assert rows.count(found) == 10
    assert np.isfinite(found.reward).all()
    assert np.flatnonzero(found.first).tolist() == [0, 5]


def test_the_replay_is_the_log_to_the_bit(folder):
    learning, _, _ = taught(folder)
    log = Log(folder, LAYOUT)
    ring = learning.student.learner.ring
    again = replay.rebuild(ring, [(0, rows.seeded(rows.read(log, 0, 64)))])
    log.close()
    for name, field in vars(again).items():
        np.testing.assert_array_equal(np.asarray(field), np.asarray(getattr(ring, name)))
