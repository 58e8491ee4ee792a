"""The policy: bounds of its Gaussian, what it depends on, and the clip that gradients ignore."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.behavior.actor import actor, clipped, expected
from ursa.presets import paper, tiny

N, F, D, A = 6, 5, 2, 3


@pytest.fixture(scope="module")
def pi():
    return actor(np.random.default_rng(0), replace(tiny().behavior, layers=2), F, D, A)


def noise(*shape, seed=1):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def test_an_actor_that_says_zero_stands_still_with_a_deviation_of_055(pi):
    pi = eqx.tree_at(
        lambda it: (it.mean.weight, it.std.weight), pi, (0 * pi.mean.weight, 0 * pi.std.weight)
    )
    mean, std = pi(noise(N, F), pi.skill_part(noise(N, D)))
    np.testing.assert_array_equal(mean, np.zeros((N, A)))
    np.testing.assert_allclose(std, np.full((N, A), 0.1 + 0.9 * 0.5), rtol=1e-6)


def test_weights_of_the_deviation_begin_with_ten_times_the_variance_of_those_of_the_mean():
    """The scale, 1.0 and 0.1, over the mean of the fans, (512 + 12) / 2 = 262."""
    fresh = actor(np.random.default_rng(0), paper().behavior, F, D, 12)
    np.testing.assert_allclose(np.var(fresh.std.weight), 1.0 / 262, rtol=0.03)
    np.testing.assert_allclose(np.var(fresh.mean.weight), 0.1 / 262, rtol=0.03)
    assert abs(fresh.std.weight).max() <= (3.0 / 262) ** 0.5  # uniform: sqrt(3) deviations
    assert abs(fresh.mean.weight).max() <= (0.3 / 262) ** 0.5


def test_mean_and_deviation_stay_in_their_bounds_however_loud_the_network(pi):
    loud = eqx.tree_at(
        lambda it: (it.mean.weight, it.std.weight), pi, (1e4 * pi.mean.weight, 1e4 * pi.std.weight)
    )
    mean, std = loud(noise(N, F), loud.skill_part(noise(N, D)))
    assert abs(mean).max() <= 1
    assert std.min() >= 0.1
    assert std.max() <= 1.0
    assert std.max() - std.min() > 0.89  # and both bounds are met


def test_it_answers_in_float32_when_it_thinks_in_half_the_digits(pi):
    half = noise(N, F).astype(jnp.bfloat16)
    mean, std = pi(half, pi.skill_part(noise(N, D).astype(jnp.bfloat16)))
    assert mean.dtype == std.dtype == jnp.float32


def test_the_first_product_in_two_parts_is_that_of_latent_and_skill_together(pi):
    flat, z = noise(N, F), noise(N, D, seed=2)
    joint = jnp.concatenate([pi.flat_in, pi.skill_in])
    whole = eqx.tree_at(lambda it: it.flat_in, pi, joint)
    mean, std = pi(flat, pi.skill_part(z))
    nothing = jnp.zeros((N, pi.flat_in.shape[1]))
    again, wide = whole(jnp.concatenate([flat, z], -1), nothing)
    np.testing.assert_allclose(mean, again, atol=1e-5)
    np.testing.assert_allclose(std, wide, atol=1e-5)
    other, _ = pi(flat, pi.skill_part(z + 1))
    assert (abs(other - mean).max(-1) > 1e-4).all()


def test_an_actor_without_skills_takes_an_empty_one(pi):
    plain = actor(np.random.default_rng(0), tiny().behavior, F, 0, A)
    mean, _ = plain(noise(N, F), plain.skill_part(jnp.zeros((N, 0))))
    assert mean.shape == (N, A)


def test_an_action_is_clipped_as_the_body_does_with_the_gradient_of_the_unclipped():
    action = jnp.array([[-3.0, 0.5, 1.5]])
    np.testing.assert_allclose(clipped(action), [[-1, 0.5, 1]], rtol=1e-6)
    np.testing.assert_array_equal(jax.grad(lambda a: clipped(a).sum())(action), np.ones((1, 3)))


def test_without_noise_it_does_what_its_samples_do_on_average():
    """Far inside, that is the mean. At the bound half is clipped: 1 - std / sqrt(2 pi)."""
    mean = jnp.array([0.0, 0.3, 1.0, -1.0])
    std = jnp.array([0.1, 0.1, 0.2, 0.2])
    wanted = [0, 0.3, 1 - 0.2 * 0.3989423, 0.2 * 0.3989423 - 1]
    np.testing.assert_allclose(expected(mean, std), wanted, atol=1e-6)


def test_a_wide_policy_that_wants_the_bound_gets_little_of_it():
    """N(1, 1) clipped to [-1, 1]: 0.4772 within, half at 1, 0.0228 at -1, a little left of 1."""
    # 1 * 0.4772499 + 1 * (0.0539910 - 0.3989423) + 0.5 - 0.0227501
    found = expected(jnp.ones(1), jnp.ones(1))
    np.testing.assert_allclose(found, [0.6095485], atol=1e-6)
