"""J_pi (paper, App. B.1) and the distance its skill constraint is about."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def objective(
    *,
    value: Float[Array, "*b"],
    miss: Float[Array, "*b"],
    cost: Float[Array, "*b"],
    lambda_skill: Float[Array, "*b"],
    lambda_safe: Float[Array, "*b"],
) -> Float[Array, "*b"]:
    """Safety first, then the skill, then reward. `miss` is the distance to the skill less delta."""
    calm = 1 - lambda_safe
    wanted = (1 - lambda_skill) * calm * value
    return wanted - lambda_skill * calm * miss - lambda_safe * cost


def distance(
    average: Float[Array, "*b D"], z: Float[Array, "*b D"], whiten: Float[Array, "D D"]
) -> Float[Array, "*b"]:
    """||whiten (average - z)||: how far the expected feature is from the skill."""
    gap = jnp.einsum("ij,...j->...i", whiten, average - z)
    return jnp.sqrt(jnp.square(gap).sum(-1))


def smooth_distance(
    average: Float[Array, "*b D"],
    z: Float[Array, "*b D"],
    whiten: Float[Array, "D D"],
    huber: float,
) -> Float[Array, "*b"]:
    """Pseudo-Huber of the same: no singular gradient at zero."""
    gap = jnp.einsum("ij,...j->...i", whiten, average - z)
    return huber * (jnp.sqrt(1 + jnp.square(gap).sum(-1) / huber**2) - 1)
