"""The whole of it, nothing stubbed: emulated A1, gate, actor, recorder, learner, supervisor.

The same code as `python runs/storm.py OUT`, with few rows and `tiny` networks: faults by script,
each of the five processes killed once. And a storm without protections, on which the same checks
must fail: `live/broken` takes them out.
"""

import importlib.util
import os
import random
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sizes import SEED, patience, size
from ursa.live import stop_command

HERE = Path(__file__).parent
STORM = HERE.parents[1] / "runs" / "storm.py"
# s; five lives start, and two of them compile
pytestmark = pytest.mark.timeout(patience("URSA_STORM_ROUNDS", 900))
VICTIMS = ("actor", "gate", "recorder", "learner", "supervisor") * size("URSA_STORM_ROUNDS")
SOON = 6.0  # s after which a storm whose supervisor starts nobody again is believed to stand still


def program():
    """The storm's own module."""
    spec = importlib.util.spec_from_file_location("storm", STORM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def storm_in(out, more):
    """The module, and a storm under way that is over in the end."""
    module = program()
    storm = module.Storm(out, 100_000, SEED, "tiny", 0.1, more)
    try:
        yield module, storm
    finally:
        storm.close()


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What is left of a run of which every process was killed."""
    out = tmp_path_factory.mktemp("storm") / "out"
    more = ["--checkpoint", "5", "--train.prefill", "64"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # five lives compile
        with storm_in(out, more) as (_, storm):
            storm._until(lambda: storm.over or storm.progress("learner") > 0, "a first update")
            for victim in VICTIMS:
                assert not storm.over, (out / "run.log").read_text()[-3000:]
                while (went_on := storm.hit(victim)) is None and not storm.over:
                    storm.care()  # it is between two lives
                    time.sleep(0.1)
                assert went_on, (out / "run.log").read_text()[-3000:]
            assert stop_command.stop(out / "run", end=True) == 0
            assert storm._until(lambda: storm.over, "the end of the run")
        return storm.verdict()


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """What is left of a run without protections of which one process was killed."""
    out = tmp_path_factory.mktemp("broken") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE / "broken"), prepend=os.pathsep)
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
        with storm_in(out, ["--train.prefill", "1000"]) as (module, storm):
            storm._until(
                lambda: (
                    storm.over
                    or (storm.progress("recorder") > 60 and storm.faults(storm.book()["time"]))
                ),
                "rows and a fault",
            )
            assert not storm.over, (out / "run.log").read_text()[-3000:]
            patch.setattr(module, "LIMIT", SOON)
            storm.hit("actor")
        unused = SimpleNamespace(returncode=None, stdout="", stderr="")  # of `ursa replay`
        patch.setattr(module.subprocess, "run", lambda *_, **__: unused)
        return storm.verdict()


def went_on(found):
    return found["went on after"] == found["kills"] > 0


def got_over(found):
    return found["went on after faults"] == found["faults"] > 0


def test_rows_and_updates_grow_after_every_kill_and_the_run_ends_in_order(found):
    assert went_on(found)
    assert found["kills"] == len(VICTIMS)
    assert set(found["killed"].values()) == {len(VICTIMS) // 5}
    assert found["rows"] >= len(VICTIMS) * 20
    assert found["updates"] >= found["rows"] * 0.1 - 20  # the actor waits for a slow learner
    assert found["run ended with"] == 130  # in order, because it was asked to


def test_rows_and_updates_grow_after_every_fault_of_the_script(found):
    assert got_over(found), found["slowest after a fault"]


def test_a_fault_is_got_over_when_twenty_rows_and_an_update_of_them_came():
    """Rows every 50 ms from 10 s on, none from 12 to 15 s; 60 of them."""
    times = np.concatenate([10 + 0.05 * np.arange(40), 15 + 0.05 * np.arange(20)])
    numbers = np.arange(60)
    after = program().recoveries([10.01, 11.51, 15.01], times, numbers, 60)
    # rows 1 to 20 (11.0 s); row 31 (11.55 s) to 50, the eleventh of the later ones; only 19 left
    assert [round(each, 2) for each in after] == [0.99, 3.99, np.inf]
    # of rows 0 to 30 only: nobody learnt from what came after the second
    assert program().recoveries([11.51], times, numbers, 31) == [np.inf]


def test_no_row_is_lost_and_the_learner_follows_from_the_log(found):
    assert found["damaged or missing rows"] == 0
    assert found["acknowledged"] >= len(VICTIMS) * 20
    assert found["acknowledged and lost"] == 0
    assert found["replay"] == 0, found["replay said"]


def test_no_command_ever_left_the_limits(found):
    assert found["robot"]["commands"] > len(VICTIMS) * 20 * 25
    assert found["robot"]["violations"] == 0, found["robot"]["said"]


GOOD = {
    "killed": {"gate": 3, "actor": 2, "recorder": 1, "learner": 1, "supervisor": 1},
    "kills": 8, "went on after": 8, "faults": 40, "went on after faults": 40,
    "damaged or missing rows": 0, "acknowledged and lost": 0, "robot": {"violations": 0},
    "run ended with": 0, "replay": 0, "reward by thirds": [0.1, 0.3, 0.2],
}  # fmt: skip
SPARED = dict.fromkeys(GOOD["killed"], 0)
BAD = {
    "nobody was killed": {"kills": 0, "went on after": 0},
    "never killed: gate, actor, recorder, learner, supervisor": {"killed": SPARED},
    "never killed: learner": {"killed": {**GOOD["killed"], "learner": 0}},
    "rows and updates did not grow after every kill": {"went on after": 7},
    "nothing of the script happened": {"faults": 0, "went on after faults": 0},
    "rows and updates did not grow after every fault": {"went on after faults": 39},
    "rows are damaged or missing": {"damaged or missing rows": 1},
    "acknowledged rows were lost": {"acknowledged and lost": 1},
    "commands left the limits": {"robot": {"violations": 1}},
    "the run did not end in order": {"run ended with": 130},
    "the learner cannot be computed again": {"replay": 1},
    "the reward did not grow": {"reward by thirds": [0.2, 0.3, 0.2]},
}


@pytest.mark.parametrize("said", BAD)
def test_each_promise_that_was_not_kept_is_said(said):
    unkept = program().unkept
    assert unkept(GOOD) == []
    assert unkept(GOOD | BAD[said]) == [said]


def calm(out, monkeypatch, module, found):
    """The exit code of a storm whose run is over before anybody was killed."""

    class Calm:
        over, kills = True, []

        def __init__(self, *words): ...

        def _until(self, true, what): ...

        def close(self): ...

        def verdict(self):
            return found

    monkeypatch.setattr(module, "Storm", Calm)
    monkeypatch.setattr(sys, "argv", ["storm.py", str(out)])
    return module.main()


def test_a_storm_that_killed_nobody_was_none(tmp_path, monkeypatch, capsys):
    found = GOOD | {"kills": 0, "went on after": 0, "killed": SPARED}
    assert calm(tmp_path, monkeypatch, program(), found) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "not as promised: nobody was killed",
        "not as promised: never killed: gate, actor, recorder, learner, supervisor",
    ]
    assert calm(tmp_path, monkeypatch, program(), GOOD) == 0


def test_one_that_compares_only_would_pass_for_a_storm(tmp_path, monkeypatch):
    """Sabotage: all of nobody went on."""
    found, module = GOOD | {"kills": 0, "went on after": 0, "killed": SPARED}, program()
    unkept, blind = module.unkept, ("nobody", "never")
    monkeypatch.setattr(
        module, "unkept", lambda it: [said for said in unkept(it) if not said.startswith(blind)]
    )
    assert calm(tmp_path, monkeypatch, module, found) == 0


def test_each_of_the_five_is_the_victim_once_before_any_is_again():
    victims = program().victims
    for seed in range(100):
        coming = victims(random.Random(seed))
        assert {next(coming) for _ in range(5)} == set(GOOD["killed"])


def test_who_is_not_there_was_not_killed(tmp_path):
    (tmp_path / "run").mkdir()
    storm = SimpleNamespace(folder=tmp_path / "run", over=False, kills=[])
    for victim in GOOD["killed"]:
        assert program().Storm.hit(storm, victim) is None
    assert storm.kills == []


def test_a_storm_without_protections_fails_the_same_checks(broken):
    """Nobody is started again, rows are acknowledged and not written, gains are raised."""
    assert not went_on(broken)
    assert broken["faults"] > 0
    assert not got_over(broken)
    assert broken["acknowledged and lost"] > 0
    assert broken["damaged or missing rows"] > 0
    assert broken["robot"]["violations"] > 0
