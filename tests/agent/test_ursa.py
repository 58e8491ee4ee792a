"""What URSA wants: safety before skill before reward, in numbers."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.agent.method import FLOOR, Skills, advantage
from ursa.agent.ursa import feel, ursa
from ursa.presets import tiny
from ursa.world.imagine import Dream
from worlds import leading, view

H, N = 2, 3
BEHAVIOR = tiny().behavior
METHOD = ursa(BEHAVIOR, 2, 0.0)
Z = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def handed(delta=0.25, whiten=None):
    return Skills(
        z=jnp.asarray(Z, jnp.float32),
        delta=jnp.asarray(delta, jnp.float32),
        whiten=jnp.asarray(np.eye(2) if whiten is None else whiten, jnp.float32),
        phi=jax.tree_util.Partial(leading),
    )


def seen(value=9.0, psi=(0.0, 0.0), cost=-0.2, scale=2.0, slow=1.0, skills=None, **levels):
    """A dream in which everything is the same everywhere."""
    returns = {"value": [value], "psi": psi, "cost": [cost]}
    return view(
        {name: np.broadcast_to(x, (H, N, len(x))) for name, x in returns.items()},
        {"value": np.full((H, N, 1), slow)},
        levels,
        skills or handed(),
        {"value": scale},
    )


def judged(method=METHOD, **given):
    return method.judge(seen(**given), ())


def test_an_advantage_is_the_return_less_the_value_over_the_spread():
    for scale, wanted in [(2.0, 4.0), (8.0, 1.0)]:
        found = advantage(seen(scale=scale), "value")
        np.testing.assert_allclose(found, np.full((H, N), wanted))


def test_returns_without_spread_are_divided_by_the_floor():
    found = advantage(seen(value=1.5, scale=0.0), "value")
    np.testing.assert_allclose(found, np.full((H, N), 0.5 / FLOOR), rtol=1e-6)


def test_the_baseline_keeps_its_gradient():
    def total(slow):
        return advantage(replace_slow(seen(scale=2.0), slow), "value").sum()

    def replace_slow(it, slow):
        return replace(it, slow={"value": slow})

    slope = jax.grad(total)(jnp.ones((H, N, 1)))
    np.testing.assert_allclose(slope, np.full((H, N, 1), -0.5))


def test_a_safe_robot_at_its_skill_follows_reward():
    found = judged(skill=0.0, safe=0.0).objective
    np.testing.assert_allclose(found, np.full((H, N), 4.0))


def test_a_safe_robot_off_its_skill_ignores_reward():
    """Distances 0, 1 and 1 less delta 0.25, but for the rounding near zero."""
    for value in (9.0, -100.0):
        found = judged(value=value, skill=1.0, safe=0.0).objective
        np.testing.assert_allclose(
            found, np.broadcast_to([0.25, -0.749, -0.749], (H, N)), atol=1e-5
        )


def test_an_unsafe_robot_ignores_reward_and_skill():
    for value, psi in [(9.0, (0.0, 0.0)), (-100.0, (7.0, 7.0))]:
        found = judged(value=value, psi=psi, cost=0.4, skill=0.5, safe=1.0).objective
        np.testing.assert_allclose(found, np.full((H, N), -0.4), rtol=1e-6)


def test_in_between_all_three_count():
    found = judged(skill=0.25, safe=0.1).objective  # values 4, misses -0.25 0.749 0.749, cost -0.2
    wanted = [0.675 * 4 - 0.225 * miss + 0.02 for miss in (-0.25, 0.749, 0.749)]
    np.testing.assert_allclose(found, np.broadcast_to(wanted, (H, N)), rtol=1e-4)


def test_the_skill_is_violated_beyond_delta_and_safety_above_the_tolerance():
    found = judged(skill=0.0, safe=0.0)
    np.testing.assert_array_equal(found.violated["skill"], [[False, True, True]] * H)
    assert not np.asarray(found.violated["safe"]).any()
    np.testing.assert_allclose(found.metrics["skill/violated"], 2 / 3, rtol=1e-6)
    np.testing.assert_allclose(found.metrics["skill/distance"], 2 / 3, rtol=1e-6)
    np.testing.assert_allclose(found.metrics["safe/cost"], -0.2, rtol=1e-6)
    near = judged(skills=handed(delta=1.01), skill=0.0, safe=0.0)
    assert not np.asarray(near.violated["skill"]).any()


@pytest.mark.parametrize(("margin", "broken"), [(1.0, False), (0.5, True)])
def test_a_margin_calls_the_skill_violated_before_delta_is_reached(margin, broken):
    """Off by 1 where delta is 1.5: inside, but not inside half of it."""
    method = ursa(replace(BEHAVIOR, margin=margin), 2, 0.0)
    found = judged(method, skills=handed(delta=1.5), skill=0.0, safe=0.0)
    np.testing.assert_array_equal(found.violated["skill"], [[False, broken, broken]] * H)


@pytest.mark.parametrize(("cost", "broken"), [(-0.01, False), (0.0, False), (0.01, True)])
def test_no_cost_on_average_is_safe_enough(cost, broken):
    assert bool(judged(cost=cost, skill=0.0, safe=0.0).violated["safe"].all()) is broken


def test_a_task_may_tolerate_a_little_cost():
    method = ursa(BEHAVIOR, 2, 0.05)
    assert not np.asarray(judged(method, cost=0.04, skill=0.0, safe=0.0).violated["safe"]).any()
    assert np.asarray(judged(method, cost=0.06, skill=0.0, safe=0.0).violated["safe"]).all()


def test_distances_are_whitened():
    found = judged(skills=handed(whiten=[[0.1, 0], [0, 2]]), skill=1.0, safe=0.0)
    np.testing.assert_array_equal(found.violated["skill"], [[False, False, True]] * H)
    np.testing.assert_allclose(found.objective[0], [0.25, 0.25 - 0.099, 0.25 - 1.999], atol=1e-4)


def test_the_actor_feels_the_pull_of_its_skill_through_psi_and_the_whitening():
    """Off by (-2, 0) under lambda_skill = 1: psi should move by +1 per unit, whitened by 3."""

    def total(psi):
        it = seen(psi=(0.0, 0.0), skills=handed(whiten=3 * np.eye(2)), skill=1.0, safe=0.0)
        it = replace(it, returns=it.returns | {"psi": psi})
        return METHOD.judge(it, ()).objective.sum()

    slope = jax.grad(total)(jnp.zeros((H, N, 2)))
    np.testing.assert_allclose(slope[0], [[0, 0], [3, 0], [0, 3]], atol=1e-5)


def test_without_safety_there_is_no_such_multiplier_and_cost_does_not_count():
    method = ursa(replace(BEHAVIOR, safety=False), 2, 0.0)
    assert method.constraints == ("skill",)
    found = judged(method, cost=100.0, skill=0.0)
    np.testing.assert_allclose(found.objective, np.full((H, N), 4.0))
    assert set(found.violated) == {"skill"}
    assert found.metrics["safe/violated"] == 1  # it is still reported


def test_critics_average_features_and_cost_and_only_reward_is_scaled():
    kinds = {s.name: (s.width, s.scaled) for s in METHOD.signals}
    assert kinds == {"value": (1, True), "psi": (2, False), "cost": (1, False)}
    posture = jnp.arange(18.0).reshape(H, N, 3)
    dream = Dream(
        std=jnp.ones((H, N, 1)),
        flat=jnp.zeros((H + 1, N, 4)),
        reward=jnp.full((H, N), 2.0),
        cost=jnp.full((H, N), -1.0),
        posture=posture,
    )
    felt = feel(dream, handed(), ())
    np.testing.assert_array_equal(felt["value"], np.full((H, N, 1), 2))
    np.testing.assert_array_equal(felt["cost"], np.full((H, N, 1), -1))
    np.testing.assert_array_equal(felt["psi"], posture[..., :2])  # phi of the posture
