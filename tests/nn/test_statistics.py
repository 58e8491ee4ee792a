"""Controllers, the running spread and slow copies, by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from ursa.agent.learn import ENTROPY_CEILING, ENTROPY_FLOOR
from ursa.nn.statistics import above, adjust, below, follow, running, spread
from ursa.world.model import KL_CEILING, KL_FLOOR


def steered(weight, value, target, low, high):
    """The KL controller: more weight when there is too much."""
    value = jnp.asarray(value)
    return adjust(weight, above(value, target), below(value, target), low, high)


def test_with_a_divergence_of_one_the_scale_falls_by_a_tenth_each_step_down_to_a_thousandth():
    scale = jnp.ones(())
    for n in range(1, 90):
        scale = steered(scale, 1.0, 3.5, KL_FLOOR, KL_CEILING)
        np.testing.assert_allclose(scale, max(1e-3, 1.1**-n), rtol=1e-4)
    assert scale == np.float32(1e-3)


@pytest.mark.parametrize(
    ("divergence", "after"),
    [(3.1, 0.5 / 1.1), (3.2, 0.5), (3.5, 0.5), (3.84, 0.5), (3.86, 0.55), (100.0, 0.55)],
)
def test_the_scale_rests_inside_the_band_around_the_target(divergence, after):
    scale = steered(jnp.asarray(0.5), divergence, 3.5, KL_FLOOR, KL_CEILING)
    np.testing.assert_allclose(scale, after, rtol=1e-6)


def test_the_scale_never_passes_one():
    assert steered(jnp.ones(()), 100.0, 3.5, KL_FLOOR, KL_CEILING) == 1


def test_entropy_counts_more_where_there_is_little_and_less_where_there_is_much():
    entropy = jnp.array([0.40, 0.46, 0.54, 0.60])  # the band is 0.4545 to 0.55
    weight = jnp.full(4, 0.5)
    little, much = below(entropy, 0.5), above(entropy, 0.5)
    after = adjust(weight, little, much, ENTROPY_FLOOR, ENTROPY_CEILING)
    np.testing.assert_allclose(after, [0.55, 0.5, 0.5, 0.5 / 1.1], rtol=1e-6)


def test_entropy_weights_stay_between_their_bounds():
    weight, yes, no = jnp.array([1.0, 1e-5]), jnp.array([True, False]), jnp.array([False, True])
    after = adjust(weight, yes, no, ENTROPY_FLOOR, ENTROPY_CEILING)
    np.testing.assert_allclose(after, [1.0, 1e-5], rtol=1e-6)


def test_the_spread_of_0_to_100_is_90():
    np.testing.assert_allclose(spread(jnp.arange(101.0).reshape(101, 1)), 90, rtol=1e-6)


def test_the_running_spread_starts_at_the_first_and_moves_one_per_cent_each_time():
    values = jnp.arange(101.0)
    scale = running(jnp.zeros(()), values)
    np.testing.assert_allclose(scale, 90, rtol=1e-6)
    scale = running(scale, 2 * values)
    np.testing.assert_allclose(scale, 0.99 * 90 + 0.01 * 180, rtol=1e-6)
    np.testing.assert_allclose(running(scale, 0 * values), 0.99 * 90.9, rtol=1e-6)


def test_a_slow_copy_moves_two_per_cent_of_the_way():
    slow = follow({"a": jnp.array([0.0, 10.0])}, {"a": jnp.array([1.0, 0.0])}, 0.02)
    np.testing.assert_allclose(slow["a"], [0.02, 9.8], rtol=1e-6)
