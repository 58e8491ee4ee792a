"""Who leads a robot home: a script, or an agent that was trained to walk at a velocity."""

from types import SimpleNamespace

import numpy as np
import pytest

from ursa.errors import UserError
from ursa.gate.mailbox import Pose
from ursa.live.arena import Arena
from ursa.live.homeward import Guide, Script, guide, upright
from ursa.robot.a1 import A1
from ursa.run.agent import Agent

DISC = Arena(radius=2.0, margin=0.5)
SKILLS = np.array([[0.0, -0.8], [0.0, 0.8], [0.3, 0.0], [-0.3, 0.0], [0.15, 0.2]])


def agent(task):
    """An agent that says which of its skills it was asked for."""
    config = SimpleNamespace(robot="a1", task=task)
    return SimpleNamespace(
        config=config,
        skills=SKILLS,
        reset=lambda: None,
        act=lambda observation, skill: np.resize(skill, 12),
    )


def asked(monkeypatch, x, y, yaw):
    monkeypatch.setattr(Agent, "load", classmethod(lambda cls, folder: agent("velocity")))
    home = guide("somewhere", A1, DISC)
    assert isinstance(home, Guide)
    home.begin()
    return home(np.zeros((1, 34)), Pose(x=x, y=y, yaw=yaw, time=0.0))[:2].tolist()


@pytest.mark.parametrize(
    ("x", "y", "yaw", "skill"),
    [
        (1.6, 0.0, np.pi, [0.3, 0.0]),  # looks at the middle: straight ahead
        (-1.6, 0.0, 0.0, [0.3, 0.0]),
        (1.6, 0.0, np.pi / 2, [0.0, 0.8]),  # the middle is on its left
        (1.6, 0.0, -np.pi / 2, [0.0, -0.8]),
        (0.0, 1.6, 0.0, [0.0, -0.8]),  # and on its right
    ],
)
def test_an_agent_is_asked_for_its_nearest_skill_to_the_velocity_that_leads_home(
    monkeypatch, x, y, yaw, skill
):
    assert asked(monkeypatch, x, y, yaw) == skill


def test_an_agent_of_another_task_is_no_guide(monkeypatch):
    monkeypatch.setattr(Agent, "load", classmethod(lambda cls, folder: agent("forward")))
    with pytest.raises(UserError, match="an agent of a1 / forward, want one of a1 / velocity"):
        guide("somewhere", A1, DISC)


def test_without_an_agent_the_script_leads():
    assert isinstance(guide("", A1, DISC), Script)


@pytest.mark.parametrize(
    ("roll", "stands"), [(0.0, True), (0.9, True), (1.2, False), (np.pi, False), (-1.2, False)]
)
def test_a_robot_that_has_tilted_by_more_than_sixty_degrees_lies(roll, stands):
    quaternion = np.array([np.cos(roll / 2), np.sin(roll / 2), 0.0, 0.0])
    assert upright(quaternion) is stands
