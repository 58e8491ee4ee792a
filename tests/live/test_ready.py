"""Before a run: of two starts on one robot, one is refused before it has sent a packet."""

from contextlib import ExitStack, closing

import pytest

from gate.gated import LIMITS
from live.silent import Robot
from live.stacked import live_of
from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate.link import FAREWELLS, Link, address
from ursa.live import ready, stander
from ursa.shared import place


@pytest.fixture
def robot():
    with closing(Robot()) as found:
        yield found


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    for each in tmp_path.iterdir():
        if each.is_dir():
            place.forget(each)


def of(folder, robot):
    return live_of(folder, link="udp://{}:{}".format(*robot.address), clock="wall", room=0.0)


def talks(folder, live, say):
    """A check that the robot hears: one limp command, and the farewell."""
    with Link(address(live.link), LIMITS.limp) as link:
        link.send(LIMITS.limp)


def both(folder, robot, monkeypatch):
    """Start once, and once more while that start has checked all and has no gate yet."""
    monkeypatch.setattr(ready, "check", talks)
    with ExitStack() as first, ExitStack() as second:
        ready.held(first, folder / "first", of(folder, robot), print)
        robot.heard()
        ready.held(second, folder / "second", of(folder, robot), print)


def test_a_second_start_on_a_robot_is_refused_before_it_sends_anything(folder, robot, monkeypatch):
    with pytest.raises(UserError, match=r"the robot at 127\.0\.0\.1:\d+ is in use by process"):
        both(folder, robot, monkeypatch)
    assert robot.heard() == []
    assert not (folder / "second").exists()  # and leaves nothing behind
    with ExitStack() as stack:  # the first is over: free again
        ready.held(stack, folder / "second", of(folder, robot), print)
    assert len(robot.heard()) == 1 + FAREWELLS


def test_without_the_reservation_both_would_talk_to_it(folder, robot, monkeypatch):
    """Sabotage: the claim of the gate alone is free between check and gate."""
    spare = iter(range(9))
    monkeypatch.setattr(ready, "reserved", lambda *_: Claim(folder / f"{next(spare)}.lock"))
    both(folder, robot, monkeypatch)
    assert len(robot.heard()) == 1 + FAREWELLS


def test_the_robot_is_held_before_it_is_asked_and_until_the_end(folder, robot, monkeypatch):
    """Also by a command that only tries skills."""
    seen = []

    def check(place, live, say):
        with pytest.raises(UserError, match="is in use by process"):
            ready.reserved(robot.address)
        seen.append("held")
        raise UserError("enough")

    monkeypatch.setattr(ready, "check", check)
    (folder / "run").mkdir()
    with (
        pytest.raises(UserError, match="enough"),
        stander.gated(folder / "run", of(folder, robot), print),
    ):
        pass
    assert seen == ["held"]
    ready.reserved(robot.address).close()


def test_a_folder_in_use_is_refused_before_the_robot_is_asked(folder, robot, monkeypatch):
    monkeypatch.setattr(ready, "check", talks)
    (folder / "run").mkdir()
    with (
        closing(Claim(folder / "run" / ready.LOCK)),
        ExitStack() as stack,
        pytest.raises(UserError, match="run is in use by process"),
    ):
        ready.held(stack, folder / "run", of(folder, robot), print)
    assert robot.heard() == []
