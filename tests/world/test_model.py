"""The world model's loss: its terms by hand, who learns from what, and that it learns."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.world.model import loss, observe, square
from worlds import (
    KEPT,
    LENGTH,
    PUSH,
    SIZES,
    follower,
    newborn,
    quick,
    settings,
    slider,
)

CONFIG = settings().world


def lost(model, batch, config=CONFIG, scale=1.0):
    return loss(model, config, batch, jnp.asarray(scale), jax.random.key(0), jnp.float32, 1)


losing = quick(lost)
gradient = quick(jax.grad(lost, has_aux=True), static_argnums=2)


def silenced(model):
    """Heads that say zero whatever they see."""
    return eqx.tree_at(lambda it: it.heads.out, model, 0 * model.heads.out)


def test_squares_are_summed_over_a_vector_and_averaged_over_vectors():
    found = square(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.zeros((2, 2)))
    assert found == (1 + 4 + 9 + 16) / 2


def test_silent_heads_are_wrong_by_what_there_is_with_reward_and_cost_in_symlog():
    batch = slider()
    ones = jnp.ones_like(batch.reward)
    batch = replace(batch, reward=(np.e - 1) * ones, cost=(1 - np.e**2) * ones)
    total, (_, scale, metrics) = losing(silenced(newborn().world), batch)
    wanted = {
        "reward": 1.0,
        "cost": 4.0,
        "posture": np.square(batch.posture).sum(-1).mean(),
        "observation": np.square(batch.observation).sum(-1).mean(),
    }
    for name, value in wanted.items():
        np.testing.assert_allclose(metrics[f"world/{name}"], value, rtol=1e-5)
    parts = sum(wanted.values()) + scale * metrics["world/kl"]
    np.testing.assert_allclose(total, parts, rtol=1e-5)


def test_predictions_come_back_in_natural_units():
    model = newborn().world
    wide = jnp.array([[9.0] * 5, [1.0, 9, 9, 9, 9], [-2.0, 9, 9, 9, 9], [5, 6, 7, 9, 9]])
    model = eqx.tree_at(lambda it: it.heads.bias, silenced(model), wide)
    reward, cost, posture = model.predict(jnp.zeros((2, 3, 32)))
    np.testing.assert_allclose(reward, np.full((2, 3), np.e - 1), rtol=1e-6)
    np.testing.assert_allclose(cost, np.full((2, 3), 1 - np.e**2), rtol=1e-6)
    np.testing.assert_allclose(posture, np.broadcast_to([5.0, 6, 7], (2, 3, 3)), rtol=1e-6)


@pytest.mark.parametrize(("scale", "after"), [(1.0, 1 / 1.1), (0.5, 0.5 / 1.1), (1e-3, 1e-3)])
def test_a_newborn_diverges_little_so_the_scale_of_the_divergence_falls(scale, after):
    _, (_, found, metrics) = losing(newborn().world, slider(), scale=scale)
    assert 0 < metrics["world/kl"] < 3.5 / 1.1
    np.testing.assert_allclose(found, after, rtol=1e-6)


@pytest.mark.parametrize(
    ("balance", "prior", "posterior"), [(1.0, True, False), (0.0, False, True)]
)
def test_the_balance_says_which_side_of_the_divergence_learns(balance, prior, posterior):
    """In a single step with silent heads only the divergence pulls, and on nothing later."""
    config = replace(CONFIG, kl_balance=balance)
    grads, _ = gradient(silenced(newborn().world), slider(length=1), config)
    assert bool(grads.rssm.prior_out.weight.any()) is prior
    assert bool(grads.rssm.post_out.weight.any()) is posterior


def test_every_part_of_the_model_learns_from_the_loss():
    grads, _ = gradient(newborn().world, slider(), CONFIG)
    still = [
        jax.tree_util.keystr(path)
        for path, leaf in jax.tree.leaves_with_path(grads)
        if leaf.size and not leaf.any()
    ]
    assert still == []


def test_unused_columns_of_narrow_heads_never_move():
    grads, _ = gradient(newborn().world, slider(), CONFIG)
    for head, width in enumerate((SIZES.observation, 1, 1, SIZES.posture)):
        assert not np.asarray(grads.heads.out[head, :, width:]).any()
        assert not np.asarray(grads.heads.bias[head, width:]).any()


# ---- it learns ---------------------------------------------------------------------------------

SEEN, AHEAD = 3, 5  # steps with observations, then steps without


def ahead(model, batch, key):
    """Postures foretold after the last seen step, from actions alone."""
    latents, _ = observe(model, jax.tree.map(lambda x: x[:, :SEEN], batch), key, jnp.float32, 1)
    latent = jax.tree.map(lambda x: x[:, -1], latents)
    count = batch.action.shape[0]
    gumbel = jax.random.gumbel(key, (AHEAD, count, *latent.stoch.shape[1:]))

    def step(latent, now):
        action, gumbel = now
        latent = model.rssm.imagine(latent, action, gumbel)
        return latent, latent.flat()

    actions = jnp.moveaxis(batch.action[:, SEEN:], 1, 0)
    _, flat = jax.lax.scan(step, latent, (actions, gumbel))
    return jnp.moveaxis(model.predict(flat)[2], 0, 1)


foretell = quick(ahead)


def test_the_loss_falls_on_a_world_without_chance():
    _, losses = follower()
    assert np.mean(losses[25:35]) < 0.9 * np.mean(losses[:5])  # within a few dozen updates
    assert np.mean(losses[-10:]) < 0.4 * np.mean(losses[:5])


def test_blind_predictions_beat_nothing_changes():
    model = follower()[0].world
    batch = slider(64, SEEN + AHEAD, seed=10_000)  # never seen
    future, last = batch.posture[:, SEEN:], batch.posture[:, SEEN - 1 : SEEN]
    draws = [foretell(model, batch, jax.random.key(i)) for i in range(8)]
    error = np.square(np.mean(draws, 0) - future).mean((0, 2))
    still = np.square(np.asarray(last) - future).mean((0, 2))
    assert (error < 0.5 * still).all()


def test_the_slider_is_what_it_says():
    """The toy itself: each row follows from the one before and its own action."""
    batch = slider(length=LENGTH)
    x, a = np.asarray(batch.posture), np.asarray(batch.action)
    np.testing.assert_allclose(x[:, 1:], KEPT * x[:, :-1] + a[:, 1:] @ PUSH.T, atol=1e-6)
    np.testing.assert_array_equal(batch.reward, x[..., 0])
    np.testing.assert_array_equal(batch.safe, np.asarray(batch.cost) <= 0)
