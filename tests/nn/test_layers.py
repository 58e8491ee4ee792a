"""Layers against hand computations and plain NumPy; sizes against the published network's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.behavior.actor import actor
from ursa.behavior.critic import Signal, critics
from ursa.nn.layers import Hidden, Linear, Norm, draw, hidden, linear, norm, run, stack, towers
from ursa.presets import paper
from ursa.types import Sizes
from ursa.world.model import world
from ursa.world.rssm import encoder, rssm
from worlds import quick


def rng():
    return np.random.default_rng(0)


def size(tree):
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def test_norm_by_hand():
    # mean 2, variance 1, epsilon 0.001: (x - 2) / sqrt(1.001), then times 2, plus 1
    layer = Norm(jnp.array([2.0, 2.0]), jnp.array([1.0, 1.0]))
    np.testing.assert_allclose(
        layer(jnp.array([[1.0, 3.0]])), [[1 - 1.9990007, 1 + 1.9990007]], rtol=1e-6
    )


def test_norm_leaves_small_signals_small():
    # deviation 0.01: 0.01 / sqrt(0.0001 + 0.001)
    np.testing.assert_allclose(
        norm(2)(jnp.array([[0.0, 0.02]])), [[-0.3015113, 0.3015113]], rtol=1e-5
    )


def test_norm_works_in_float32_and_returns_what_came_in():
    x = jnp.asarray(300 + np.arange(8.0)[None], jnp.bfloat16)  # 300 + 1 is 300 in half the digits
    wide = np.asarray(x, np.float32)
    wanted = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-3)
    found = norm(8)(x)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(np.asarray(found, np.float32), wanted, atol=0.01)


def test_a_hidden_layer_is_product_norm_elu_without_bias():
    layer = Hidden(jnp.array([[1.0, 0.0], [0.0, 1.0]]), norm(2))
    down, up = -0.9995004, 0.9995004
    np.testing.assert_allclose(layer(jnp.array([[1.0, 3.0]])), [[np.expm1(down), up]], rtol=1e-5)


def test_a_linear_layer_adds_its_bias_in_the_dtype_of_the_input():
    layer = Linear(jnp.array([[1.0, 2.0]]), jnp.array([10.0, 20.0]))
    np.testing.assert_array_equal(layer(jnp.array([[3.0]])), [[13, 26]])
    assert layer(jnp.ones((1, 1), jnp.bfloat16)).dtype == jnp.bfloat16
    assert linear(rng(), 2, 3, bias=False).bias is None


def test_layers_run_one_after_the_other():
    layers = stack(rng(), 3, 4, 2)
    x = jnp.asarray(rng().normal(size=(5, 3)), jnp.float32)
    np.testing.assert_array_equal(run(layers, x), layers[1](layers[0](x)))


applied = quick(lambda net, x, side=None: net(x, side))


def alone(net, k, x, side):
    """Tower k as a network of its own, in NumPy."""
    read = jax.tree.map(lambda leaf: np.asarray(leaf, float)[k], net)
    y = np.asarray(x, float) @ read.weights[0]
    if side is not None:
        y = y + np.asarray(side, float) @ read.side_in
    for i, layer in enumerate(read.norms):
        if i:
            y = y @ read.weights[i]
        y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-3)
        y = y * layer.scale + layer.offset
        y = np.where(y > 0, y, np.expm1(y))
    return y @ read.out + read.bias


def shaken(tree):
    """The same network with every parameter moved, so that offsets and biases count too."""
    noise = rng()
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf + noise.normal(0, 0.3, leaf.shape), jnp.float32), tree
    )


@pytest.mark.parametrize(("shape", "side_size"), [((7,), 0), ((2, 3, 7), 2)])
def test_towers_are_separate_networks(shape, side_size):
    net = shaken(towers(rng(), 5, (2, 1, 3), units=6, layers=3, side=side_size))
    x = jnp.asarray(rng().normal(size=(*shape, 5)), jnp.float32)
    side = jnp.asarray(rng().normal(size=(7, side_size)), jnp.float32) if side_size else None
    found = applied(net, x, side)
    assert found.shape == (3, *shape, 3)
    for k in range(3):
        np.testing.assert_allclose(
            np.asarray(found)[k], alone(net, k, x, side), rtol=2e-4, atol=2e-5
        )
    others = quick(lambda net, x, side: net.only(1)(x, side))(net, x, side)
    np.testing.assert_allclose(others, np.asarray(found)[1:], rtol=1e-5, atol=1e-6)


def test_a_skill_of_width_zero_is_no_skill():
    net = towers(rng(), 5, (1, 1), units=4, layers=1)
    x = jnp.ones((7, 5))
    np.testing.assert_array_equal(applied(net, x, jnp.zeros((7, 0))), applied(net, x))


def test_narrow_outputs_are_padded_with_zero_weights():
    net = towers(rng(), 5, (2, 1, 3), units=6, layers=1)
    assert net.out.shape == (3, 6, 3)
    assert not np.asarray(net.out[0, :, 2:]).any()
    assert not np.asarray(net.out[1, :, 1:]).any()
    assert np.asarray(net.out[2]).all()
    x = jnp.asarray(rng().normal(size=(4, 5)), jnp.float32)
    assert not np.asarray(applied(net, x))[0, :, 2:].any()


def test_no_towers_give_no_outputs():
    """A method without constraints has no multipliers."""
    assert towers(rng(), 5, (), units=4, layers=2, side=2)(jnp.ones((7, 5))).shape == (0, 7, 0)


def test_towers_answer_in_float32_for_an_input_of_half_the_digits():
    net = towers(rng(), 5, (1,), units=4, layers=2)
    assert applied(net, jnp.ones((3, 5), jnp.bfloat16)).dtype == jnp.float32
    assert {leaf.dtype for leaf in jax.tree.leaves(net)} == {jnp.dtype("float32")}


def test_weights_begin_uniform_with_variance_scale_over_the_mean_of_the_fans():
    weight = np.asarray(draw(rng(), (256, 512), 256 + 512))
    np.testing.assert_allclose(weight.var(), 1 / 384, rtol=0.02)
    np.testing.assert_allclose(abs(weight).max(), np.sqrt(3 / 384), rtol=1e-3)
    small = np.asarray(linear(rng(), 256, 512, scale=0.1).weight)
    np.testing.assert_allclose(small.var(), 0.1 / 384, rtol=0.02)
    assert not np.asarray(linear(rng(), 2, 3).bias).any()


def test_the_first_weights_of_a_tower_count_the_skill_as_input_and_the_last_are_a_tenth():
    net = towers(rng(), 200, (100, 1), units=300, layers=2, side=100)
    first, side = np.asarray(net.weights[0]), np.asarray(net.side_in)
    np.testing.assert_allclose(first.var(), 1 / 300, rtol=0.02)  # mean of 200 + 100 and 300
    np.testing.assert_allclose(side.var(), 1 / 300, rtol=0.02)
    np.testing.assert_allclose(np.asarray(net.weights[1]).var(), 1 / 300, rtol=0.02)
    np.testing.assert_allclose(np.asarray(net.out[0]).var(), 0.1 / 200, rtol=0.03)
    np.testing.assert_allclose(np.asarray(net.out[1, :, 0]).var(), 0.1 / 150.5, rtol=0.3)


def test_a_hidden_layer_begins_with_unit_scale_and_no_offset():
    layer = hidden(rng(), 300, 500)
    np.testing.assert_allclose(np.asarray(layer.weight).var(), 1 / 400, rtol=0.02)
    assert (np.asarray(layer.norm.scale) == 1).all()
    assert (np.asarray(layer.norm.offset) == 0).all()


class TestThePaperHasTheSizesOfTheDayDreamerNetworks:
    """16 observations and 12 actions, as published; 1280 numbers in a latent."""

    flat = 256 + 32 * 32

    def test_encoder(self):
        assert size(encoder(rng(), paper().world, 16)) == 798_720

    def test_dynamics(self):
        assert size(rssm(rng(), paper().world, 12)) == 1_582_336

    @pytest.mark.parametrize(("width", "wanted"), [(1, 1_446_401), (16, 1_454_096)])
    def test_a_head(self, width, wanted):
        config = paper().world
        head = towers(rng(), self.flat, (width,), config.head_units, config.head_layers)
        assert size(head) == wanted

    def test_an_actor_without_skills(self):
        assert size(actor(rng(), paper().behavior, self.flat, 0, 12)) == 1_458_200

    def test_an_actor_with_skills_has_one_more_row_of_weights_for_each_number_of_the_skill(self):
        assert size(actor(rng(), paper().behavior, self.flat, 2, 12)) == 1_458_200 + 2 * 512

    def test_a_critic(self):
        signals = (Signal("value", 1),)
        assert size(critics(rng(), paper().behavior, signals, self.flat, 0)) == 1_446_401

    def test_the_whole_world_model(self):
        """Theirs has a decoder, a reward head and a continue head: 6,727,954.

        Ours has no continue head (nothing ends) but one for cost and one for posture, and the
        four are as wide as the widest: 15 unused columns of 512 weights and a bias for reward
        and cost, 3 for the posture of 13.
        """
        sizes = Sizes(observation=16, action=12, posture=13)
        theirs = 798_720 + 1_582_336 + 1_454_096 + 2 * 1_446_401
        assert theirs == 6_727_954
        posture = 1_446_401 + 12 * 513
        padding = (15 + 15 + 3) * 513
        assert size(world(rng(), paper().world, sizes)) == theirs + posture + padding
