"""The journal: what a learner became can be computed again from log and journal alone."""

import hashlib
import random

import pytest

from log.logs import KIND, oracles, served
from ursa.errors import UserError
from ursa.log import watermark
from ursa.log.ledger import Ledger
from ursa.log.shelf import Shelf
from ursa.log.watermark import Journal, Watermark


class Killed(Exception):
    pass


def round_of(state, records, mark):
    """A toy learner: what it becomes depends on all that it saw, and in what portions."""
    return hashlib.sha256(state + b"".join(records) + repr(mark).encode()).digest()


def repeated(folder, rounds=None):
    """What a learner becomes that only reads what is on disk."""
    state, shelf, seen = b"", Shelf(folder, KIND), 0
    for number, mark in enumerate(watermark.entries(folder)):
        if number == rounds:
            break
        records = [data for _, some in shelf.records(seen, mark.visible) for data in some]
        state, seen = round_of(state, records, mark), mark.visible
    shelf.close()
    return state


def live(folder, seed, note):
    """A learner beside a recorder, killed and resumed at random; returns what it became.

    It keeps a checkpoint every few rounds: after a kill it takes that, repeats the rounds that
    the journal names after it, and goes on. What it had become must not depend on the kills.
    """
    rng = random.Random(seed)
    ledger, state, seen, checkpoint = Ledger(folder, KIND), b"", 0, (0, b"", 0)
    published = []
    for _ in range(15):
        journal, shelf = Journal(folder), Shelf(folder, KIND)
        rounds, state, seen = checkpoint
        for mark in watermark.entries(folder, rounds):
            records = [data for _, some in shelf.records(seen, mark.visible) for data in some]
            state, seen, rounds = round_of(state, records, mark), mark.visible, rounds + 1
        try:
            while True:
                end = ledger.end + rng.randint(0, 9)
                ledger.commit(ledger.end, oracles(ledger.end, end))
                mark = Watermark(visible=shelf.refresh(), updates=rng.randint(1, 4), version=0)
                for step in ("before", "after"):
                    if step == "after":
                        note(journal, mark)
                    if rng.random() < 0.15:
                        raise Killed
                records = [data for _, some in shelf.records(seen, mark.visible) for data in some]
                state, seen, rounds = round_of(state, records, mark), mark.visible, rounds + 1
                published.append((rounds, state))
                if rng.random() < 0.3:
                    checkpoint = rounds, state, seen
        except Killed:
            pass
        finally:
            journal.close()
            shelf.close()
    ledger.close()
    return published


def explained(folder, published):
    """Whether everything that a learner ever showed follows from what is on disk."""
    return all(repeated(folder, rounds) == state for rounds, state in published)


def test_a_learner_that_is_killed_again_and_again_follows_from_log_and_journal(tmp_path):
    published = live(tmp_path, 3, Journal.note)
    assert len(published) > 20
    assert explained(tmp_path, published)


def test_a_journal_that_is_written_now_and_then_would_not_explain_it(tmp_path):
    rng = random.Random(4)

    def lazy(journal, mark):
        if rng.random() < 0.7:
            journal.note(mark)

    assert not explained(tmp_path, live(tmp_path, 3, lazy))


def test_rounds_are_numbered_and_come_back(tmp_path):
    journal = Journal(tmp_path)
    marks = [Watermark(visible=10 * n, updates=n, version=n // 2) for n in range(5)]
    assert [journal.note(mark) for mark in marks[:3]] == [0, 1, 2]
    journal.close()
    journal = Journal(tmp_path)
    assert journal.rounds == 3
    assert [journal.note(mark) for mark in marks[3:]] == [3, 4]
    with pytest.raises(ValueError, match="a watermark at 39 after one at 40"):
        journal.note(Watermark(visible=39, updates=1, version=0))
    journal.close()
    assert list(watermark.entries(tmp_path)) == marks
    assert list(watermark.entries(tmp_path, 3)) == marks[3:]


def test_a_damaged_journal_says_so_instead_of_leaving_rounds_out(tmp_path):
    for visible in (3, 5):
        journal = Journal(tmp_path)
        journal.note(Watermark(visible=visible, updates=1, version=0))
        journal.close()
    (tmp_path / "journal-000001.db").unlink()
    with pytest.raises(UserError, match=r"volume: records 0 to 0 \(1\): .* cannot be repeated"):
        list(watermark.entries(tmp_path))
    assert [mark.visible for mark in watermark.entries(tmp_path, 1)] == [5]


def test_a_log_that_lost_its_last_volume_is_noticed_by_the_journal(tmp_path):
    ledger = Ledger(tmp_path, KIND)
    ledger.commit(0, oracles(0, 8))
    ledger.close()
    seen = Watermark(visible=8, updates=1, version=0)
    watermark.refuse_lost(seen, served(tmp_path)[2], tmp_path)
    for path in tmp_path.glob("toy-*"):
        path.unlink()
    assert served(tmp_path) == ({}, [], 0)  # nothing left that could tell
    with pytest.raises(UserError, match="ends at step 0, but the learner had seen 8"):
        watermark.refuse_lost(seen, 0, tmp_path)


def test_journal_and_log_have_a_writer_each(tmp_path):
    ledger, journal = Ledger(tmp_path, KIND), Journal(tmp_path)
    with pytest.raises(UserError, match="journal is in use by process"):
        Journal(tmp_path)
    ledger.close()
    journal.close()
