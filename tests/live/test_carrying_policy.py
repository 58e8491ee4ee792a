"""Policies come back from the learner's machine: whole, finite, newer, or not at all."""

from contextlib import closing, contextmanager

import numpy as np

from live.carriers import LIVE, begun
from ursa.channel import carrier
from ursa.channel.carrier import Broken
from ursa.live.carrying import Carrying
from ursa.live.replica import Replica
from ursa.shared import handover, place

WEIGHTS = {"weights": np.arange(6, dtype=np.float32), "skills": np.ones((2, 2), np.float32)}


def published(folder, version, arrays):
    """What the learner of a copy does."""
    path = place.shared(folder) / carrier.MEMORY
    if not path.exists():
        handover.create(path, capacity=len(handover.encode(WEIGHTS)))
    with closing(handover.Publisher(path)) as publisher:
        publisher.publish(version, arrays)


@contextmanager
def actor(folder):
    with closing(handover.Subscriber(place.shared(folder) / carrier.MEMORY)) as found:
        yield found


def test_policies_come_back_whole_and_the_newest_is_enough(machines):
    robot = machines.carrying()
    robot.turn(0.0)
    assert robot.newest == 0
    for version in (1, 2, 7):
        published(machines.copy, version, {k: it * version for k, it in WEIGHTS.items()})
    robot.turn(0.0)
    with actor(machines.robot) as reader:
        found = reader.newer(0)
        assert found.version == robot.newest == 7
        assert found.arrays["weights"].tolist() == [0, 7, 14, 21, 28, 35]
        robot.turn(0.0)
        assert reader.newer(7) is None
    robot.close()
    with closing(machines.carrying()) as again:  # one that is started again knows what is there
        assert again.newest == 7


@contextmanager
def alone(root):
    """A robot's end that is called by nobody."""
    folder = begun(root / "robot")

    def nobody():
        raise Broken("nobody")

    with closing(Carrying(folder, LIVE, nobody)) as found:
        yield found
    place.forget(folder)


def spoilt():
    data = bytearray(handover.encode(WEIGHTS))
    data[-4:] = np.float32(np.nan).tobytes()
    return bytes(data)


def test_a_policy_that_is_not_finite_is_not_put_in_place(root, monkeypatch):
    with alone(root) as robot:
        assert robot.put(3, handover.encode(WEIGHTS))
        assert not robot.put(4, spoilt())
        assert not robot.put(5, b"no policy at all")
        assert (robot.newest, robot.refused) == (3, 2)
        monkeypatch.setattr(handover, "unsound", lambda arrays: "")
        assert robot.put(6, spoilt())  # without the check
        assert robot.newest == 6


def test_a_policy_that_is_not_newer_is_not_put_in_place(root, monkeypatch):
    with alone(root) as robot:
        assert robot.put(3, handover.encode(WEIGHTS))
        for version in (0, 1, 2, 3):
            assert not robot.put(version, handover.encode(WEIGHTS))
        assert robot.newest == 3
        robot._publisher.newest = 0  # without knowing what is there
        assert robot.put(2, handover.encode(WEIGHTS))


def test_a_spoilt_policy_is_asked_for_once(machines, monkeypatch):
    robot = machines.carrying()
    robot.turn(0.0)
    published(machines.copy, 1, WEIGHTS)
    monkeypatch.setattr(Replica, "_policy", lambda self, than: carrier.policy(1, spoilt()))
    for _ in range(3):
        robot.turn(0.0)
    assert (robot.newest, robot.refused) == (0, 1)
    robot.close()


def test_snapshots_lie_where_the_actor_looks_for_them(tmp_path):
    from ursa.live import snapshot

    assert snapshot.memory(tmp_path) == place.shared(tmp_path) / carrier.MEMORY
    place.forget(tmp_path)
