"""φ: the identity, and a VAE that finds a surface in the postures of R and moves its skills."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.errors import UserError
from ursa.skill import feature
from ursa.skill.feature import Autoencoder, autoencoder, fit_step, identity, phi
from ursa.skill.repertoire import Repertoire, reencode

LOWER, UPPER = np.r_[np.full(12, -1.5), 0.0], np.r_[np.full(12, 1.5), 0.45]
KIND = Autoencoder(batch=128, learning_rate=1e-3)  # ten times the usual rate: a tenth of the steps
STEPS = 700

coded = jax.jit(phi)  # the identity excepted, which returns its very argument
stepped = jax.jit(fit_step)


def surface(rng, count):
    """Postures on a curved surface: twelve joint angles and a height, two parameters."""
    weight = np.random.default_rng(7).normal(size=(2, 12)) * 0.8
    t = rng.uniform(-1, 1, (count, 2))
    height = 0.25 + 0.1 * t[:, :1] * t[:, 1:]
    return np.hstack([np.sin(t @ weight), height]).astype(np.float32)


def fresh(units=64, kind=KIND):
    return autoencoder(np.random.default_rng(1), 2, LOWER, UPPER, units, kind)


@pytest.fixture(scope="module")
def before():
    """A repertoire of 300 postures of 512, with the skills a fresh VAE sees."""
    postures = surface(np.random.default_rng(0), 300)
    return Repertoire.empty(512, 13, 2, lower=LOWER, upper=UPPER).add(
        postures, np.asarray(coded(fresh(), postures))
    )


@pytest.fixture(scope="module")
def fitted(before):
    """The same VAE after it has learnt, and its losses."""

    @jax.jit
    def run(start, repertoire, key):
        def step(current, key):
            return fit_step(current, repertoire, key)

        return jax.lax.scan(step, start, jax.random.split(key, STEPS))

    return run(fresh(), before, jax.random.key(0))


def test_the_identity_returns_the_posture_and_learns_nothing(before):
    postures = jnp.arange(6.0).reshape(2, 3)
    assert phi(identity(), postures) is postures
    same, loss = fit_step(identity(), before, jax.random.key(0))
    assert jax.tree.leaves(same) == []
    assert float(loss) == 0


def test_a_vae_reconstructs_a_surface_it_was_fitted_on(fitted):
    """R² on unseen postures, each variable on its own scale: 0.98 measured, 0.95 promised."""
    learnt, losses = fitted
    unseen = surface(np.random.default_rng(99), 400)
    vae = learnt.parameters.vae
    guess = np.asarray(jax.jit(feature.decode)(vae, coded(learnt, unseen)))
    scale = np.asarray(vae.scale)
    missing = ((unseen - guess) / scale).var(0).sum() / (unseen / scale).var(0).sum()
    assert 1 - missing > 0.95
    assert losses[-20:].mean() < 0.4 * losses[0]


def test_both_latent_axes_are_used(fitted):
    codes = coded(fitted[0], surface(np.random.default_rng(98), 400))
    sigma = np.cov(np.asarray(codes).T)
    assert np.linalg.eigvalsh(sigma)[0] > 0.2


def test_the_ranges_are_fixed_and_scale_a_posture_to_about_one(fitted):
    vae, start = fitted[0].parameters.vae, fresh().parameters.vae
    np.testing.assert_array_equal(vae.centre, start.centre)
    np.testing.assert_array_equal(vae.scale, start.scale)
    ends = feature.scaled(vae, jnp.asarray([LOWER, UPPER, (LOWER + UPPER) / 2], jnp.float32))
    np.testing.assert_allclose(ends[0], -(3**0.5), rtol=1e-5)
    np.testing.assert_allclose(ends[1], 3**0.5, rtol=1e-5)
    np.testing.assert_allclose(ends[2], 0, atol=1e-6)


def test_encoding_anew_moves_every_skill_and_measures_again(before, fitted):
    after = jax.jit(lambda r, f: reencode(r, partial(phi, f)))(before, fitted[0])
    moved = np.linalg.norm(np.asarray(after.skill - before.skill), axis=1)
    assert (moved[:300] > 1e-3).all()
    assert not moved[300:].any()
    np.testing.assert_array_equal(after.posture, before.posture)
    expected = np.asarray(coded(fitted[0], before.posture))[:300]
    np.testing.assert_allclose(after.skill[:300], expected, atol=1e-5)
    factor = np.asarray(after.spread.factor)
    np.testing.assert_allclose(factor @ factor.T, np.cov(expected.T), rtol=1e-3, atol=1e-4)
    assert float(after.delta) != float(before.delta)
    whitened = np.asarray(after.coordinate)[:300]
    np.testing.assert_allclose(np.cov(whitened.T), np.eye(2), atol=1e-3)


def test_a_gradient_reaches_the_posture_through_phi():
    postures = jnp.asarray(surface(np.random.default_rng(3), 4))
    vae = fresh()
    slope = jax.jit(jax.grad(lambda x: phi(vae, x).sum()))(postures)
    assert (np.abs(slope).sum(1) > 1e-3).all()
    # Against a finite difference in one variable of one posture.
    step = 1e-2
    up, down = (coded(vae, postures.at[2, 5].add(s)).sum() for s in (step, -step))
    np.testing.assert_allclose(slope[2, 5], (up - down) / (2 * step), rtol=2e-2, atol=1e-4)


def test_the_loss_by_hand():
    """Zero weights: x̂ = 0, mean = 0, log-variance = b, so only the biases speak."""
    vae = jax.tree.map(jnp.zeros_like, fresh(units=4).parameters.vae)
    bias = jnp.asarray([0.5, 0.0, np.log(4.0), 0.0], jnp.float32)  # means, then log-variances
    encoder = (*vae.encoder[:-1], feature.Linear(vae.encoder[-1].weight, bias))
    vae = feature.Vae(encoder, vae.decoder, vae.centre, jnp.ones(13))
    postures = jnp.zeros((2, 13)).at[0, 0].set(2.0)  # ½ · 4 for the first, 0 for the second
    value = jax.jit(partial(feature.loss, beta=0.1))(vae, postures, jnp.zeros((2, 2)))
    divergence = 0.5 * (0.25 + 4 - 1 - np.log(4.0))  # the second axis adds nothing
    np.testing.assert_allclose(value, 1.0 + 0.1 * divergence, rtol=1e-6)


def test_low_precision_postures_are_encoded_in_float32():
    postures = jnp.zeros((3, 13), jnp.bfloat16)
    assert coded(fresh(units=4), postures).dtype == jnp.float32


def test_a_step_that_is_not_finite_is_dropped_whole(before):
    broken = replace(before, posture=jnp.full((512, 13), jnp.nan))
    start = fresh(units=4, kind=Autoencoder(batch=8))
    after, loss = stepped(start, broken, jax.random.key(0))
    assert np.isnan(loss)
    jax.tree.map(np.testing.assert_array_equal, after, start)


def test_seeds_fit_side_by_side(before):
    kind = Autoencoder(batch=8)
    both = [autoencoder(np.random.default_rng(s), 2, LOWER, UPPER, 4, kind) for s in (0, 1)]
    together = jax.tree.map(lambda *leaves: np.stack(leaves), *both)
    keys = jax.random.split(jax.random.key(0), 2)
    after, losses = jax.jit(jax.vmap(fit_step, in_axes=(0, None, 0)))(together, before, keys)
    for seed in (0, 1):
        alone, loss = stepped(both[seed], before, keys[seed])
        np.testing.assert_allclose(losses[seed], loss, rtol=1e-5)
        mine = jax.tree.map(lambda leaf, seed=seed: np.asarray(leaf)[seed], after)
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6), mine, alone)


@pytest.mark.parametrize("upper", [np.full(3, np.inf), np.array([1.0, -1.0, 1.0])])
def test_a_vae_without_ranges_is_refused(upper):
    with pytest.raises(UserError, match="both must be finite and lower < upper"):
        autoencoder(np.random.default_rng(0), 2, np.full(3, -1.0), upper)
