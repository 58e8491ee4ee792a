"""φ: from posture to feature; the identity, or a VAE trained on the postures in R (Sec. 4.3).

A `Feature` is a value: parameters, and a kind that says how to apply and how to fit them. Adding
one means writing a frozen dataclass with `apply` and `fit`.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ursa.config import OptimizerConfig
from ursa.errors import UserError
from ursa.nn import optimizer
from ursa.nn.layers import Linear, linear
from ursa.skill.table import Table

SPAN = 3.0**0.5  # half the range of a variable that is uniform and has unit variance


@runtime_checkable
class Kind(Protocol):
    """How a feature map reads postures and learns from R. Hashable: it is part of the program."""

    def apply(self, parameters: Any, postures: Float[Array, "*B P"]) -> Float[Array, "*B D"]: ...

    def fit(
        self, parameters: Any, table: Table, key: PRNGKeyArray
    ) -> tuple[Any, Float[Array, ""]]: ...


class Feature(eqx.Module):
    """φ as a value."""

    parameters: Any
    kind: Kind = eqx.field(static=True)


def phi(feature: Feature, postures: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
    """The features of postures; differentiable with respect to them."""
    return feature.kind.apply(feature.parameters, postures)


def fit_step(feature: Feature, table: Table, key: PRNGKeyArray) -> tuple[Feature, Float[Array, ""]]:
    """One step of learning from R, and its loss; a map with nothing to learn stays, at loss 0."""
    parameters, loss = feature.kind.fit(feature.parameters, table, key)
    return Feature(parameters, feature.kind), loss


@dataclass(frozen=True)
class Identity:
    """The feature is the posture: hand-defined features such as (v_x, ω_z)."""

    def apply(self, parameters: tuple[()], postures: Float[Array, "*B P"]) -> Float[Array, "*B P"]:
        return postures

    def fit(
        self, parameters: tuple[()], table: Table, key: PRNGKeyArray
    ) -> tuple[tuple[()], Float[Array, ""]]:
        return parameters, jnp.zeros(())


class Vae(eqx.Module):
    """Encoder and decoder of postures scaled by their physical ranges, in float32."""

    encoder: tuple[Linear, ...]
    decoder: tuple[Linear, ...]
    centre: Float[Array, " P"]  # middle of the range; fixed, it gets no gradient
    scale: Float[Array, " P"]  # a posture uniform over its range has unit variance in this unit


class Fitted(eqx.Module):
    """A VAE on its way, with the moments of its optimizer."""

    vae: Vae
    moments: Any


@dataclass(frozen=True, kw_only=True)
class Autoencoder:
    """The feature is the VAE's posterior mean; fitted on batches of R with Adam."""

    beta: float = 0.1  # weight of the KL term; 1 would silence directions of small variance
    batch: int = 256
    learning_rate: float = 1e-4

    def apply(self, parameters: Fitted, postures: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
        return encode(parameters.vae, postures)

    def fit(
        self, parameters: Fitted, table: Table, key: PRNGKeyArray
    ) -> tuple[Fitted, Float[Array, ""]]:
        """One Adam step on a batch of rows; skipped whole where anything is not finite."""
        which, chance = jax.random.split(key)
        rows = jax.random.randint(which, (self.batch,), 0, jnp.maximum(table.filled, 1))
        size = parameters.vae.encoder[-1].weight.shape[-1] // 2
        noise = jax.random.normal(chance, (self.batch, size), jnp.float32)
        value, slope = jax.value_and_grad(loss)(
            parameters.vae, table.posture[rows], noise, self.beta
        )
        step = optimizer.step(self.optimizer, parameters.vae, slope, parameters.moments)
        new = Fitted(step.params, step.state)
        sound = optimizer.finite(new, value)
        kept = jax.tree.map(lambda fresh, old: jnp.where(sound, fresh, old), new, parameters)
        return kept, value

    @property
    def optimizer(self) -> OptimizerConfig:
        return OptimizerConfig(learning_rate=self.learning_rate, weight_decay=0.0)


def identity() -> Feature:
    return Feature((), Identity())


def autoencoder(
    rng: np.random.Generator,
    skill_size: int,
    lower: Float[np.ndarray, " P"],
    upper: Float[np.ndarray, " P"],
    units: int = 128,
    kind: Autoencoder | None = None,
) -> Feature:
    """A fresh VAE for postures whose physical range is lower .. upper."""
    if not (np.isfinite(lower) & np.isfinite(upper) & (lower < upper)).all():
        raise UserError(
            f"posture ranges lower = {lower}, upper = {upper}: a VAE scales postures by them, so "
            "both must be finite and lower < upper; give the task's physical ranges"
        )
    kind = kind or Autoencoder()
    vae = Vae(
        encoder=_stack(rng, (lower.size, units, units, 2 * skill_size)),
        decoder=_stack(rng, (skill_size, units, units, lower.size)),
        centre=jnp.asarray((lower + upper) / 2, jnp.float32),
        scale=jnp.asarray((upper - lower) / 2 / SPAN, jnp.float32),
    )
    return Feature(Fitted(vae, optimizer.begin(kind.optimizer, vae)), kind)


def encode(vae: Vae, postures: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
    """The posterior mean: a function of the posture, without chance."""
    return _posterior(vae, scaled(vae, postures))[0]


def decode(vae: Vae, features: Float[Array, "*B D"]) -> Float[Array, "*B P"]:
    """Postures, in physical units."""
    out = _run(vae.decoder, features)
    return out * jnp.broadcast_to(vae.scale, out.shape) + jnp.broadcast_to(vae.centre, out.shape)


def scaled(vae: Vae, postures: Float[Array, "*B P"]) -> Float[Array, "*B P"]:
    """Postures on about unit scale."""
    centre, scale = jax.lax.stop_gradient((vae.centre, vae.scale))
    postures = postures.astype(centre.dtype)
    return (postures - jnp.broadcast_to(centre, postures.shape)) / jnp.broadcast_to(
        scale, postures.shape
    )


def loss(
    vae: Vae, postures: Float[Array, "B P"], noise: Float[Array, "B D"], beta: float
) -> Float[Array, ""]:
    """½ |x - x̂|² + β KL(posterior ‖ N(0, I)), mean over the batch."""
    x = scaled(vae, postures)
    mean, log_variance = _posterior(vae, x)
    variance = jnp.exp(log_variance)
    guess = _run(vae.decoder, mean + jnp.sqrt(variance) * noise)
    error = 0.5 * jnp.sum(jnp.square(x - guess), axis=-1)
    divergence = 0.5 * jnp.sum(jnp.square(mean) + variance - 1.0 - log_variance, axis=-1)
    return jnp.mean(error + beta * divergence)


def _posterior(
    vae: Vae, x: Float[Array, "*B P"]
) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
    mean, log_variance = jnp.split(_run(vae.encoder, x), 2, axis=-1)
    return mean, log_variance


def _stack(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[Linear, ...]:
    return tuple(linear(rng, a, b) for a, b in pairwise(sizes))


def _run(layers: tuple[Linear, ...], x: Float[Array, "*B I"]) -> Float[Array, "*B O"]:
    for layer in layers[:-1]:
        x = jax.nn.elu(layer(x))
    return layers[-1](x)
