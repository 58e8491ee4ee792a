"""Dreams: what they hold, what chance does, and where gradients may flow."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.world.imagine import imagine
from worlds import grown, quick

HORIZON, COUNT = 3, 5


@pytest.fixture(scope="module")
def model():
    return grown().world


def steered(push, flat, noise):
    """A policy that adds to its noise what it is told to."""
    return jnp.tanh(push[None] + 0.1 * noise), jnp.full_like(noise, 0.5)


@quick
def dream(model, push, key):
    return imagine(model, partial(steered, push), model.rssm.initial(COUNT), HORIZON, key, 1)


def test_a_dream_holds_its_start_and_what_each_arrival_brings(model):
    found = dream(model, jnp.zeros(2), jax.random.key(0))
    assert found.flat.shape == (HORIZON + 1, COUNT, 32)
    np.testing.assert_array_equal(found.flat[0], model.rssm.initial(COUNT).flat())
    reward, cost, posture = model.predict(found.flat[1:])
    np.testing.assert_allclose(found.reward, reward, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.cost, cost, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.posture, posture, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found.std, np.full((HORIZON, COUNT, 2), 0.5, np.float32))


def test_a_dream_is_a_function_of_its_key(model):
    one, again, other = (dream(model, jnp.zeros(2), jax.random.key(k)) for k in (0, 0, 1))
    np.testing.assert_array_equal(one.flat, again.flat)
    assert (one.flat[1:] != other.flat[1:]).any((1, 2)).all()


def test_later_rewards_know_of_an_action(model):
    """The gradient of what is felt at the end with respect to what is done, through the model."""
    late = quick(jax.jacrev(lambda push: dream_at(model, push).sum(1)))(jnp.zeros(2))
    assert late.shape == (HORIZON, 2)
    assert (abs(late) > 0).all()


def dream_at(model, push):
    start = model.rssm.initial(COUNT)
    return imagine(model, partial(steered, push), start, HORIZON, jax.random.key(0), 1).reward


@jax.custom_jvp
def forbidden(x):
    """As it came, but whoever differentiates it gets NaN."""
    return x


@forbidden.defjvp
def _(primals, tangents):
    return primals[0], tangents[0] * jnp.nan


def test_the_policy_sees_its_latent_without_gradient(model):
    def policy(push, flat, noise):
        seen = forbidden(flat).mean(-1, keepdims=True)
        return jnp.tanh(push[None] + seen + 0.1 * noise), jnp.full_like(noise, 0.5)

    def felt(push, start):
        dream = imagine(model, partial(policy, push), start, HORIZON, jax.random.key(0), 1)
        return dream.reward.sum()

    start = model.rssm.initial(COUNT)
    on_push, on_start = quick(jax.grad(felt, (0, 1)))(jnp.zeros(2), start)
    assert np.isfinite(on_push).all()
    assert (abs(on_push) > 0).all()
    assert not np.asarray(on_start.deter).any()  # nor does the world model learn from a dream
