"""The map before any trial: which skills, and what they promise."""

import numpy as np
import pytest

from ursa import Agent
from ursa.errors import UserError
from ursa.evaluate.rollout import rollout
from ursa.repair.prior import candidates, measured, value


@pytest.fixture(scope="module")
def agent(point):
    return Agent.load(point)


def rows(skills):
    return {tuple(skill) for skill in np.asarray(skills, float).tolist()}


def test_skills_are_all_that_are_known_thinned_to_so_many(agent):
    assert candidates(agent, 20).shape == (20, 2)
    assert rows(candidates(agent, 20)) == rows(agent.thin(20))
    assert rows(candidates(agent)) == rows(agent.skills)  # 64, none is drawn


def test_dominic_has_its_eight_in_their_own_order(baseline):
    np.testing.assert_array_equal(candidates(Agent.load(baseline("dominic"))), np.eye(8))


def test_daydreamer_has_nothing_to_choose_among(baseline):
    with pytest.raises(UserError, match="daydreamer knows a single way to move"):
        candidates(Agent.load(baseline("daydreamer")))


def test_a_promised_return_is_250_average_rewards_over_several_wakings(agent):
    skills = candidates(agent, 6)
    found = value(agent, skills)
    assert found.shape == (6,)
    assert found.std() > 0
    # Each of eight wakings draws a latent state of its own.
    rest = np.repeat(agent.arena().start().observation, 48, axis=0)
    drawn = agent.value(rest, skills[np.arange(48) // 8])
    wanted = [250 * drawn[8 * i : 8 * i + 8].astype(float).mean() for i in range(6)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert drawn.reshape(6, 8).std(axis=1).max() > 0


def test_a_measured_return_is_that_of_an_undamaged_rollout(agent):
    skills = candidates(agent, 3)
    wanted = rollout(agent.arena(3), agent.policy, skills).ret
    np.testing.assert_array_equal(measured(agent, skills), wanted)


def test_a_skill_that_diverged_is_expected_to_return_the_least(agent, monkeypatch):
    class Told:
        ret = np.array([3.0, np.nan, 1.0])

    monkeypatch.setattr("ursa.evaluate.crowd.Crowd.rollouts", lambda *_: Told)
    assert measured(agent, np.zeros((3, 2))).tolist() == [3.0, 1.0, 1.0]
    Told.ret = np.full(3, np.nan)
    assert np.isnan(measured(agent, np.zeros((3, 2)))).all()
