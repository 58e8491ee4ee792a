"""A learner's copy of a robot's log: of one run, one layout and one way, and a run of its own."""

from contextlib import closing
from dataclasses import replace

import pytest

from live.carriers import LIVE, begun
from live.machines import carried, outcome
from log.logs import LAYOUT, step
from ursa import durable
from ursa.channel import carrier
from ursa.channel.carrier import Broken, Kind, Unwanted
from ursa.errors import UserError
from ursa.live import replica
from ursa.live import settings as living
from ursa.live.carrying import introduced
from ursa.live.replica import Replica
from ursa.live.settings import Live
from ursa.log.ledger import Ledger
from ursa.shared import place


def test_the_copy_is_a_run_of_its_own_with_our_modules(machines):
    machines.record(1)
    robot, _ = carried(machines)
    robot.close()
    live = living.read(machines.copy)
    assert live == replace(Live(), **replica.carried(LIVE))
    assert (machines.copy / "config.json").read_bytes() == (
        machines.robot / "config.json"
    ).read_bytes()
    assert (machines.copy / "identity").read_bytes() != (machines.robot / "identity").read_bytes()


def test_rows_in_the_wrong_place_are_refused(root):
    robot = begun(root / "robot")
    with closing(Replica(root / "copy")) as copy:
        copy.welcome(introduced(robot, LIVE))
        copy.answer(Kind.ROWS, carrier.rows(0, 0, [step(0), step(1)]))
        for after, first in ((0, 0), (1, 1), (3, 3), (0, 2)):  # repeated, repeated, lost, a gap
            with pytest.raises(Broken, match="the copy ends at 2"):
                copy.answer(Kind.ROWS, carrier.rows(after, first, [step(first)]))
        assert copy.end == 2
    for each in (robot, root / "copy"):
        place.forget(each)


def test_another_run_is_refused_by_name(machines, root):
    carried(machines)[0].close()
    other = begun(root / "other")
    said, rows = outcome(machines, folder=other)
    place.forget(other)
    mine, theirs = (place.origin(it)[:8] for it in (machines.robot, other))
    assert f"copy of run {mine}..., this robot is run {theirs}..." in said
    assert "--out" in said
    assert rows == 0


def test_without_the_identity_rows_of_two_runs_would_be_mixed(machines, root, monkeypatch):
    machines.record(2)
    carried(machines)[0].close()
    other = begun(root / "other")
    with closing(Ledger(other, LAYOUT.kind)) as ledger:
        ledger.commit(0, [step(0), step(1), step(77)])
    theirs = place.origin(other)
    monkeypatch.setattr(Replica, "_origin", lambda self: theirs)
    assert outcome(machines, folder=other) == ("", 3)
    place.forget(other)


def test_another_layout_is_refused(machines, root, monkeypatch):
    monkeypatch.setattr(place, "origin", lambda folder: "the same")
    carried(machines)[0].close()
    other = begun(root / "other", replace(LIVE, observation=4))
    said, rows = outcome(machines, folder=other, live=replace(LIVE, observation=4))
    assert "observation=3" in said
    assert "observation=4" in said
    assert rows == 0


def test_another_format_of_rows_is_refused(machines, monkeypatch):
    hello = introduced(machines.robot, LIVE)
    with pytest.raises(Unwanted, match="rows are laid out as"):
        machines.replica.welcome(replace(hello, layout=hello.layout.replace("1", "2", 1)))
    assert machines.replica.live is None


@pytest.mark.parametrize("name", ["os:path", "package.module"])
def test_a_module_named_by_the_robot_is_not_imported(root, name):
    robot = begun(root / "robot")
    hello = introduced(robot, LIVE)
    with closing(Replica(root / "copy")) as copy, pytest.raises(Unwanted, match="installed"):
        copy.welcome(replace(hello, config={**hello.config, "robot": name}))
    place.forget(robot)


def test_settings_of_processes_are_not_taken_from_the_robot(root):
    robot = begun(root / "robot")
    hello = introduced(robot, LIVE)
    with closing(Replica(root / "copy")) as copy:
        for more in ({"modules": {"learner": "antigravity"}}, {"rows": "many"}, {"rows": -1}):
            with pytest.raises(UserError):
                copy.welcome(replace(hello, live={**hello.live, **more}))
        assert not (root / "copy" / replica.ORIGIN).exists()
    place.forget(robot)


def test_a_folder_with_a_run_of_its_own_is_not_written_over(root):
    robot, own = begun(root / "robot"), begun(root / "own")
    before = durable.sha256((own / "config.json").read_bytes())
    with closing(Replica(own)) as copy, pytest.raises(UserError, match="holds a run already"):
        copy.welcome(introduced(robot, LIVE))
    assert durable.sha256((own / "config.json").read_bytes()) == before
    for each in (robot, own):
        place.forget(each)


def test_a_copy_that_is_not_a_beginning_of_the_log_is_refused(machines):
    machines.record(5)
    carried(machines)[0].close()
    machines.forget()  # the robot's log was put back, or went another way since
    with closing(Ledger(machines.robot, LAYOUT.kind)) as ledger:
        ledger.commit(0, [step(number) for number in range(3)])
        short = pytest.raises(Unwanted, match="copy ends at row 5, this robot's log at 3")
        with closing(machines.carrying()) as robot, short:
            robot.turn(0.0)
        ledger.commit(3, [step(30), step(40), step(50)])
        other = pytest.raises(Unwanted, match="row 4 of the learner's copy is not row 4 of this")
        with closing(machines.carrying()) as robot, other:
            robot.turn(0.0)
    assert machines.replica.end == 5
