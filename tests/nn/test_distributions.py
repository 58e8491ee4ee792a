"""Symlog, mixed categoricals, straight-through samples and the actor's entropy, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ursa.nn.distributions import kl, mix, mode, normalised_entropy, symexp, symlog
from ursa.nn.fused import one_hot_sample
from worlds import quick

logits_of = hnp.arrays(np.float32, (2, 4), elements=st.floats(-50, 50, width=32))


def test_symlog_of_e_minus_one_is_one_on_both_sides():
    x = jnp.array([0.0, np.e - 1, 1 - np.e**2])
    np.testing.assert_allclose(symlog(x), [0, 1, -2], rtol=1e-6)
    np.testing.assert_allclose(symexp(jnp.array([0.0, 1.0, -2.0])), x, rtol=1e-6)


@given(hnp.arrays(np.float32, 3, elements=st.floats(-1e4, 1e4, width=32)))
def test_symexp_undoes_symlog(x):
    np.testing.assert_allclose(symexp(symlog(jnp.asarray(x))), x, rtol=2e-5, atol=1e-7)


def test_a_certain_categorical_of_four_keeps_a_quarter_per_cent_for_each_other_class():
    p = jnp.exp(mix(jnp.array([[100.0, 0, 0, 0]]), 0.01))
    np.testing.assert_allclose(p, [[0.9925, 0.0025, 0.0025, 0.0025]], rtol=1e-5)


@given(logits_of)
def test_mixed_probabilities_sum_to_one_and_none_is_below_a_hundredth_of_uniform(logits):
    p = np.exp(mix(jnp.asarray(logits), 0.01))
    np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-5)
    assert p.min() >= 0.01 / 4 * (1 - 1e-5)


def test_mixing_works_in_float32_whatever_comes_in():
    assert mix(jnp.zeros((1, 4), jnp.bfloat16), 0.01).dtype == jnp.float32


def test_a_sample_is_one_hot_and_follows_the_noise():
    noise = jnp.array([[0.0, 5, 0], [0, 0, 5]])
    np.testing.assert_allclose(
        one_hot_sample(jnp.zeros((2, 3)), noise, 0.01), [[0, 1, 0], [0, 0, 1]], atol=1e-6
    )


def test_samples_come_as_often_as_their_probability_says():
    log_p = jnp.log(jnp.array([[0.7, 0.2, 0.1]]))
    count = 20_000
    noise = jax.random.gumbel(jax.random.key(0), (count, 1, 3))
    drawn = one_hot_sample(jnp.broadcast_to(log_p, noise.shape), noise, 0.0)
    np.testing.assert_allclose(drawn.mean(0), [[0.7, 0.2, 0.1]], atol=4 * np.sqrt(0.25 / count))


@quick
def slopes(logits):
    """Of a weighted sample, and of the weighted probabilities."""
    weight = jnp.arange(8.0).reshape(2, 4)
    noise = jnp.array([[0.0, 1, 0, 0], [0, 0, 1, 0]])
    sample = jax.grad(lambda x: (weight * one_hot_sample(x, noise, 0.01)).sum())
    soft = jax.grad(lambda x: (weight * jnp.exp(mix(x, 0.01))).sum())
    return sample(logits), soft(logits)


@example(np.array([[0, 0, 0, 0], [0, 9.5, 0, 0]], np.float32))  # nearly certain: sums cancel
@given(logits_of)
def test_the_gradient_of_a_sample_is_that_of_the_probabilities(logits):
    sample, soft = slopes(logits)
    # Weights go up to 7, where a float32 has steps of 5e-7; sums of a few of them cancel.
    np.testing.assert_allclose(sample, soft, rtol=1e-5, atol=4e-6)


def test_a_sample_has_a_gradient_at_all():
    sample, _ = slopes(jnp.zeros((2, 4)))
    # d/dx of sum w p at uniform p = 1/4, less the mixed share: 0.99 / 4 (w - mean w)
    np.testing.assert_allclose(sample[0], 0.2475 * np.array([-1.5, -0.5, 0.5, 1.5]), rtol=1e-5)


def test_the_mode_is_the_likeliest_class_and_has_no_gradient():
    logits = jnp.array([[0.1, 2.0, -1.0]])
    np.testing.assert_array_equal(mode(logits), [[0, 1, 0]])
    assert not jax.grad(lambda x: mode(x).sum())(logits).any()


def test_divergence_is_the_sum_of_what_scipy_finds_for_each_categorical():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5), (2, 3)), rng.dirichlet(np.ones(5), (2, 3))
    found = kl(*(jnp.asarray(np.log(it), jnp.float32) for it in (p, q)))
    wanted = scipy.stats.entropy(p, q, axis=-1).sum(-1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    swapped = kl(*(jnp.asarray(np.log(it), jnp.float32) for it in (q, p)))
    assert abs(np.asarray(swapped) - wanted).min() > 1e-2


@pytest.mark.parametrize(
    ("std", "level"), [(0.1, 0.0), (0.316227766, 0.5), (0.55, 0.740363), (1.0, 1.0)]
)
def test_entropy_between_the_narrowest_and_the_widest_gaussian(std, level):
    found = normalised_entropy(jnp.array([std]), 0.1, 1.0)
    np.testing.assert_allclose(found, [level], atol=1e-6)


def test_the_entropy_scale_is_that_of_real_gaussians():
    low, high, std = 0.2, 0.7, 0.3
    true = [scipy.stats.norm(scale=s).entropy() for s in (low, high, std)]
    found = normalised_entropy(jnp.array([std]), low, high)
    np.testing.assert_allclose(found, [(true[2] - true[0]) / (true[1] - true[0])], rtol=1e-5)
