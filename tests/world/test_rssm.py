"""The latent dynamics: one step by hand, forgetting at a start, and what leads to what."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.world.model import observe
from ursa.world.rssm import Latent
from worlds import LENGTH, SEQUENCES, newborn, quick, slider

ROWS = 6
observe_step = quick(lambda rssm, *args: rssm.observe(*args, rssm.initial(ROWS)))
imagine_step = quick(lambda rssm, *args: rssm.imagine(*args))
lived = quick(lambda model, batch, key: observe(model, batch, key, jnp.float32, 1))


@pytest.fixture(scope="module")
def rssm():
    return newborn().world.rssm


def noise(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def anywhere(rssm, seed):
    """A latent that some past might have led to."""
    rng = np.random.default_rng(seed)
    stoch = np.eye(4, dtype=np.float32)[rng.integers(0, 4, (ROWS, 4))]
    return Latent(jnp.tanh(noise(seed, ROWS, 16)), jnp.asarray(stoch))


def test_an_idle_gru_keeps_73_per_cent(rssm):
    """Without weights all gates are 0: the update gate is sigmoid(-1) and the candidate 0."""
    rssm = eqx.tree_at(lambda it: it.gru.weight, rssm, 0 * rssm.gru.weight)
    latent = anywhere(rssm, 0)
    after = rssm.recur(latent, noise(1, ROWS, 16))
    np.testing.assert_allclose(after, 0.7310586 * latent.deter, rtol=1e-5)


def test_the_gates_are_reset_candidate_update(rssm):
    """Gates 0, 2, 1: candidate tanh(0.5 * 2) = 0.7615942, and half of it is taken."""
    gates = jnp.repeat(jnp.array([0.0, 2.0, 1.0]), 16)
    rssm = eqx.tree_at(
        lambda it: (it.gru.weight, it.gru_norm.offset), rssm, (0 * rssm.gru.weight, gates)
    )
    latent = anywhere(rssm, 0)
    after = rssm.recur(latent, noise(1, ROWS, 16))
    np.testing.assert_allclose(after, 0.5 * 0.7615942 + 0.5 * latent.deter, rtol=1e-5)


def test_the_start_is_a_learnt_state_and_the_likeliest_class_there(rssm):
    rssm = eqx.tree_at(lambda it: it.start, rssm, jnp.full(16, 0.5))
    latent = rssm.initial(ROWS)
    np.testing.assert_allclose(latent.deter, np.full((ROWS, 16), np.tanh(0.5)), rtol=1e-6)
    likeliest = rssm.prior_of(latent.deter).argmax(-1)
    np.testing.assert_array_equal(latent.stoch.argmax(-1), likeliest)
    np.testing.assert_array_equal(latent.stoch.sum(-1), np.ones((ROWS, 4)))


def test_a_start_forgets_the_past_and_other_robots_do_not(rssm):
    embed, gumbel = noise(2, ROWS, 16), noise(3, ROWS, 4, 4)
    first = jnp.arange(ROWS) % 2 == 0
    one, two = (
        observe_step(rssm, anywhere(rssm, seed), noise(seed, ROWS, 16), embed, first, gumbel)
        for seed in (10, 11)
    )
    new = rssm.initial(ROWS)
    fresh = observe_step(rssm, new, jnp.zeros((ROWS, 16)), embed, jnp.zeros(ROWS, bool), gumbel)
    for a, b, c in zip(*map(jax.tree.leaves, (one, two, fresh)), strict=True):
        np.testing.assert_array_equal(a[::2], b[::2])
        np.testing.assert_allclose(a[::2], c[::2], rtol=1e-5, atol=1e-6)
    assert (abs(one[0].deter - two[0].deter)[1::2].max(-1) > 1e-3).all()


def test_prior_and_posterior_are_probabilities_none_below_a_hundredth_of_uniform(rssm):
    deter = anywhere(rssm, 0).deter
    for logits in (rssm.prior_of(100 * deter), rssm.posterior_of(deter, 100 * noise(0, ROWS, 16))):
        p = np.exp(rssm.chances(logits))
        assert p.shape == (ROWS, 4, 4)
        np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-5)
        assert p.min() >= 0.0025 * (1 - 1e-5)


def test_a_dream_step_is_a_function_of_its_noise(rssm):
    latent, action = anywhere(rssm, 0), noise(1, ROWS, 2)
    one, again, other = (
        imagine_step(rssm, latent, action, 5 * noise(seed, ROWS, 4, 4)) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(one.stoch, again.stoch)
    np.testing.assert_array_equal(one.deter, again.deter)
    np.testing.assert_array_equal(one.deter, other.deter)  # chance enters the categorical alone
    assert (one.stoch != other.stoch).any()


def test_seeing_and_dreaming_share_the_recurrent_part(rssm):
    latent, action, gumbel = anywhere(rssm, 0), noise(1, ROWS, 2), noise(2, ROWS, 4, 4)
    dreamt = imagine_step(rssm, latent, action, gumbel)
    part = rssm.action_part(action)
    seen, _ = observe_step(rssm, latent, part, noise(3, ROWS, 16), jnp.zeros(ROWS, bool), gumbel)
    np.testing.assert_allclose(dreamt.deter, seen.deter, rtol=1e-5, atol=1e-6)


def changed(field, t):
    """Which latents of a lived sequence differ when one field of step t does."""
    batch, key = slider(), jax.random.key(0)
    other = replace(batch, **{field: getattr(batch, field).at[:, t].add(3.0)})
    model = newborn().world
    one, two = (lived(model, it, key)[0].deter for it in (batch, other))
    assert one.shape == (SEQUENCES, LENGTH, 16)
    return (abs(one - two) > 1e-5).any((0, 2)).tolist()


def test_the_action_of_a_step_led_to_its_observation():
    assert changed("action", 3) == [False] * 3 + [True] * (LENGTH - 3)


def test_an_observation_is_known_in_its_own_step():
    batch, key, model = slider(), jax.random.key(0), newborn().world
    other = replace(batch, observation=batch.observation.at[:, 3].add(3.0))
    one, two = (lived(model, it, key)[1] for it in (batch, other))
    assert (abs(one - two) > 1e-5).any((0, 2, 3)).tolist() == [False] * 3 + [True] * (LENGTH - 3)
    assert changed("observation", 3)[:4] == [False] * 4  # the recurrent part learns it a step later


def test_what_led_to_the_first_step_of_a_sequence_is_ignored():
    assert not any(changed("action", 0))


def test_a_start_in_mid_sequence_cuts_the_past_off():
    batch, key, model = slider(), jax.random.key(0), newborn().world
    cut = replace(batch, first=batch.first.at[:, 3].set(True))
    other = replace(cut, action=cut.action.at[:, :4].add(3.0))
    one, two = (lived(model, it, key)[0].deter for it in (cut, other))
    assert (abs(one - two) > 1e-5).any((0, 2)).tolist() == [False, True, True] + [False] * 5
