"""What comes with the package does what its card says."""

import re
from pathlib import Path

import numpy as np
import pytest

from ursa.evaluate.recard import again
from ursa.evaluate.rollout import rollout
from ursa.evaluate.skills import promised
from ursa.run import pretrained
from ursa.run.agent import Agent

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def agent():
    return Agent.load("a1-forward")


def test_a1_forward_ships_whole():
    assert "a1-forward" in pretrained.names()
    place = pretrained.find("a1-forward")  # refuses any file that is not as it was shipped
    size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    assert size <= pretrained.LARGEST


def test_it_walks_safely_by_the_skill_that_promises_most(agent):
    best = agent.skills[[promised(agent, agent.skills).argmax()]].astype(float)
    place = agent.arena(1)
    found = rollout(place, agent.policy, best, feature=agent.feature)
    place.close()
    assert found.safe.all()
    assert found.speed[0] > 0.3  # m/s; 0.75 where it was measured
    assert found.joint_speed[0] < 21.0  # no-load speed of the motors, rad/s
    assert found.torque[0] <= 1.0


def test_it_goes_where_it_is_told_in_the_plane_of_its_skills(agent):
    known = agent.repertoire
    assert known is not None
    ends = np.argsort(agent.skills[:, 0])[[200, -200]]  # far to the left and to the right
    z = agent.skills[ends].astype(float)
    place = agent.arena(2)
    found = rollout(place, agent.policy, z, feature=agent.feature)
    place.close()
    off = np.linalg.norm((found.feature - z) @ np.asarray(known.ruler).T, axis=1)
    apart = np.linalg.norm((z[0] - z[1]) @ np.asarray(known.ruler).T)
    assert (off < apart / 4).all()


def test_its_card_names_seed_licence_and_limits():
    card = (pretrained.find("a1-forward") / pretrained.CARD).read_text()
    assert re.search(r"this is seed \d of 0, 1, 2, 3, 4; by the share of achieved skills", card)
    for part in ("Apache-2.0", "## Limits", "has not moved a real robot"):
        assert part in card


@pytest.mark.parametrize(
    ("name", "run"), [("a1-forward", "forward-ursa"), ("a1-velocity", "velocity-ursa")]
)
def test_its_card_says_what_the_results_say(name, run):
    """What `python -m ursa.evaluate.recard NAME results/RUN` writes is what stands there."""
    there = (pretrained.find(name) / pretrained.CARD).read_text()
    assert again(name, ROOT / "results" / run) == there
