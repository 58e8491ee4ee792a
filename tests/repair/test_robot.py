"""Adaptation on a robot of one's own: it has no truth to give, makes every rollout itself, and is
stopped where it gets too unsafe."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import ursa.repair
from ursa import Agent
from ursa.env.arena import Arena
from ursa.errors import UserError
from ursa.evaluate.definitions import AGAIN
from ursa.repair import picture
from ursa.robot.damage import parse
from ursa.robot.point import POINT as SPEC
from ursa.robot.point import PointBody
from ursa.task import point as task

STEPS = 60


class Real(PointBody):
    """A point that knows of itself only what its sensors say, and counts what it is put to."""

    starts = steps = 0
    closed = False

    def rest(self, which=None):
        self.starts += 1
        return replace(super().rest(which), truth=None)

    def step(self, action):
        self.steps += 1
        return replace(super().step(action), truth=None)

    def close(self):
        self.closed = True


@pytest.fixture(scope="module")
def agent(point):
    return Agent.load(point)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    for room in ("repair.play", "evaluate.rollout"):
        monkeypatch.setattr(f"ursa.{room}.STEPS", STEPS)


@pytest.fixture
def robot():
    return Arena(Real(1), task.point(SPEC))


def test_a_real_robot_finds_what_a_simulated_one_does(agent, robot):
    found = ursa.repair.adapt(agent, "x:weak=0.5", trials=3, robot=robot)
    wanted = ursa.repair.adapt(agent, "x:weak=0.5", trials=3)
    assert found.search.attempts == wanted.search.attempts
    np.testing.assert_array_equal(found.before.ret, wanted.before.ret)
    np.testing.assert_array_equal(found.after.ret, wanted.after.ret)
    # Three trials and two times five fresh rollouts, by nobody else; one rest before the damage.
    assert robot.body.steps == (3 + 2 * AGAIN) * STEPS
    assert robot.body.starts == 3 + 2 * AGAIN + 1
    assert not robot.body.closed


def test_it_is_damaged_like_any_other(agent, robot):
    found = ursa.repair.adapt(agent, "x+y", trials=2, robot=robot)
    assert [it.trial.ret for it in found.search.attempts] == [0.0, 0.0]  # it cannot move
    assert parse("x+y", SPEC)  # both of its joints


def test_every_rollout_that_turns_unsafe_is_stopped_and_counted(agent, robot, monkeypatch):
    monkeypatch.setattr(task, "SAFE_SPEED", -2.0)  # nothing is safe
    found = ursa.repair.adapt(agent, "y", trials=2, robot=robot, unsafe_limit=0.1)
    assert found.search.aborted == 2
    assert (found.before.aborted, found.after.aborted) == (AGAIN, AGAIN)
    # A limit of 0.1 allows 6 unsafe steps of 60: the seventh is the last.
    assert robot.body.steps == (2 + 2 * AGAIN) * 7
    assert "stopped for safety: 12 of 12 rollouts" in picture.said(found)


def test_what_is_not_a_number_is_said_below_the_picture(agent):
    found = ursa.repair.adapt(agent, "y", trials=2)
    assert "NOT A NUMBER" not in picture.said(found)
    after = replace(found.after, ret=np.array([1.0, np.nan, 2.0, 3.0, np.inf]))
    words = picture.said(replace(found, after=after))
    assert "NOT A NUMBER, not drawn: 2 of 10 returns (fresh)" in words


def test_a_legend_hides_nothing_of_what_is_drawn(agent):
    found = ursa.repair.adapt(agent, "y", trials=2)
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2).ravel()
    picture.maps(figure, panels[:3], found)
    picture.returns(panels[3], found)
    figure.canvas.draw()
    for axes in panels:
        assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0


def test_several_robots_or_another_kind_are_refused(agent):
    for wrong in (Arena(Real(2), task.point(SPEC)), Arena(Strange(1), task.point(SPEC))):
        with pytest.raises(UserError, match="but this agent adapts one point"):
            ursa.repair.adapt(agent, "y", robot=wrong)
        assert wrong.body.steps == 0


def test_a_robot_brings_its_own_body(agent, robot, monkeypatch):
    monkeypatch.setattr("ursa.repair.adaptation.refuse_other_body", lambda *_: None)
    with pytest.raises(UserError, match="a robot and body mujoco: give one of them"):
        ursa.repair.adapt(agent, "y", robot=robot, body="mujoco")
    assert robot.body.steps == 0


class Strange(Real):
    """A robot with another name."""

    def __init__(self, count):
        super().__init__(count)
        self.spec = replace(SPEC, name="dot")
