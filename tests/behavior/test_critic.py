"""One critic for whatever is averaged: units, fixed points, and that it gets there."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.behavior.critic import Signal, critics, loss, returns, values
from ursa.config import OptimizerConfig
from ursa.nn import optimizer
from ursa.nn.statistics import follow
from ursa.presets import tiny
from worlds import quick

SIGNALS = (Signal("value", 1), Signal("psi", 2), Signal("cost", 1, discount=0.5))
FELT = {"value": [3.0], "psi": [1.0, -2.0], "cost": [-0.3]}  # at every step, for ever
H, N, F, D = 4, 6, 5, 2
CONFIG = replace(tiny().behavior, discount=0.9, slow_rate=0.1)


valued = quick(lambda network, flat, z: values(network, SIGNALS, flat, z))
returned = quick(lambda felt, slow: returns(CONFIG, SIGNALS, felt, slow))


def lost(network, flat, z, targets, weight):
    return loss(network, SIGNALS, flat, z, targets, weight)


losing, gradient = quick(lost), quick(jax.grad(lost, has_aux=True))


def constant(length, **values):
    return {
        name: jnp.asarray(np.tile(np.float32(value), (length, N, 1)))
        for name, value in values.items()
    }


def place(length=H + 1):
    rng = np.random.default_rng(1)
    return tuple(jnp.asarray(rng.normal(size=s), jnp.float32) for s in ((length, N, F), (N, D)))


@pytest.fixture(scope="module")
def network():
    """Critics with opinions, whatever they are born with."""
    born = critics(np.random.default_rng(0), CONFIG, SIGNALS, F, D)
    out = np.random.default_rng(2).normal(0, 0.3, born.out.shape)
    return eqx.tree_at(lambda it: it.out, born, jnp.asarray(out, jnp.float32))


def test_each_critic_reads_its_own_tower(network):
    out, found = quick(type(network).__call__)(network, *place()), valued(network, *place())
    assert {name: value.shape for name, value in found.items()} == {
        "value": (H + 1, N, 1),
        "psi": (H + 1, N, 2),
        "cost": (H + 1, N, 1),
    }
    np.testing.assert_array_equal(found["value"], out[0, ..., :1])
    np.testing.assert_array_equal(found["psi"], out[1, ..., :2])
    np.testing.assert_array_equal(found["cost"], out[2, ..., :1])


def test_values_at_the_fixed_point_of_a_constant_are_their_own_returns():
    """The average of a constant is the constant, whatever the discount."""
    rest = constant(H + 1, **FELT)
    found = returned(constant(H, **FELT), rest)
    for name, value in rest.items():
        np.testing.assert_allclose(found[name], value[:H], rtol=1e-5)


def test_below_the_fixed_point_returns_are_nearer_to_it():
    low = constant(H + 1, value=[0.0], psi=[0.0, 0.0], cost=[0.0])
    found = returned(constant(H, **FELT), low)
    assert ((found["value"] > 0) & (found["value"] < 3)).all()
    assert (found["value"][0] > found["value"][-1]).all()  # more steps were felt
    np.testing.assert_allclose(found["psi"][-1], np.broadcast_to([0.1, -0.2], (N, 2)), rtol=1e-5)
    # one step at its own discount of a half: half of what was felt
    np.testing.assert_allclose(found["cost"][-1], np.full((N, 1), -0.15), rtol=1e-5)


def test_a_silent_network_is_wrong_by_its_targets_in_its_own_units(network):
    silent = jax.tree.map(np.zeros_like, network)
    targets = constant(H, value=[1.0], psi=[3.0, 4.0], cost=[-2.0])
    weight = jnp.array([1.0, 0.5, 0.0, 0.0])
    total, metrics = losing(silent, *place(H), targets, weight)
    share = 1.5 / 4
    np.testing.assert_allclose(metrics["critic/value_loss"], 1 * share, rtol=1e-5)
    np.testing.assert_allclose(metrics["critic/psi_loss"], (9 + 16) * share, rtol=1e-5)
    np.testing.assert_allclose(metrics["critic/cost_loss"], 4 * share, rtol=1e-5)
    np.testing.assert_allclose(total, 30 * share, rtol=1e-5)


def test_critics_do_not_learn_from_each_other(network):
    targets = constant(H, **FELT)
    other = targets | {"psi": 5 * targets["psi"]}
    grads = [gradient(network, *place(H), it, jnp.ones(H))[0] for it in (targets, other)]
    for a, b in zip(*map(jax.tree.leaves, grads), strict=True):
        np.testing.assert_array_equal(np.asarray(a)[[0, 2]], np.asarray(b)[[0, 2]])
    assert (np.asarray(grads[0].out)[1] != np.asarray(grads[1].out)[1]).any()


def test_critics_of_a_constant_world_converge_to_its_known_values(network):
    """V = 3, psi = (1, -2) and C = -0.3 in every state, from returns alone."""
    config = OptimizerConfig(learning_rate=1e-2, weight_decay=0.0)
    felt, (flat, z) = constant(H, **FELT), place()
    flat = flat.at[-1].set(flat[0])  # the world goes round: no state is left unvisited

    def update(carry, _):
        fast, slow, moments = carry
        targets = returns(CONFIG, SIGNALS, felt, values(slow, SIGNALS, flat, z))
        grads, _ = jax.grad(lost, has_aux=True)(fast, flat[:H], z, targets, jnp.ones(H))
        step = optimizer.step(config, fast, grads, moments)
        return (step.params, follow(slow, step.params, CONFIG.slow_rate), step.state), None

    @quick
    def learn(network):
        start = (network, network, optimizer.begin(config, network))
        return jax.lax.scan(update, start, None, 600)[0][0]

    found = valued(learn(network), flat, z)
    np.testing.assert_allclose(found["value"], np.full((H + 1, N, 1), 3), rtol=0.05)
    np.testing.assert_allclose(found["psi"], np.broadcast_to([1, -2], (H + 1, N, 2)), atol=0.05)
    np.testing.assert_allclose(found["cost"], np.full((H + 1, N, 1), -0.3), atol=0.02)
