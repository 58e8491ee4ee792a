"""The ring: what was put is taken once, in order and whole, whoever dies in between."""

import random
import shutil

import pytest

from log.logs import LAYOUT, oracle, oracles, step
from ursa.errors import UserError
from ursa.log import store
from ursa.log.store import Recorder
from ursa.shared import place, ring

SIZE, SLOTS = 100, 8


@pytest.fixture
def path(tmp_path):
    ring.create(tmp_path / "ring", slots=SLOTS, size=SIZE, first=0)
    return tmp_path / "ring"


def test_records_come_out_in_order_over_many_rounds(path):
    writer, reader = ring.Writer(path), ring.Reader(path)
    rng, taken = random.Random(3), 0
    while taken < 1000:
        for _ in range(rng.randint(0, SLOTS)):
            writer.put(oracle(writer.next))
        found = reader.peek(rng.randint(1, SLOTS))
        assert found == oracles(taken, taken + len(found))
        reader.release(taken + len(found))
        taken += len(found)
    writer.close()
    reader.close()


def test_a_full_ring_refuses_and_keeps_what_waits(path):
    writer, reader = ring.Writer(path), ring.Reader(path)
    assert [writer.put(oracle(n)) for n in range(10)] == [True] * 8 + [False] * 2
    assert (reader.refused, writer.waiting, writer.next) == (2, 8, 8)
    assert reader.peek(99) == oracles(0, 8)
    reader.release(1)
    assert writer.put(oracle(8))
    assert reader.peek(99) == oracles(1, 9)
    writer.close()
    reader.close()


def test_a_ring_that_did_not_look_at_the_reader_would_overwrite(path, monkeypatch):
    monkeypatch.setattr(ring.Writer, "waiting", 0)
    writer, reader = ring.Writer(path), ring.Reader(path)
    assert all(writer.put(oracle(n)) for n in range(10))
    assert reader.peek(99) != oracles(0, 8)
    writer.close()
    reader.close()


class Died(Exception):
    pass


def died_within(path, patch, rng):
    """A writer that dies in the middle of a record, with some of its words in memory, in any
    order; returns how many records were put before."""
    writer = ring.Writer(path)
    before = writer.next
    real = ring.write

    def partly(memory, start, data):
        """Every eight bytes arrive or do not."""
        for at in range(0, len(data), 8):
            if rng.random() < 0.5:
                real(memory, start + at, data[at : at + 8])
        if start % 8 == 0 and len(data) == ring.HEAD.size:
            raise Died

    with patch.context() as dying:
        dying.setattr(ring, "write", partly)
        with pytest.raises(Died):
            writer.put(oracle(before))
    writer.close()
    return before


def torn(path, patch, times):
    """Whether any record that a reader or the next writer sees is not what was put."""
    rng, wrong = random.Random(17), 0
    reader = ring.Reader(path)
    for _ in range(times):
        before = died_within(path, patch, rng)
        seen = reader.peek(99)
        wrong += seen != oracles(reader.tail(), reader.tail() + len(seen))
        reader.release(reader.tail() + len(seen))
        writer = ring.Writer(path)
        wrong += writer.next not in (before, before + 1)  # all its words may have arrived
        for _ in range(rng.randint(0, 3)):
            writer.put(oracle(writer.next))
        writer.close()
    reader.close()
    return wrong


def test_a_writer_that_dies_within_a_record_has_put_nothing(path, monkeypatch):
    assert torn(path, monkeypatch, 500) == 0


def test_without_checksums_half_a_record_would_be_taken(path, monkeypatch):
    monkeypatch.setattr(ring, "checksum", lambda number, data: 0)
    assert torn(path, monkeypatch, 100) > 0


def test_the_next_writer_continues_at_the_first_number_that_is_not_put(path):
    writer = ring.Writer(path)
    for number in range(5):
        writer.put(oracle(number))
    writer.close()
    reader = ring.Reader(path)
    reader.release(2)
    writer = ring.Writer(path)
    assert (writer.next, writer.waiting) == (5, 3)
    reader.close()
    reader = ring.Reader(path)  # and the next reader at the first that was not released
    assert reader.peek(99) == oracles(2, 5)
    reader.close()
    writer.close()


@pytest.mark.parametrize("words", range(5))
def test_a_reader_that_dies_while_it_releases_has_released_or_not(path, words):
    """It changes four words; whatever it got to, both sides agree."""
    writer, reader = ring.Writer(path), ring.Reader(path)
    for number in range(4):
        writer.put(oracle(number))
    memory = reader._mapped.words
    order = [(word + at, value) for word in ring.TAILS for at, value in ((0, 3), (1, 3 ^ ring.ALL))]
    for word, value in order[:words]:
        memory[word] = value
    reader.close()
    reader = ring.Reader(path)
    assert reader.tail() == writer.tail() == (3 if words >= 2 else 0)
    reader.release(4)
    assert writer.tail() == 4
    reader.close()
    writer.close()


def test_there_is_one_writer_and_one_reader_at_a_time(path):
    for side in (ring.Writer, ring.Reader):
        first = side(path)
        with pytest.raises(UserError, match="is in use by process"):
            side(path)
        first.close()
        side(path).close()


@pytest.mark.parametrize("at", [0, 9, 20, 30, 43])
def test_a_damaged_or_foreign_ring_is_refused(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(UserError, match="damaged: stop every process of this run, remove the file"):
        ring.Reader(path)


def test_a_ring_that_was_cut_or_is_missing_is_refused(path):
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="bytes, it was made with"):
        ring.Writer(path)
    path.unlink()
    with pytest.raises(UserError, match="start the recorder and the learner"):
        ring.Writer(path)


@pytest.fixture
def run(tmp_path):
    yield tmp_path
    place.forget(tmp_path)


def test_steps_damaged_in_memory_are_given_up_after_a_second_and_the_log_says_so(run, caplog):
    recorder = Recorder(run, LAYOUT, slots=SLOTS)
    writer = ring.Writer(store.ring_of(run))
    for number in range(6):
        writer.put(step(number))
    for number in (2, 3):
        ring.write(writer._mapped, writer._start(number) + 40, b"\xff" * 8)
    committed = [recorder.turn(now) for now in (0.0, 0.5, 0.6, 1.5, 1.6, 1.7, 2.2)]
    assert committed == [0, 2, 0, 0, 0, 0, 2]
    assert writer.waiting == 0
    end, faults = store.audit(run, LAYOUT)
    assert (end, [(it.kind, it.first, it.end) for it in faults]) == (6, [("missing", 2, 4)])
    assert "steps 2 to 3 were damaged in memory and are lost" in caplog.messages
    writer.close()
    recorder.close()


def test_steps_that_the_ring_was_told_are_safe_but_the_log_lost_are_a_gap(run, caplog):
    recorder = Recorder(run, LAYOUT, slots=SLOTS)
    writer = ring.Writer(store.ring_of(run))
    for number in range(4):
        writer.put(step(number))
    assert recorder.flush(0.0) == 4
    recorder.close()
    for path in run.glob("steps-*"):
        path.unlink()
    recorder = Recorder(run, LAYOUT, slots=SLOTS)
    assert recorder.end == 4
    assert "steps 0 to 3 were on disk once and are missing" in caplog.messages
    writer.put(step(4))
    assert recorder.flush(1.0) == 1
    end, faults = store.audit(run, LAYOUT)
    assert (end, [(it.kind, it.first, it.end) for it in faults]) == (5, [("missing", 0, 4)])
    writer.close()
    recorder.close()


def test_a_ring_older_than_its_log_is_made_anew_once_no_actor_holds_it(run):
    recorder = Recorder(run, LAYOUT, slots=SLOTS)
    old = store.ring_of(run).read_bytes()
    writer = ring.Writer(store.ring_of(run))
    for number in range(4):
        writer.put(step(number))
    recorder.flush(0.0)
    recorder.close()
    store.ring_of(run).write_bytes(old)  # as a power cut may leave it on a disk
    with pytest.raises(UserError, match="is in use by process"):
        Recorder(run, LAYOUT, slots=SLOTS)
    writer.close()
    recorder = Recorder(run, LAYOUT, slots=SLOTS)
    writer = ring.Writer(store.ring_of(run))
    assert (writer.next, recorder.end) == (4, 4)
    writer.close()
    recorder.close()


def test_two_runs_of_the_same_name_do_not_share_a_ring(tmp_path):
    places = []
    for _ in range(2):
        (tmp_path / "run").mkdir()
        places.append(place.shared(tmp_path / "run"))
        assert place.shared(tmp_path / "run") == places[-1]
        for file in (tmp_path / "run").iterdir():
            file.unlink()
        (tmp_path / "run").rmdir()
    assert places[0] != places[1]
    for it in places:
        shutil.rmtree(it)
