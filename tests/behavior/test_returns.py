"""Lambda-returns: numbers by hand, the recursion they stand for, and their fixed points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ursa.behavior.returns import lambda_returns

SIGNAL, VALUE = np.array([1.0, 2, 3]), np.array([10.0, 12, 14, 16])


def column(x):
    return jnp.asarray(x, jnp.float32)[:, None, None]


def brute(signal, value, discount, return_lambda, share):
    """The recursion, backwards, one step at a time."""
    after, found = value[-1], []
    for x, v in zip(signal[::-1], value[:0:-1], strict=True):
        after = share * x + discount * ((1 - return_lambda) * v + return_lambda * after)
        found.append(after)
    return np.array(found[::-1])


def test_three_steps_by_hand():
    # 3 + 0.9 * 16;  2 + 0.9 (0.2 * 14 + 0.8 * 17.4);  1 + 0.9 (0.2 * 12 + 0.8 * 17.048)
    found = lambda_returns(column(SIGNAL), column(VALUE), 0.9, 0.8)
    np.testing.assert_allclose(found[:, 0, 0], [15.43456, 17.048, 17.4], rtol=1e-6)


def test_an_average_is_a_tenth_of_the_sum_when_the_discount_is_nine_tenths():
    found = lambda_returns(column(SIGNAL), column(VALUE / 10), 0.9, 0.8, share=1 - 0.9)
    np.testing.assert_allclose(found[:, 0, 0], [1.543456, 1.7048, 1.74], rtol=1e-6)


def test_lambda_zero_looks_one_step_ahead_and_lambda_one_to_the_end():
    short = lambda_returns(column(SIGNAL), column(VALUE), 0.9, 0.0)
    np.testing.assert_allclose(short[:, 0, 0], [1 + 10.8, 2 + 12.6, 3 + 14.4], rtol=1e-6)
    long = lambda_returns(column(SIGNAL), column(VALUE), 0.9, 1.0)
    np.testing.assert_allclose(long[0, 0, 0], 1 + 1.8 + 2.43 + 0.729 * 16, rtol=1e-6)


@given(
    seed=st.integers(0, 2**32 - 1),
    discount=st.floats(0.5, 0.999),
    return_lambda=st.floats(0, 1),
    average=st.booleans(),
)
@settings(max_examples=50)
@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 2, 3)])
def test_the_product_is_the_recursion(shape, seed, discount, return_lambda, average):
    rng = np.random.default_rng(seed)
    signal, value = rng.normal(size=shape), rng.normal(size=(shape[0] + 1, *shape[1:]))
    share = 1 - discount if average else 1.0
    wide = (jnp.asarray(x, jnp.float32) for x in (signal, value))
    found = lambda_returns(*wide, discount, return_lambda, share)
    wanted = brute(signal, value, discount, return_lambda, share)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("share", "value"), [(1.0, 3 / 0.005), (0.005, 3.0)])
def test_values_at_the_fixed_point_of_a_constant_stay_there(share, value):
    """Three per step for ever: 600 as a sum at discount 0.995, 3 as an average."""
    found = lambda_returns(
        jnp.full((15, 2, 1), 3.0), jnp.full((16, 2, 1), value), 0.995, 0.95, share
    )
    np.testing.assert_allclose(found, np.full((15, 2, 1), value), rtol=1e-5)


def test_of_the_first_return_of_a_dream_five_per_cent_were_dreamt():
    """0.005 (1 + d + ... + d^14), d = 0.995 * 0.95 = 0.94525; the critic says the rest."""
    ones, nothing = jnp.ones((16, 1, 1)), jnp.zeros((16, 1, 1))
    dreamt = lambda_returns(ones[1:], nothing, 0.995, 0.95, share=0.005)[0, 0, 0]
    told = lambda_returns(nothing[1:], ones, 0.995, 0.95, share=0.005)[0, 0, 0]
    np.testing.assert_allclose([dreamt, told], [0.05208, 0.94792], atol=5e-6)


def test_the_last_value_reaches_the_first_return_with_every_factor_on_the_way():
    def first(value):
        return lambda_returns(jnp.zeros((3, 1, 1)), value, 0.9, 0.8)[0, 0, 0]

    slope = jax.grad(first)(column(VALUE))[:, 0, 0]
    np.testing.assert_allclose(slope, [0, 0.18, 0.72 * 0.18, 0.72**2 * 0.18 + 0.72**3], rtol=1e-5)
