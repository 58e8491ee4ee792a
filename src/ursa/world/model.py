"""W: encoder, dynamics and heads, and its loss on a batch of lived sequences.

The heads predict observation, reward, cost and posture (what phi reads); they are towers, so the
three that a dream needs are evaluated as one.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ursa.config import WorldConfig
from ursa.nn.distributions import kl, symexp, symlog
from ursa.nn.layers import Hidden, Towers, run, towers
from ursa.nn.statistics import above, adjust, below
from ursa.types import Batch, Sizes
from ursa.world.rssm import Latent, Rssm, encoder, rssm

KL_FLOOR, KL_CEILING = 1e-3, 1.0  # bounds of the KL scale


class World(eqx.Module):
    """Everything the model has learnt."""

    encoder: tuple[Hidden, ...]
    rssm: Rssm
    heads: Towers  # observation, reward, cost, posture
    sizes: Sizes = eqx.field(static=True)

    def predict(
        self, flat: Float[Array, "*b F"]
    ) -> tuple[Float[Array, "*b"], Float[Array, "*b"], Float[Array, "*b P"]]:
        """Reward, cost and posture of latents: what a dream needs."""
        out = self.heads.only(1)(flat)
        return symexp(out[0, ..., 0]), symexp(out[1, ..., 0]), out[2, ..., : self.sizes.posture]


def world(rng: np.random.Generator, config: WorldConfig, sizes: Sizes) -> World:
    """A fresh model."""
    flat = config.deter + config.stoch * config.classes
    widths = (sizes.observation, 1, 1, sizes.posture)
    return World(
        encoder=encoder(rng, config, sizes.observation),
        rssm=rssm(rng, config, sizes.action),
        heads=towers(rng, flat, widths, config.head_units, config.head_layers),
        sizes=sizes,
    )


def observe(
    model: World, batch: Batch, key: Key[Array, ""], dtype: Any, unroll: int
) -> tuple[Latent, Float[Array, "B T S C"]]:
    """Posterior latents of the lived sequences (B, T, ...), and their log-probabilities."""
    flat = run(model.encoder, batch.observation.astype(dtype))
    embed = model.rssm.embed_part(flat)
    action = model.rssm.action_part(batch.action.astype(dtype))
    first = batch.first.at[:, 0].set(True)  # nothing is known before a sequence
    start = model.rssm.initial(first.shape[0], dtype=dtype)
    noise = jax.random.gumbel(key, (*first.shape[::-1], *start.stoch.shape[1:]))

    def step(latent: Latent, now: tuple) -> tuple[Latent, tuple[Latent, Array]]:
        action, embed, first, gumbel = now
        latent, logits = model.rssm.observe(latent, action, embed, first, gumbel, start)
        return latent, (latent, logits)

    now = tuple(jnp.moveaxis(x, 1, 0) for x in (action, embed, first))
    _, stacked = jax.lax.scan(step, start, (*now, noise), unroll=unroll)
    latents, logits = jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), stacked)
    return latents, model.rssm.chances(logits)


def loss(
    model: World,
    config: WorldConfig,
    batch: Batch,
    scale: Float[Array, ""],
    key: Key[Array, ""],
    dtype: Any,
    unroll: int,
) -> tuple[Float[Array, ""], tuple[Latent, Float[Array, ""], dict[str, Array]]]:
    """Loss, then (posterior latents, new KL scale, metrics)."""
    latents, posterior = observe(model, batch, key, dtype, unroll)
    prior = model.rssm.chances(model.rssm.prior_of(latents.deter))
    stop = jax.lax.stop_gradient
    trains_prior = kl(stop(posterior), prior).mean()
    trains_posterior = kl(posterior, stop(prior)).mean()
    much, little = (side(stop(trains_prior), config.kl_target) for side in (above, below))
    scale = adjust(scale, much, little, KL_FLOOR, KL_CEILING)
    balance = config.kl_balance
    divergence = balance * trains_prior + (1 - balance) * trains_posterior
    out = model.heads(latents.flat())
    sizes = model.sizes
    terms = {
        "observation": square(out[0, ..., : sizes.observation], batch.observation),
        "reward": square(out[1, ..., :1], symlog(batch.reward)[..., None]),
        "cost": square(out[2, ..., :1], symlog(batch.cost)[..., None]),
        "posture": square(out[3, ..., : sizes.posture], batch.posture),
    }
    total = scale * divergence + sum(terms.values())
    metrics = {f"world/{name}": value for name, value in terms.items()}
    metrics |= {"world/kl": trains_prior, "world/kl_scale": scale, "world/loss": total}
    return total, (latents, scale, metrics)


def square(predicted: Float[Array, "*b W"], wanted: Float[Array, "*b W"]) -> Float[Array, ""]:
    """Squared error summed over the last axis, averaged over the rest."""
    return jnp.square(predicted - wanted.astype(jnp.float32)).sum(-1).mean()
