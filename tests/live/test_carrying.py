"""Actor and learner on two machines: rows go over once each, whatever is killed, cut or full."""

import json
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from live.carriers import LIVE, begun
from live.machines import carried
from log.logs import LAYOUT, quick, served, step
from sizes import SEED, patience, size
from ursa.channel.carrier import Broken
from ursa.live.carrying import Carrying
from ursa.shared import place

TESTS = Path(__file__).parents[1]


def killed(tmp_path, trials, sabotage="", seed=7 + SEED):
    """What `live.carriers` counted."""
    root = quick(tmp_path)
    print(f"seed {seed}")
    words = [sys.executable, "-m", "live.carriers", str(root), str(seed), str(trials), sabotage]
    done = subprocess.run(words, cwd=TESTS, capture_output=True, text=True)
    shutil.rmtree(root, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(patience("URSA_CARRIER_KILLS"))
def test_40_kills_of_either_side_lose_no_acknowledged_row_and_double_none(tmp_path):
    kills = size("URSA_CARRIER_KILLS")
    counted = killed(tmp_path, kills)
    assert counted.pop("told") > 100
    assert counted.pop("rows") > 200
    assert counted == {"kills": kills, "errors": 0, "lost": 0, "changed": 0, "alarms": 0}


def test_a_learner_that_acknowledges_before_it_commits_would_lose_some(tmp_path):
    assert killed(tmp_path, 15, "early")["lost"] > 0


def test_a_learner_that_takes_rows_without_looking_at_numbers_would_double_some(tmp_path):
    assert killed(tmp_path, 8, "forgetful")["changed"] > 0


def test_rows_arrive_in_order_and_the_rest_follows(machines):
    machines.record(1100)
    robot, turns = carried(machines)
    with closing(robot):
        assert (robot.end, turns) == (1100, 3)  # 512 + 512 + 76
        machines.record(5)
        assert robot.turn(0.0)
        assert not robot.turn(0.0)
        assert robot.end == 1105
    mine, theirs = served(machines.robot, LAYOUT.kind), served(machines.copy, LAYOUT.kind)
    assert mine == theirs
    assert len(theirs[0]) == 1105


def test_rows_that_are_not_on_disk_at_the_robot_do_not_leave(machines):
    machines.record(3)
    machines.ledger._volume[0].commit(3, [step(3)])  # committed, and nobody was told yet
    robot, _ = carried(machines)
    robot.close()
    assert served(machines.copy, LAYOUT.kind)[2] == 3


def test_rows_that_are_lost_at_the_robot_leave_a_gap_in_the_copy(machines):
    machines.record(4)
    machines.ledger.leave_gap(9)
    machines.record(2)
    robot, _ = carried(machines)
    robot.close()
    found, _, end = served(machines.copy, LAYOUT.kind)
    assert (sorted(found), end) == ([0, 1, 2, 3, 9, 10], 11)


def test_a_learner_that_is_gone_is_called_less_and_less_often(root):
    calls = []
    folder = begun(root / "robot")

    def nobody():
        calls.append(now)
        raise Broken("nobody is there")

    with closing(Carrying(folder, LIVE, nobody)) as robot:
        for tick in range(1300):
            now = tick / 10
            robot.turn(now)
        assert robot.why == "nobody is there"
    assert calls == [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5, 121.5]
    place.forget(folder)


def test_after_a_break_it_goes_on_by_itself(machines):
    machines.record(2)
    robot, _ = carried(machines)
    machines.desk._channel.close()  # the cable is out
    machines.record(2)
    assert robot.turn(0.0) is False
    assert robot.why
    assert robot.turn(0.4) is False
    assert robot.turn(0.6)
    assert robot.end == 4
    assert robot.why == ""
    robot.close()
    assert served(machines.copy, LAYOUT.kind) == served(machines.robot, LAYOUT.kind)


def test_a_full_disk_at_the_learner_delays_and_loses_nothing(machines, monkeypatch):
    robot = machines.carrying()
    machines.record(3)
    real = shutil.disk_usage

    def full(path):
        found = real(path)
        return found._replace(free=0) if Path(path) == machines.copy else found

    carried(machines)[0].close()
    monkeypatch.setattr(shutil, "disk_usage", full)
    machines.record(3)
    assert not robot.turn(0.0)
    assert robot.end == 3
    assert "free some space" in robot.taken.paused
    monkeypatch.setattr(shutil, "disk_usage", real)
    assert robot.turn(0.0)
    assert robot.end == 6
    robot.close()
