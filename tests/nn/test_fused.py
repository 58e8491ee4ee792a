"""Written-out gradients against those that JAX derives from the plain expressions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plain import plain_norm_elu, plain_sample
from ursa.nn.fused import fanned, norm_elu, one_hot_sample
from worlds import quick


@quick
def both_norms(x, scale, offset, weight):
    """Values and all three gradients, ours and the plain ones."""
    found = []
    for layer in (norm_elu, plain_norm_elu):

        def loss(*args, layer=layer):
            y = layer(*args).astype(jnp.float32)
            return (jnp.sin(y) * weight).sum(), y

        (_, value), grads = jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)(
            x, scale, offset
        )
        found.append((value, *grads))
    return found


def draws(*shape, seed=0, scale=1.0):
    return jnp.asarray(scale * np.random.default_rng(seed).normal(size=shape), jnp.float32)


SHAPES = {"one layer": ((64, 32), (32,)), "towers over time": ((3, 5, 16, 32), (3, 32))}


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_norm_and_elu_equal_the_plain_ones_in_float32(shapes):
    at, of = shapes
    args = draws(*at, scale=2.0), 1 + draws(*of, seed=1), draws(*of, seed=2)
    for ours, plain in zip(*both_norms(*args, draws(*at, seed=3)), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=2e-4, atol=2e-5)


def test_norm_and_elu_equal_the_plain_ones_in_half_the_digits():
    at, of = SHAPES["towers over time"]
    args = draws(*at).astype(jnp.bfloat16), 1 + draws(*of, seed=1), draws(*of, seed=2)
    for ours, plain in zip(*both_norms(*args, draws(*at, seed=3)), strict=True):
        assert ours.dtype == plain.dtype
        size = np.abs(np.asarray(plain, np.float32)).max()  # one unit in the last place: 1 / 256
        np.testing.assert_allclose(
            np.asarray(ours, np.float32), np.asarray(plain, np.float32), atol=size / 128
        )


def test_a_constant_row_has_no_direction_and_breaks_nothing():
    x, one = jnp.full((1, 4), 7.0), jnp.ones(4)
    y, pull = jax.vjp(lambda x: norm_elu(x, one, 0 * one), x)
    np.testing.assert_allclose(y, np.zeros((1, 4)), atol=1e-5)
    assert np.isfinite(pull(jnp.array([[1.0, 2.0, 3.0, 4.0]]))[0]).all()


def test_the_gradient_of_the_scale_counts_only_its_own_tower():
    x, ones = draws(2, 6, 8), jnp.ones((2, 8))
    pulled = jax.grad(lambda s: norm_elu(x, s, 0 * s)[0].sum())(ones)
    assert np.abs(pulled[0]).min() > 0
    assert not np.asarray(pulled[1]).any()


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_a_sample_equals_the_straight_through_one(dtype):
    logits, gumbel = draws(6, 3, 5, scale=2.0).astype(dtype), draws(6, 3, 5, seed=1)
    weight = draws(6, 3, 5, seed=2)
    (ours, ours_slope), (plain, plain_slope) = (
        jax.value_and_grad(
            lambda x, draw=draw: (draw(x, gumbel, 0.01).astype(jnp.float32) * weight).sum()
        )(logits)
        for draw in (one_hot_sample, plain_sample)
    )
    np.testing.assert_allclose(ours, plain, rtol=1e-6 if dtype == jnp.float32 else 1e-2)
    np.testing.assert_allclose(
        np.asarray(ours_slope, np.float32), np.asarray(plain_slope, np.float32), atol=1e-2
    )
    assert set(np.unique(np.asarray(one_hot_sample(logits, gumbel, 0.01), float))) == {0.0, 1.0}


@quick
def both_fans(x, weight, pull):
    """Products and both gradients, ours and the plain ones."""
    found = []
    for product in (fanned, lambda x, weight: jnp.einsum("ni,kio->kno", x, weight)):
        value, back = jax.vjp(product, x, weight)
        found.append((value, *back(pull)))
    return found


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_input_times_several_matrices_equals_the_plain_product(count):
    args = draws(16, 8), draws(count, 8, 4, seed=1), draws(count, 16, 4, seed=2)
    for ours, plain in zip(*both_fans(*args), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-5)


def test_it_does_so_of_several_seeds_and_in_half_the_digits():
    args = draws(2, 16, 8), draws(2, 3, 8, 4, seed=1), draws(2, 3, 16, 4, seed=2)
    for ours, plain in zip(*jax.vmap(both_fans)(*args), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-5)
    half = [it[0].astype(jnp.bfloat16) for it in args]
    for ours, plain in zip(*both_fans(*half), strict=True):
        assert ours.dtype == plain.dtype == jnp.bfloat16
        size = np.abs(np.asarray(plain, np.float32)).max()
        np.testing.assert_allclose(
            np.asarray(ours, np.float32), np.asarray(plain, np.float32), atol=size / 64
        )


@pytest.mark.parametrize(("platform", "products"), [("cuda", 1), ("cpu", 3)])
def test_it_is_one_wide_product_unless_on_a_cpu(platform, products):
    """On a CPU the wide one comes out transposed, which slows whatever reads it."""

    def both_ways(x, weight, pull):
        def step(x, _):
            value, back = jax.vjp(fanned, x, weight)
            into_x, into_weight = back(pull)
            return into_x, (value, into_weight)

        return jax.lax.scan(step, x, None, length=2)

    args = draws(2, 16, 8), draws(2, 3, 8, 4, seed=1), draws(2, 3, 16, 4, seed=2)
    mapped = jax.jit(jax.vmap(both_ways)).trace(*args)
    text = mapped.lower(lowering_platforms=(platform,)).as_text()
    assert text.count("stablehlo.dot_general") == 3 * products  # the way there, and two back
