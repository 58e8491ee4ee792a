"""lambda_skill, lambda_safe: logistic networks of (latent, z) that learn 'violated?'.

Trained by cross-entropy on whether the constraint is broken, so each converges to the probability
of breaking it (QDAC's way, not dual ascent: free of scales).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ursa.config import BehaviorConfig
from ursa.nn.layers import Towers, towers


def multipliers(
    rng: np.random.Generator, config: BehaviorConfig, names: tuple[str, ...], flat: int, skill: int
) -> Towers:
    """One tower a constraint; with a small output layer they start near 0.5."""
    widths = (1,) * len(names)
    return towers(rng, flat, widths, config.multiplier_units, config.multiplier_layers, side=skill)


def levels(
    network: Towers,
    names: tuple[str, ...],
    flat: Float[Array, "H N F"],
    z: Float[Array, "N D"],
) -> dict[str, Float[Array, "H N"]]:
    """Each multiplier in (0, 1), without gradient: the actor must not steer it."""
    out = jax.lax.stop_gradient(network(jax.lax.stop_gradient(flat), z))
    return {name: jax.nn.sigmoid(out[k, ..., 0]) for k, name in enumerate(names)}


def loss(
    network: Towers,
    names: tuple[str, ...],
    flat: Float[Array, "H N F"],
    z: Float[Array, "N D"],
    violated: dict[str, Bool[Array, "H N"]],
    weight: Float[Array, " H"],
) -> Float[Array, ""]:
    """Cross-entropy of 'violated?', weighted along the dream."""
    out = network(flat, z)
    total = jnp.zeros(())
    for k, name in enumerate(names):
        total = total + (weight[:, None] * cross_entropy(out[k, ..., 0], violated[name])).mean()
    return total


def cross_entropy(logit: Float[Array, "*b"], label: Bool[Array, "*b"]) -> Float[Array, "*b"]:
    """Of a logistic prediction."""
    return jax.nn.softplus(logit) - jnp.where(label, logit, 0.0)
