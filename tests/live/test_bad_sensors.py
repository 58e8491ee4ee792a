"""1,392 bad sensor values, each on its whole way: none reaches a command, a row, the other machine,
the replay or a network."""

import shutil
from contextlib import closing

import jaxtyping
import numpy as np
import pytest

from gate import gated
from gate.gated import at
from live.sensed import Way, batches, cases, learnt, logged
from log.logs import quick
from ursa.gate import gate, seen
from ursa.gate.modes import Mode
from ursa.log import record
from ursa.log import rows as reading
from ursa.shared import place as memory

NUMBERS = ("observation", "action", "reward", "cost", "posture")
CLEAN = 2  # lives without a bad value: one as the other
SLACK = 0.02  # a step bridged with the last good state differs a little from a clean one
HELD = 1.0  # and one in which the gate stepped in by more: it is marked, and nobody learns from it


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def way(tmp_path):
    root = quick(tmp_path)
    with closing(Way(root)) as found:
        yield found
    for folder in (found.robot, found.copy):
        memory.forget(folder)
    shutil.rmtree(root, ignore_errors=True)


def sent(way, some):
    """Let these cases live after some clean ones, put all on disk, carry all to the copy."""
    for case in (*[None] * CLEAN, *some):
        way.live(case)
    way.record()
    assert way.carry() == way.recorder.end == way.writer.next


def strange(found, clean, slack=SLACK):
    """Which rows of (T, ...) numbers are not finite, or beyond what clean lives show."""
    flat = np.asarray(found, float).reshape(len(found), -1)
    known = np.asarray(clean, float).reshape(len(clean), -1)
    low, high = known.min(axis=0) - slack, known.max(axis=0) + slack
    return np.flatnonzero(~((flat >= low) & (flat <= high)).all(axis=1))  # also true of nan


def reached(way):
    """Where something bad got to: place, field, and the cases that it came from."""
    rows = logged(way.robot).row
    whole = way.begins[CLEAN][0]  # rows of clean lives
    clean = {name: getattr(rows, name)[:whole] for name in NUMBERS}
    found = {}
    for name in NUMBERS:
        bad = strange(getattr(rows, name), clean[name], HELD)
        found["log", name] = {way.whose(int(number)) for number in bad}
        for folder, where in ((way.robot, "replay"), (way.copy, "replay of the copy")):
            batch = np.asarray(getattr(batches(learnt(folder)), name))
            batch = batch.reshape(-1, *clean[name].shape[2:])
            found[where, name] = strange(batch, clean[name]).tolist()
    bad = strange(way.pilot.given, clean["observation"])
    found["network of the actor", "observation"] = bad.tolist()
    return {at_: cases_ for at_, cases_ in found.items() if cases_}


def test_of_1392_bad_values_none_reaches_command_log_replay_or_network(way):
    """A command outside the limits fails inside the gate's cycle."""
    some = list(cases())
    assert len(some) == 1392
    sent(way, some)
    assert reached(way) == {}
    assert way.refused == 0  # nothing had to be held back so late
    ends = zip(way.modes, way.begins, strict=True)
    found = {(mode, case[3]) for mode, (_, case) in ends if case}
    assert found == {(Mode.RUN, 1), (Mode.RUN, 2), (Mode.HOLD, 3), (Mode.HOLD, 50)}
    steps = logged(way.copy)
    assert len(steps.marks) == way.writer.next
    held = sum(case[3] > 2 for case in some)
    assert int((steps.marks != 0).sum()) == held  # the step in which the gate stepped in, each
    assert reading.count(learnt(way.copy)) == way.writer.next - held


def unguarded(patch, guards):
    """Take protections out; the bench's own rule too, to see how far it gets."""
    at(Mode.RUN)  # the robot to start from is made with them
    careless = {
        "belief": [(seen, "doubtful", lambda state: None), (seen, "_jump", lambda *_: None)],
        "command": [(gate, "all", lambda checks: True)],
        "row": [(record, "np", Blind())],
        "replay": [(reading, "left_out", lambda steps: np.zeros(len(steps.marks), bool))],
    }
    for guard in guards:
        for where, what, broken in careless[guard]:
            patch.setattr(where, what, broken, raising=False)
    patch.setattr(gated, "violation", lambda *_: None)


class Blind:
    """NumPy, to which every number is finite."""

    def __getattr__(self, name):
        return getattr(np, name)

    def isfinite(self, values):
        return np.ones(np.shape(values), bool)


EVERYWHERE = {"log", "replay", "replay of the copy", "network of the actor"}


@pytest.mark.parametrize(
    ("case", "where"),
    [
        (("gyro", 1, "1e30", 1), EVERYWHERE),
        (("speed", 4, "spike", 1), EVERYWHERE),
        (("quaternion", 2, "spike", 1), EVERYWHERE - {"log"}),  # less than what a held step may be
        (("angle", 4, "spike", 1), {"log"}),  # angle against speed: the gate steps in, it is marked
    ],
    ids=["gyro", "speed", "quaternion", "angle"],
)
def test_without_the_check_of_what_is_believed_bad_values_get_through(
    way, monkeypatch, case, where
):
    """What no robot can say, and yet a number."""
    unguarded(monkeypatch, ["belief"])
    sent(way, [case] * 4)
    assert {place for place, _ in reached(way)} == where


@pytest.mark.parametrize(
    ("guards", "where"),
    [
        (["belief"], set()),  # the gate stops, the row is refused before the ring
        (["belief", "command"], {"network of the actor"}),
        (["belief", "command", "row"], {"network of the actor", "log"}),
        (["belief", "command", "row", "replay"], EVERYWHERE),
    ],
    ids=["one", "two", "three", "four"],
)
def test_nan_meets_one_guard_after_the_other(way, monkeypatch, guards, where):
    """Belief, command, row, and the learner's own look at its log."""
    unguarded(monkeypatch, guards)
    sent(way, [("angle", 4, "nan", 1)] * 4)
    assert {place for place, _ in reached(way)} == where
    assert (way.refused > 0) is ("row" not in guards)
