"""Plain expressions of what src/ursa/nn/fused.py computes with gradients written out by hand."""

import jax
import jax.numpy as jnp

from ursa.nn.distributions import mix


def plain_norm_elu(x, scale, offset):
    """Layer norm in two sweeps, then ELU, as a textbook writes them."""
    towers = scale.ndim - 1
    scale, offset = (
        p.reshape(p.shape[:towers] + (1,) * (x.ndim - p.ndim) + p.shape[towers:])
        for p in (scale, offset)
    )
    wide = x.astype(jnp.float32)
    wide = wide - wide.mean(-1, keepdims=True)
    wide = wide / jnp.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-3)
    return jax.nn.elu(wide * scale + offset).astype(x.dtype)


def plain_sample(logits, gumbel, unimix):
    log_p = mix(logits, unimix)
    hard = jax.nn.one_hot(jnp.argmax(log_p + gumbel, -1), log_p.shape[-1])
    soft = jnp.exp(log_p)
    return (jax.lax.stop_gradient(hard - soft) + soft).astype(logits.dtype)
