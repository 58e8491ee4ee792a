"""The policy on its way to the actor: old or new, whole and finite, whoever dies in between."""

import random
import struct
from contextlib import suppress

import numpy as np
import pytest

from log.test_store import killed
from ursa.errors import UserError
from ursa.shared import handover
from ursa.shared.handover import Publisher, Subscriber


def policy(version):
    """Arrays that can be told from their version."""
    return {
        "actor": np.full((6, 5), version, np.float32),
        "skill": np.full(3, -version, np.float32),
        "filled": np.array(version, np.int32),
    }


def same(snapshot):
    """Whether a snapshot is that of its version and nothing else."""
    wanted = policy(snapshot.version)
    return snapshot.arrays.keys() == wanted.keys() and all(
        np.array_equal(snapshot.arrays[name], wanted[name]) for name in wanted
    )


@pytest.fixture
def path(tmp_path):
    handover.create(tmp_path / "policy", capacity=len(handover.encode(policy(1))))
    return tmp_path / "policy"


def test_a_reader_has_the_newest_snapshot_once(path):
    publisher, reader = Publisher(path), Subscriber(path)
    assert reader.newer(0) is None
    for version in (1, 2, 5, 6):
        publisher.publish(version, policy(version))
        snapshot = reader.newer(version - 1)
        assert snapshot.version == version
        assert same(snapshot)
        assert reader.newer(version) is None
    assert publisher.newest == 6
    with pytest.raises(ValueError, match="version 6 after version 6"):
        publisher.publish(6, policy(6))
    publisher.close()
    reader.close()


def test_the_next_publisher_goes_on_after_the_last(path):
    for version in (1, 2, 3):
        publisher = Publisher(path)
        assert publisher.newest == version - 1
        publisher.publish(version, policy(version))
        publisher.close()
    reader = Subscriber(path)
    assert reader.newer(0).version == 3
    reader.close()


def test_60_kills_of_a_publisher_leave_the_last_snapshot_whole(tmp_path):
    counted = killed(tmp_path, "hand", 60)
    assert counted.pop("published") > 100
    assert counted == {"kills": 60, "torn": 0, "gone": 0}


def test_a_publisher_that_wrote_in_place_would_leave_none(tmp_path):
    assert killed(tmp_path, "hand", 20, "in place")["gone"] > 0


class Died(Exception):
    pass


def interrupted(path, patch, rng, version, words):
    """Publish, but die before the so-manieth word, and let any of the payload have arrived."""
    publisher = Publisher(path)
    write, put = handover.write, Publisher._set

    def partly(memory, start, data):
        for at in range(0, len(data), 8):
            if rng.random() < 0.5:
                write(memory, start + at, data[at : at + 8])

    def counted(self, place, word, value):
        nonlocal words
        words -= 1
        if words < 0:
            raise Died
        put(self, place, word, value)

    with patch.context() as dying:
        dying.setattr(handover, "write", partly)
        dying.setattr(Publisher, "_set", counted)
        with suppress(Died):
            publisher.publish(version, policy(version))
    publisher.close()


def mixed(path, patch, times):
    """How often a reader saw something that nobody published, or lost what it could have seen."""
    rng, wrong, version = random.Random(23), 0, 1
    reader = Subscriber(path)
    publisher = Publisher(path)
    publisher.publish(version, policy(version))
    publisher.close()
    for _ in range(times):
        # With 6 words all are there, but of the bytes only a part: as if stores were reordered.
        interrupted(path, patch, rng, version + 1, rng.randint(0, 6))
        snapshot = reader.newer(0)
        wrong += snapshot is None or snapshot.version < version or not same(snapshot)
        publisher = Publisher(path)
        version = publisher.newest + 1
        publisher.publish(version, policy(version))
        publisher.close()
        wrong += reader.newer(0).version != version
    reader.close()
    return wrong


def test_whatever_arrived_of_a_snapshot_it_is_seen_whole_or_not(path, monkeypatch):
    assert mixed(path, monkeypatch, 500) == 0


def test_without_the_digest_a_torn_snapshot_would_be_used(path, monkeypatch):
    monkeypatch.setattr(handover, "digest", lambda version, data: bytes(16))
    assert mixed(path, monkeypatch, 100) > 0


def relabelled(path):
    """What a reader is given where the words of a place say 2, and bytes and digest are of 1."""
    publisher, reader = Publisher(path), Subscriber(path)
    publisher.publish(1, policy(1))
    for word in (handover.BEGUN, handover.VERSION, handover.DONE):
        publisher._set(publisher._place, word, 2)
    found = reader.newer(0)
    publisher.close()
    reader.close()
    return found


def test_bytes_of_one_version_do_not_pass_for_another(path):
    assert relabelled(path) is None


def test_without_the_version_in_the_digest_they_would(path, monkeypatch):
    digest = handover.digest
    monkeypatch.setattr(handover, "digest", lambda version, data: digest(0, data))
    found = relabelled(path)
    assert found.version == 2
    assert not same(found)


def left_by_two_deaths(path, patch):
    """The version that a reader still has after the second snapshot came torn, with all its words,
    and the publisher that took over died at its first."""
    first = Publisher(path)
    first.publish(1, policy(1))
    first.publish(2, policy(2))
    first._mapped.bytes[first._start(first._place) + 60] ^= 1
    first.close()
    interrupted(path, patch, random.Random(1), 3, 2)
    reader = Subscriber(path)
    found = reader.newer(0)
    reader.close()
    return 0 if found is None else found.version


def test_a_publisher_that_takes_over_spares_the_one_that_readers_can_use(path, monkeypatch):
    assert left_by_two_deaths(path, monkeypatch) == 1


def test_one_that_believes_what_the_places_say_would_overwrite_it(path, monkeypatch):
    monkeypatch.setattr(Publisher, "copied", lambda self, place: (0, b""))
    assert left_by_two_deaths(path, monkeypatch) == 0


def raced(path, patch):
    """A reader that copies while two more snapshots are published: what it is given."""
    publisher, reader = Publisher(path), Subscriber(path)
    publisher.publish(1, policy(1))
    asked = []

    class Slow:
        """Memory that changes between the head of a snapshot and its bytes."""

        def __init__(self, held):
            self.held = held

        def __getitem__(self, span):
            if not asked:
                asked.append(True)
                for version in (2, 3):  # the second goes where the reader is looking
                    publisher.publish(version, policy(version))
            return self.held[span]

    patch.setattr(reader._mapped, "bytes", Slow(reader._mapped.bytes))
    found = reader.newer(0)
    patch.undo()
    assert asked
    then = reader.newer(0)
    publisher.close()
    reader.close()
    return found, then


def test_a_snapshot_that_changes_under_the_reader_is_left_for_the_next_call(path, monkeypatch):
    found, then = raced(path, monkeypatch)
    assert found is None
    assert then.version == 3
    assert same(then)


def test_without_the_digest_the_reader_would_mix_two_versions(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(handover, "digest", lambda version, data: bytes(16))
        found, _ = raced(path, pytest.MonkeyPatch())
    assert found is not None
    assert not same(found)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_not_published(path, value):
    publisher, reader = Publisher(path), Subscriber(path)
    publisher.publish(1, policy(1))
    bad = policy(2)
    bad["skill"][1] = value
    with pytest.raises(UserError, match="skill holds numbers that are not finite; the robot keeps"):
        publisher.publish(2, bad)
    assert reader.newer(0).version == 1
    publisher.close()
    reader.close()


def test_a_reader_does_not_trust_the_publisher_in_that(path, monkeypatch):
    publisher, reader = Publisher(path), Subscriber(path)
    publisher.publish(1, policy(1))
    bad = policy(2)
    bad["actor"][3, 3] = np.nan
    with monkeypatch.context() as careless:
        careless.setattr(handover, "unsound", lambda arrays: "")
        publisher.publish(2, bad)
        assert reader.newer(0).version == 2  # with both checks gone it would be used
    assert reader.newer(0).version == 1  # the older one is still there
    assert reader.newer(1) is None
    publisher.close()
    reader.close()


def test_bytes_that_are_no_arrays_are_not_used():
    assert handover.opened(1, b"nonsense") is None
    assert handover.opened(1, struct.pack("<Q", 2**60) + b"{}") is None


def test_a_policy_that_grew_is_refused(path):
    publisher = Publisher(path)
    with pytest.raises(UserError, match=r"a policy of \d+ bytes where \d+ were reserved"):
        publisher.publish(1, {"actor": np.zeros(1000, np.float32)})
    publisher.close()


def test_there_is_one_publisher_at_a_time(path):
    first = Publisher(path)
    with pytest.raises(UserError, match="is in use by process"):
        Publisher(path)
    first.close()
    Publisher(path).close()
