"""Norm + ELU, the one-hot sample and a product with several matrices, with gradients written out.

The same functions as the plain expressions (a test compares values and gradients). Of the first
two, what is kept for the way back is one array instead of four, and each way back is two sweeps
over memory instead of ten: on a GPU an update is mostly the memory traffic and the launches of
these. The product is written so that it suits the device.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ursa.nn.distributions import mix

EPSILON = 1e-3  # of the norm


def standardised(x: Float[Array, "*b O"]) -> tuple[Float[Array, "*b O"], Float[Array, "*b 1"]]:
    """(x - mean) / deviation over the last axis in float32, and 1 / deviation."""
    wide = x.astype(jnp.float32)
    # Both moments from one reading. In float32 the difference is safe: activations are of order 1.
    mean = wide.mean(-1, keepdims=True)
    square = jnp.square(wide).mean(-1, keepdims=True)
    inverse = jax.lax.rsqrt(jnp.maximum(square - jnp.square(mean), 0.0) + EPSILON)
    return (wide - mean) * inverse, inverse


def spread(p: Float[Array, "*k O"], rank: int) -> Array:
    """A parameter over an input of that rank: tower axis first, feature axis last."""
    if p.ndim == 1:
        return p.reshape((1,) * (rank - 1) + p.shape)
    return p.reshape(p.shape[:1] + (1,) * (rank - 2) + p.shape[1:])


@jax.custom_vjp
def norm_elu(
    x: Float[Array, "*b O"], scale: Float[Array, "*k O"], offset: Float[Array, "*k O"]
) -> Float[Array, "*b O"]:
    """ELU of the layer norm, computed in float32, in the dtype of x."""
    hat, _ = standardised(x)
    normal = hat * spread(scale, x.ndim) + spread(offset, x.ndim)
    return jax.nn.elu(normal).astype(x.dtype)


def _norm_elu_forward(x: Array, scale: Array, offset: Array) -> tuple[Array, tuple]:
    return norm_elu(x, scale, offset), (x, scale, offset)


def _norm_elu_backward(kept: tuple, wanted: Array) -> tuple[Array, Array, Array]:
    x, scale, offset = kept
    hat, inverse = standardised(x)
    wide = spread(scale, x.ndim)
    normal = hat * wide + spread(offset, x.ndim)
    slope = jnp.where(normal > 0, 1.0, jnp.exp(jnp.minimum(normal, 0.0)))
    into_normal = wanted.astype(jnp.float32) * slope
    into_hat = into_normal * wide
    mean = into_hat.mean(-1, keepdims=True)
    along = (into_hat * hat).mean(-1, keepdims=True)
    into_x = inverse * (into_hat - mean - hat * along)
    rows = tuple(range(scale.ndim - 1, x.ndim - 1))  # every axis that the parameters lack
    return into_x.astype(x.dtype), (into_normal * hat).sum(rows), into_normal.sum(rows)


norm_elu.defvjp(_norm_elu_forward, _norm_elu_backward)


@jax.custom_vjp
def fanned(x: Float[Array, "N I"], weight: Float[Array, "K I O"]) -> Float[Array, "K N O"]:
    """One input times each of K matrices.

    A GPU likes one wide product. A CPU would leave its result transposed, and whatever is done
    with that afterwards takes twice as long: there they are K products.
    """
    return jax.lax.platform_dependent(x, weight, cpu=_apart, default=_wide)


def _wide(x: Array, weight: Array) -> Array:
    return jnp.einsum("ni,kio->kno", x, weight)


def _apart(x: Array, weight: Array) -> Array:
    return jnp.stack([x @ each for each in weight]) if len(weight) else _wide(x, weight)


def _fanned_forward(x: Array, weight: Array) -> tuple[Array, tuple[Array, Array]]:
    return fanned(x, weight), (x, weight)


def _wide_backward(x: Array, weight: Array, wanted: Array) -> tuple[Array, Array]:
    return jax.vjp(_wide, x, weight)[1](wanted)


def _apart_backward(x: Array, weight: Array, wanted: Array) -> tuple[Array, Array]:
    return jax.vjp(_apart, x, weight)[1](wanted)


def _fanned_backward(kept: tuple[Array, Array], wanted: Array) -> tuple[Array, Array]:
    return jax.lax.platform_dependent(*kept, wanted, cpu=_apart_backward, default=_wide_backward)


fanned.defvjp(_fanned_forward, _fanned_backward)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def one_hot_sample(
    logits: Float[Array, "*b S C"], gumbel: Float[Array, "*b S C"], unimix: float
) -> Float[Array, "*b S C"]:
    """A draw from the mixed categorical, in the dtype of the logits; straight-through gradient."""
    chosen = jnp.argmax(mix(logits, unimix) + gumbel, -1)
    return jax.nn.one_hot(chosen, logits.shape[-1], dtype=logits.dtype)


def _sample_forward(logits: Array, gumbel: Array, unimix: float) -> tuple[Array, Array]:
    return one_hot_sample(logits, gumbel, unimix), logits


def _sample_backward(unimix: float, logits: Array, wanted: Array) -> tuple[Array, None]:
    """That of the probabilities, (1 - unimix) softmax: what the hard sample stands for."""
    p = jax.nn.softmax(logits.astype(jnp.float32), -1)
    into = wanted.astype(jnp.float32) * p
    into_logits = (1 - unimix) * (into - p * into.sum(-1, keepdims=True))
    return into_logits.astype(logits.dtype), None


one_hot_sample.defvjp(_sample_forward, _sample_backward)
