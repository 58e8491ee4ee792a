"""Symlog, categoricals, the actor's Gaussian."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def symlog(x: Float[Array, "*b"]) -> Float[Array, "*b"]:
    """sign(x) ln(1 + |x|)."""
    return jnp.sign(x) * jnp.log1p(jnp.abs(x))


def symexp(x: Float[Array, "*b"]) -> Float[Array, "*b"]:
    """Inverse of symlog."""
    return jnp.sign(x) * jnp.expm1(jnp.abs(x))


def mix(logits: Float[Array, "*b S C"], unimix: float) -> Float[Array, "*b S C"]:
    """Log-probabilities with a share `unimix` of the uniform mixed in."""
    probabilities = jax.nn.softmax(logits.astype(jnp.float32), -1)
    return jnp.log((1 - unimix) * probabilities + unimix / logits.shape[-1])


def mode(log_p: Float[Array, "*b S C"]) -> Float[Array, "*b S C"]:
    """The most likely one-hot, without gradient."""
    return jax.nn.one_hot(jnp.argmax(log_p, -1), log_p.shape[-1], dtype=log_p.dtype)


def kl(log_p: Float[Array, "*b S C"], log_q: Float[Array, "*b S C"]) -> Float[Array, "*b"]:
    """KL(p || q) in nats, summed over the categoricals."""
    return (jnp.exp(log_p) * (log_p - log_q)).sum((-2, -1))


def normalised_entropy(std: Float[Array, "*b A"], low: float, high: float) -> Float[Array, "*b A"]:
    """Entropy of a Gaussian on the scale 0 (std = low) .. 1 (std = high), per dimension."""
    return jnp.log(std / low) / jnp.log(high / low)
