"""How fast a learner may be, and who waits for it: with the bounds, and without them."""

from dataclasses import replace

import pytest

from live.lessons import LIVE, Recording, begin
from runs import quickly
from ursa.live import pace, rounds
from ursa.live.learning import Learning
from ursa.live.pace import UNSEEN, Pace
from ursa.shared.pulse import Pulse

ROWS, PREFILL, TURNS = 48, 32, 12


@pytest.fixture(scope="module", autouse=True)
def quick():
    with quickly():
        yield


@pytest.fixture
def folder(tmp_path):
    return begin(tmp_path / "run")


def updates_of(folder):
    """Updates of a learner that may make as many rounds as it likes on 48 rows."""
    recording = Recording(folder)
    recording.add(ROWS)
    learning = Learning(folder, LIVE)
    for _ in range(TURNS):
        learning.turn()
    learning.close()
    recording.close()
    return learning.student.updates


def test_a_learner_with_time_makes_half_an_update_per_row_and_no_more(folder):
    assert updates_of(folder) == (ROWS - PREFILL) * 0.5


def test_without_the_upper_bound_it_would_make_more(folder, monkeypatch):
    monkeypatch.setattr(rounds, "allowed", lambda *_: LIVE.publish)
    assert updates_of(folder) == TURNS * LIVE.publish


def waits(folder, clock):
    """Whether an actor on a clock waits for a learner that has seen nothing, and for one that has
    seen all and made no update."""
    live = replace(LIVE, clock=clock, ratio_least=0.25)
    found, beating = Pace(folder, live, PREFILL), Pulse(folder, "learner")
    answers = [found.ahead(UNSEEN + 1)]
    beating.beat(0, column=400, seen=400)
    answers.append(found.ahead(400))
    for it in (found, beating):
        it.close()
    return answers


def test_on_a_wall_clock_a_robot_never_waits_and_in_virtual_time_it_does(folder):
    assert waits(folder, "wall") == [False, False]
    assert waits(folder, "shared:x") == [True, True]


def test_an_actor_blind_to_the_clock_would_hold_the_robot_up(folder, monkeypatch):
    monkeypatch.setattr("ursa.live.settings.Live.virtual", True)
    assert waits(folder, "wall") == [True, True]


def test_without_the_lower_bound_the_learner_would_be_left_behind(folder, monkeypatch):
    monkeypatch.setattr(pace, "behind", lambda *_: False)
    assert waits(folder, "shared:x") == [True, False]
