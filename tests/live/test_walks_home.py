"""The velocity skills that come with the package bring an A1 home, in the physics of training."""

import math

import numpy as np
import pytest

from ursa.gate.mailbox import Pose
from ursa.live import arena as floor
from ursa.live.homeward import guide
from ursa.robot.a1 import A1
from ursa.run.agent import Agent

DISC = floor.Arena(radius=2.5, margin=0.5)  # home within 1.0 m
FROM = (2.1, 0.3, 0.4)  # looks outward


@pytest.fixture(scope="module")
def home():
    return guide("a1-velocity", A1, DISC)


def way(home, steps=200):
    """Metres from the middle after each step of a robot that starts beyond the margin."""
    place = Agent.load("a1-velocity").arena()
    outcome, away = place.start(), []
    x, y, yaw = FROM
    home.begin()
    while len(away) < steps and (not away or away[-1] > DISC.home):
        w, i, j, k = outcome.reading.quaternion[0]
        dx, dy, _ = outcome.reading.truth.position[0]
        pose = Pose(
            x=x + math.cos(yaw) * dx - math.sin(yaw) * dy,
            y=y + math.sin(yaw) * dx + math.cos(yaw) * dy,
            yaw=yaw + math.atan2(2 * (w * k + i * j), 1 - 2 * (j * j + k * k)),
            time=0.0,
        )
        away.append(math.hypot(pose.x, pose.y))
        outcome = place.step(home(outcome.observation, pose)[None])
    place.close()
    return np.array(away)


def test_a_robot_that_looks_outward_turns_and_is_home_within_ten_seconds(home):
    away = way(home)
    assert away[0] > 2.0
    assert away[-1] <= DISC.home
    assert away.max() < DISC.radius


def test_one_that_turns_the_wrong_way_is_not(home, monkeypatch):
    """Sabotage."""
    right = floor.velocity
    monkeypatch.setattr(floor, "velocity", lambda *at: (right(*at)[0], -right(*at)[1]))
    assert way(home)[-1] > DISC.home
