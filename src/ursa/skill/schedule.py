"""When the feature map learns: at first always, then in ever rarer phases, at last never.

Every step of the VAE moves every skill in R and every target of ψ. So it is trained hard while
little depends on it, refitted at growing intervals, and left alone in the second half.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from ursa.config import SkillConfig

NEVER = 2**30  # updates; sums with it still fit 32 bits
PHASES = 400  # counted; the last starts 80 million updates in


def due(
    updates: Int[Array, ""] | int,
    total_updates: int,
    filled: Int[Array, ""] | int,
    config: SkillConfig,
) -> Bool[Array, ""]:
    """Whether the feature map takes a step after `updates` of `total_updates`."""
    updates = jnp.asarray(updates, jnp.int32)
    warm = round(config.vae_warm * total_updates)
    frozen = round(config.vae_frozen * total_updates)
    phase = np.arange(1, PHASES + 1)
    starts = np.minimum(warm + config.vae_gap * phase * (phase + 1) // 2, NEVER)
    starts = jnp.asarray(starts, jnp.int32)
    within = jnp.any((updates >= starts) & (updates < starts + config.vae_length))
    enough = jnp.asarray(filled) >= min(config.vae_rows, config.repertoire_size)
    return enough & (updates < frozen) & ((updates < warm) | within)
