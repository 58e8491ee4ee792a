"""Multipliers: cross-entropy by hand, where they rest, and that nobody steers them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.behavior.multipliers import cross_entropy, levels, loss, multipliers
from ursa.presets import tiny
from worlds import quick

NAMES = ("skill", "safe")
H, N, F, D = 3, 4, 5, 2


levelled = quick(lambda network, flat, z: levels(network, NAMES, flat, z))


def lost(network, flat, z, violated, weight):
    return loss(network, NAMES, flat, z, violated, weight)


losing, gradient = quick(lost), quick(jax.grad(lost))


@pytest.fixture(scope="module")
def network():
    return multipliers(np.random.default_rng(0), tiny().behavior, NAMES, F, D)


@pytest.fixture(scope="module")
def place():
    rng = np.random.default_rng(1)
    return tuple(jnp.asarray(rng.normal(size=s), jnp.float32) for s in ((H, N, F), (N, D)))


@pytest.mark.parametrize(
    ("logit", "label", "value", "slope"),
    [
        (0.0, True, 0.6931471806, -0.5),
        (2.0, False, 2.1269280110, 0.8807970780),
        (2.0, True, 0.1269280110, -0.1192029220),
    ],
)
def test_cross_entropy_and_its_slope(logit, label, value, slope):
    found, by_logit = jax.value_and_grad(cross_entropy)(jnp.asarray(logit), jnp.asarray(label))
    np.testing.assert_allclose(found, value, rtol=1e-6)
    np.testing.assert_allclose(by_logit, slope, rtol=1e-6)


def test_cross_entropy_rests_where_the_multiplier_is_the_share_of_violations():
    label = jnp.array([True, False, False, False])
    rest = jnp.log(1 / 3)  # a quarter
    pull = jax.grad(lambda x: cross_entropy(jnp.full(4, x), label).mean())(rest)
    np.testing.assert_allclose(pull, 0, atol=1e-7)


def test_a_very_wrong_logit_costs_its_size_and_no_more():
    np.testing.assert_allclose(
        cross_entropy(jnp.array([200.0, -200.0]), jnp.array([False, True])), 200
    )


def test_newborn_multipliers_are_undecided(network, place):
    found = levelled(network, *place)
    assert set(found) == set(NAMES)
    for level in found.values():
        assert level.shape == (H, N)
        assert abs(level - 0.5).max() < 0.35
    assert (found["skill"] != found["safe"]).any()


def test_levels_have_no_gradient(network, place):
    def total(network, flat, z):
        return sum(level.sum() for level in levels(network, NAMES, flat, z).values())

    grads = quick(jax.grad(total, (0, 1, 2)))(network, *place)
    assert not any(np.asarray(leaf).any() for leaf in jax.tree.leaves(grads))


def test_each_tower_learns_its_own_constraint(network, place):
    """A single step down the loss raises what is violated and lowers what is not."""
    violated = {"skill": jnp.ones((H, N), bool), "safe": jnp.zeros((H, N), bool)}
    grads = gradient(network, *place, violated, jnp.ones(H))
    moved = jax.tree.map(
        lambda p, g: np.asarray(p) - np.float32(0.1) * np.asarray(g), network, grads
    )
    before, after = levelled(network, *place), levelled(moved, *place)
    assert (after["skill"] > before["skill"]).all()
    assert (after["safe"] < before["safe"]).all()


def test_later_steps_count_by_their_weight(network, place):
    violated = {name: jnp.ones((H, N), bool) for name in NAMES}
    full, half, none = (
        losing(network, *place, violated, jnp.array([0.0, 0.0, last])) for last in (1.0, 0.5, 0.0)
    )
    assert none == 0
    np.testing.assert_allclose(full, 2 * half, rtol=1e-6)
    last = quick(type(network).__call__)(network, *place)[:, 2, :, 0]
    wanted = np.log1p(np.exp(-np.asarray(last))).mean(-1).sum() / H
    np.testing.assert_allclose(full, wanted, rtol=1e-5)
