"""DayDreamer: URSA's agent without a skill, and the same safety."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest

from ursa.agent.learn import learn
from ursa.agent.state import begin
from ursa.baselines.daydreamer import daydreamer
from ursa.presets import tiny
from worlds import habit, newborn, schooled, settings, skills, slider, view

H, N = 2, 3
METHOD = daydreamer(tiny().behavior, 0.0)


def judged(method=METHOD, value=9.0, cost=-0.2, **levels):
    returns = {"value": np.full((H, N, 1), value), "cost": np.full((H, N, 1), cost)}
    slow = {"value": np.ones((H, N, 1))}
    given = view(returns, slow, levels, skills("daydreamer", count=N), {"value": 2.0})
    return method.judge(given, ())


def test_a_safe_robot_follows_reward_and_an_unsafe_one_safety():
    for level, wanted in [(0.0, 4.0), (1.0, 0.2), (0.25, 3.05)]:
        np.testing.assert_allclose(judged(safe=level).objective, np.full((H, N), wanted), rtol=1e-6)


@pytest.mark.parametrize(("cost", "broken"), [(0.0, False), (0.01, True)])
def test_safety_is_violated_as_in_ursa(cost, broken):
    found = judged(cost=cost, safe=0.0)
    assert set(found.violated) == {"safe"}
    assert bool(found.violated["safe"].all()) is broken


def test_there_is_one_skill_and_it_has_no_numbers():
    assert METHOD.skill_size == 0
    assert METHOD.draw(jax.random.key(0), 5).shape == (5, 0)
    state = newborn("daydreamer")
    assert state.actor.skill_in.shape == (0, 16)
    assert state.critics.side_in.shape == (2, 0, 16)


def test_without_safety_it_has_no_multipliers_and_still_learns():
    method = daydreamer(replace(tiny().behavior, safety=False), 0.0)
    assert method.constraints == ()
    np.testing.assert_allclose(judged(method, cost=100.0).objective, np.full((H, N), 4.0))
    bare = replace(settings("daydreamer"), method=method)
    state = begin(bare, 0)
    given = (state, slider(), skills("daydreamer"), jax.random.key(0))
    after, metrics = jax.eval_shape(partial(learn, bare), *given)
    kinds = [[(x.shape, x.dtype) for x in jax.tree.leaves(it)] for it in (state, after)]
    assert kinds[0] == kinds[1]
    assert "lambda/safe" not in metrics


def test_it_learns_to_push_towards_the_reward():
    """The slider pays x0, which the first action pushes."""
    state, _ = schooled("daydreamer", newborn("daydreamer"), 60)
    assert (state.updates, state.dropped) == (60, 0)
    assert habit(newborn("daydreamer"))[0] < 0.4 < 0.6 < habit(state)[0]
