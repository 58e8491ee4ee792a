"""A trial: what a point returns that does as it is told, and when it is stopped."""

import math

import numpy as np
import pytest

from ursa import Agent
from ursa.env.arena import arena
from ursa.evaluate.rollout import rollout
from ursa.repair.play import play, player
from ursa.robot.damage import parse

FADE = math.exp(-0.5)  # of a velocity error in one step: 0.05 s over a lag of 0.1 s


def speed(step):
    """Of a point told 1 m/s, after so many steps."""
    return 1 - FADE**step


@pytest.fixture
def one():
    place = arena("point", "point", 1)
    yield place
    place.close()


def steadily(x, y):
    return lambda *_: np.array([[x, y]])


def test_a_return_is_the_sum_of_rewards_of_250_steps(one):
    # The reward is v_x = 1 - FADE^k after step k: 250 minus a geometric series.
    trial = play(one, steadily(1.0, 0.0))
    assert trial.ret == pytest.approx(250 - FADE / (1 - FADE), abs=1e-9)
    assert (trial.unsafe, trial.aborted) == (0.0, False)


def test_damage_is_felt(one):
    one.body.damage(parse("x:weak=0.25", one.body.spec))
    assert play(one, steadily(1.0, 0.0)).ret == pytest.approx((250 - FADE / (1 - FADE)) / 4)


def test_every_trial_begins_at_rest(one):
    first, second = (play(one, steadily(0.7, 0.3)) for _ in range(2))
    assert first == second


def test_the_unsafe_share_is_counted_and_stops_nothing_unless_asked(one):
    # v_y is 0.39 after the first step and 0.63, beyond the safe 0.5, after the second.
    trial = play(one, steadily(0.0, 1.0))
    assert trial.unsafe == pytest.approx(249 / 250)
    assert not trial.aborted


def test_a_trial_beyond_the_limit_is_stopped_and_goes_on_on_paper(one):
    # A limit of 0.1 allows 25 unsafe steps; the 26th is step 27.
    steps = []

    def counted(*_):
        steps.append(1)
        return np.array([[-1.0, 1.0]])

    trial = play(one, counted, 0.1)
    assert len(steps) == 27
    assert trial.aborted
    assert trial.unsafe == pytest.approx(26 / 27)
    lived = -sum(speed(k) for k in range(1, 28))
    as_unsafe = -sum(speed(k) for k in range(2, 28)) / 26
    assert trial.ret == pytest.approx(lived + 223 * as_unsafe, abs=1e-9)
    # Cut short it would have returned -25; a skill must not gain by being stopped.
    whole = play(one, steadily(-1.0, 1.0))
    assert trial.ret == pytest.approx(whole.ret, rel=0.05)


def test_a_limit_that_is_just_kept_stops_nothing(one):
    assert not play(one, steadily(0.0, 1.0), 249 / 250).aborted
    assert play(one, steadily(0.0, 1.0), 248 / 250).aborted


def test_where_physics_diverges_the_return_is_no_number(one, monkeypatch):
    monkeypatch.setattr(type(one.body), "rescued", np.array([True]))
    assert math.isnan(play(one, steadily(1.0, 0.0)).ret)


def test_an_agent_s_trial_is_a_rollout_of_its_skill_by_the_chance_of_its_row(point, one):
    agent = Agent.load(point)
    skills = agent.skills[:3].astype(float)
    trial = player(one, agent.policy, skills)
    found = [trial(row).ret for row in (2, 0, 2)]
    assert found[0] == found[2]  # whatever was tried in between
    everyone = rollout(arena("point", "point", 3), agent.policy, skills)
    np.testing.assert_array_equal(found[:2], everyone.ret[[2, 0]])
    assert found[0] != found[1]
