"""Clip, Adam's first step, decay of matrices alone, and what counts as finite."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.config import OptimizerConfig
from ursa.nn import optimizer
from ursa.nn.layers import Linear
from worlds import newborn, quick, same, stacked

CONFIG = OptimizerConfig(learning_rate=0.1, weight_decay=0.5)


def layer(weight, bias):
    return Linear(jnp.array([weight]), jnp.array(bias))


def first_step(config, params, grads):
    return optimizer.step(config, params, grads, optimizer.begin(config, params))


stepped = quick(first_step, static_argnums=0)


def test_the_first_step_is_the_learning_rate_against_the_sign_whatever_the_size():
    config = replace(CONFIG, weight_decay=0.0)
    params = layer([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    step = stepped(config, params, layer([1e-2, -30.0, 0.0], [5.0, -1e-3, 0.0]))
    np.testing.assert_allclose(step.params.weight, [[-0.1, 0.1, 0]], rtol=1e-3)
    np.testing.assert_allclose(step.params.bias, [-0.1, 0.1, 0], rtol=2e-3)


def test_epsilon_stands_beside_the_root_so_a_gradient_of_its_size_moves_half_a_step():
    config = replace(CONFIG, weight_decay=0.0, epsilon=1e-2)
    step = stepped(config, layer([0.0], [0.0]), layer([1e-2], [0.0]))
    np.testing.assert_allclose(step.params.weight, [[-0.05]], rtol=1e-4)


def test_a_gradient_of_norm_500_is_cut_to_100_and_reported_as_500():
    step = stepped(CONFIG, layer([0.0], [0.0]), layer([300.0], [400.0]))
    np.testing.assert_allclose(step.norm, 500)
    first = [state for state in jax.tree.leaves(step.state) if state.shape != ()][:2]
    np.testing.assert_allclose(first[0], [[6.0]], rtol=1e-6)  # a tenth of 60
    np.testing.assert_allclose(first[1], [8.0], rtol=1e-6)


def test_a_gradient_of_norm_50_is_left_alone():
    step = stepped(CONFIG, layer([0.0], [0.0]), layer([30.0], [40.0]))
    first = [state for state in jax.tree.leaves(step.state) if state.shape != ()][:2]
    np.testing.assert_allclose(first[0], [[3.0]], rtol=1e-6)
    np.testing.assert_allclose(first[1], [4.0], rtol=1e-6)


def test_matrices_shrink_before_the_step_and_biases_do_not():
    step = stepped(CONFIG, layer([2.0], [2.0]), layer([1.0], [1.0]))
    np.testing.assert_allclose(step.params.weight, [[2 * 0.95 - 0.1]], rtol=1e-5)
    np.testing.assert_allclose(step.params.bias, [2 - 0.1], rtol=1e-5)


def decayed(params):
    """Names of the leaves that shrink when every parameter is one and no gradient pulls."""
    ones = jax.tree.map(np.ones_like, params)
    step = stepped(CONFIG, ones, jax.tree.map(np.zeros_like, ones))
    return {
        jax.tree_util.keystr(path)
        for path, leaf in jax.tree.leaves_with_path(step.params)
        if leaf.size and (np.asarray(leaf) < 1).all()
    }


MATRICES = {
    "world": {
        ".encoder[0].weight",
        ".rssm.stoch_in",
        ".rssm.action_in",
        ".rssm.gru.weight",
        ".rssm.prior[0].weight",
        ".rssm.prior_out.weight",
        ".rssm.deter_in",
        ".rssm.embed_in",
        ".rssm.post_out.weight",
        ".heads.weights[0]",
        ".heads.out",
    },
    "actor": {".flat_in", ".skill_in", ".mean.weight", ".std.weight"},
    "critics": {".weights[0]", ".side_in", ".out"},
    "multipliers": {".weights[0]", ".side_in", ".out"},
}


@pytest.mark.parametrize("name", MATRICES)
def test_every_matrix_of_the_agent_decays_and_nothing_else(name):
    assert decayed(getattr(newborn(), name)) == MATRICES[name]


@pytest.mark.parametrize("name", ["actor", "critics"])
def test_the_same_leaves_decay_when_seeds_lie_side_by_side(name):
    one = getattr(newborn(), name)
    assert decayed(stacked(one, one, one)) == MATRICES[name]


def test_seeds_side_by_side_are_clipped_apart():
    params, grads = layer([1.0], [0.0]), (layer([300.0], [400.0]), layer([3.0], [4.0]))
    apart = [stepped(CONFIG, params, it) for it in grads]
    step = quick(jax.vmap(partial(first_step, CONFIG)))
    together = step(stacked(params, params), stacked(*grads))
    np.testing.assert_allclose(together.norm, [500, 5])
    assert same(together.state, stacked(*(it.state for it in apart)))


@pytest.mark.parametrize(
    ("tree", "sound"),
    [
        ({"a": 1.0, "b": [2.0, 3.0]}, True),
        ({"a": 1.0, "b": [2.0, np.nan]}, False),
        ({"a": -np.inf, "b": [2.0, 3.0]}, False),
        ({}, True),
    ],
)
def test_one_number_that_is_not_finite_spoils_a_tree(tree, sound):
    tree = jax.tree.map(jnp.asarray, tree) | {"count": jnp.arange(3), "flag": jnp.array(True)}
    assert bool(optimizer.finite(tree, {"other": jnp.zeros(2)})) is sound
    assert bool(optimizer.finite({"other": jnp.zeros(2)}, tree)) is sound
