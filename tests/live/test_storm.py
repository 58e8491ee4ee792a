"""The whole of it, nothing stubbed: emulated A1, gate, actor, recorder, learner, supervisor.

The same code as `python runs/storm.py OUT`, with few rows and `tiny` networks: faults by script,
each of the five processes killed once.
"""

import importlib.util
from pathlib import Path

import pytest

from ursa.live import stop_command

STORM = Path(__file__).parents[2] / "runs" / "storm.py"
pytestmark = pytest.mark.timeout(900)  # s; five lives start, and two of them compile
VICTIMS = ("actor", "gate", "recorder", "learner", "supervisor")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What is left of a run of which every process was killed."""
    spec = importlib.util.spec_from_file_location("storm", STORM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = tmp_path_factory.mktemp("storm") / "out"
    more = ["--checkpoint", "5", "--train.prefill", "64"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # five lives compile
        storm = module.Storm(out, 100_000, 0, "tiny", 0.1, more)
        return _weathered(storm, out)


def _weathered(storm, out):
    try:
        storm._until(lambda: storm.over or storm.progress("learner") > 0, "a first update")
        for victim in VICTIMS:
            assert not storm.over, (out / "run.log").read_text()[-3000:]
            assert storm.hit(victim), (out / "run.log").read_text()[-3000:]
        assert stop_command.stop(out / "run", end=True) == 0
        assert storm._until(lambda: storm.over, "the end of the run")
    finally:
        storm.close()
    return storm.verdict()


def test_rows_and_updates_grow_after_every_kill_and_the_run_ends_in_order(found):
    assert (found["kills"], found["went on after"]) == (5, 5)
    assert found["rows"] >= 5 * 20
    assert found["updates"] >= found["rows"] * 0.1 - 20  # the actor waits for a slow learner
    assert found["run ended with"] == 130  # in order, because it was asked to


def test_no_row_is_lost_and_the_learner_follows_from_the_log(found):
    assert found["damaged or missing rows"] == 0
    assert found["replay"] == 0, found["replay said"]


def test_no_command_ever_left_the_limits(found):
    assert found["robot"]["commands"] > 5 * 20 * 25
    assert found["robot"]["violations"] == 0, found["robot"]["said"]
