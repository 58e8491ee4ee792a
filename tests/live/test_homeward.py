"""Who leads a robot home: a script, or an agent that was trained to walk at a velocity."""

from types import SimpleNamespace

import numpy as np
import pytest

from ursa.errors import UserError
from ursa.gate.mailbox import Pose
from ursa.live import guided
from ursa.live.arena import Arena
from ursa.live.homeward import Guide, Script, guide, upright
from ursa.robot.a1 import A1
from ursa.run.agent import Agent

DISC = Arena(radius=2.0, margin=0.5)
SKILLS = np.array([[0.0, -0.8], [0.0, 0.8], [0.3, 0.0], [-0.3, 0.0], [0.15, 0.2]])


def unchecked(monkeypatch, folder):
    """A guide, whatever is in the folder: it says which of its skills it was asked for."""
    calls: list[str] = []

    def act(observation, skill):
        calls.append(f"act on {np.shape(observation)}")
        return np.resize(skill, 12)

    agent = SimpleNamespace(
        skills=SKILLS, observation_size=34, reset=lambda: calls.append("reset"), act=act
    )
    monkeypatch.setattr(guided, "checked", lambda homing, robot: homing)
    monkeypatch.setattr(Agent, "load", classmethod(lambda cls, folder: agent))
    home = guide(folder, A1, DISC)
    assert calls == ["act on (34,)", "reset"]  # compiled before it is needed, and forgotten
    return home


def asked(monkeypatch, x, y, yaw):
    home = unchecked(monkeypatch, "somewhere")
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


def test_an_agent_of_another_task_is_no_guide():
    with pytest.raises(UserError, match=r"an agent of a1 / forward; want .* of a1 / velocity"):
        guide("a1-forward", A1, DISC)  # one that is shipped


def test_without_that_look_it_would_lead(monkeypatch):
    """Sabotage."""
    assert isinstance(unchecked(monkeypatch, "a1-forward"), Guide)


def test_the_shipped_velocity_skills_lead_an_a1_home_unless_told_otherwise():
    assert guided.checked("auto", "a1") == "a1-velocity"
    assert guided.checked("auto", "go2") == ""  # nobody has trained one
    assert guided.checked("script", "a1") == ""


def test_without_an_agent_the_script_leads():
    assert isinstance(guide("", A1, DISC), Script)


@pytest.mark.parametrize(
    ("roll", "stands"), [(0.0, True), (0.9, True), (1.2, False), (np.pi, False), (-1.2, False)]
)
def test_a_robot_that_has_tilted_by_more_than_sixty_degrees_lies(roll, stands):
    quaternion = np.array([np.cos(roll / 2), np.sin(roll / 2), 0.0, 0.0])
    assert upright(quaternion) is stands
