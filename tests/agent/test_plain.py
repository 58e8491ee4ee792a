"""The fast update is the plain one: same losses, same gradients, whatever was written out."""

from functools import partial

import jax
import numpy as np
import pytest

from plain import plain_norm_elu, plain_sample
from ursa.agent.learn import actor_loss
from ursa.nn import layers
from ursa.world import model, rssm
from ursa.world.rssm import Latent
from worlds import STARTS, grown, quick, settings, skills, slider

KEY = jax.random.key(5)
SETTINGS = settings()


def world_gradient(state):
    """Loss and gradient of the world model on a lived batch."""
    fixed = (SETTINGS.world, slider(), state.kl_scale, KEY, np.dtype("float32"), 1)
    (value, _), grads = jax.value_and_grad(model.loss, has_aux=True)(state.world, *fixed)
    return value, grads


def actor_gradient(state):
    """Loss and gradient of the actor through a dream with critics and multipliers."""
    latent = state.world.rssm.initial(STARTS)
    starts = Latent(latent.deter, latent.stoch)
    lose = jax.value_and_grad(partial(actor_loss, SETTINGS, state), has_aux=True)
    (value, _), grads = lose(state.actor, starts, skills(), KEY)
    return value, grads


@pytest.mark.parametrize("of", [world_gradient, actor_gradient])
def test_losses_and_gradients_are_those_of_the_plain_expressions(of, monkeypatch):
    fast, fast_grads = quick(lambda state: of(state))(grown())
    monkeypatch.setattr(layers, "norm_elu", plain_norm_elu)
    monkeypatch.setattr(rssm, "one_hot_sample", plain_sample)
    plain, plain_grads = quick(lambda state: of(state))(grown())
    np.testing.assert_allclose(fast, plain, rtol=1e-5)
    pairs = zip(jax.tree.leaves(fast_grads), jax.tree.leaves(plain_grads), strict=True)
    for ours, theirs in pairs:
        size = np.abs(np.asarray(theirs)).max(initial=0.0)
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4 * size + 1e-9)
