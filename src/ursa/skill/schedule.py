"""When the feature map learns: at first always, then in ever rarer phases, at last never.

Every step of the VAE moves every skill in R and every target of ψ. So it is trained hard while
little depends on it, refitted at growing intervals, and left alone in the second half.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Shares are of the whole training; the rest is counted in updates."""

    rows: int = 512  # rows R must hold before anything is learnt from it
    warm: float = 0.1  # every update before this share
    frozen: float = 0.5  # none from this share on
    gap: int = 1000  # between them, phase k starts k gaps after phase k - 1 did
    length: int = 200  # updates in a phase
    phases: int = 400  # counted; the last starts 80 million updates in


USUAL = Schedule()


def due(
    updates: Int[Array, ""] | int,
    total_updates: int,
    filled: Int[Array, ""] | int,
    schedule: Schedule = USUAL,
) -> Bool[Array, ""]:
    """Whether the feature map takes a step after `updates` of `total_updates`."""
    updates = jnp.asarray(updates, jnp.int32)
    warm = round(schedule.warm * total_updates)
    frozen = round(schedule.frozen * total_updates)
    phase = np.arange(1, schedule.phases + 1)
    starts = jnp.asarray(warm + schedule.gap * phase * (phase + 1) // 2, jnp.int32)
    within = jnp.any((updates >= starts) & (updates < starts + schedule.length))
    enough = jnp.asarray(filled) >= schedule.rows
    return enough & (updates < frozen) & ((updates < warm) | within)
