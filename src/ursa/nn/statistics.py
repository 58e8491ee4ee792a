"""Running scale of returns, slow copies, and the two controllers that keep a number in a band."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

DECAY = 0.99  # of the running scale
BAND = 1.1  # a controller acts when its number leaves [target / BAND, target * BAND]
STEP = 1.1  # by which it then changes its weight


def spread(values: Float[Array, "*b"]) -> Float[Array, ""]:
    """P95 - P5."""
    low, high = jnp.percentile(values.astype(jnp.float32), jnp.array([5.0, 95.0]))
    return high - low


def running(scale: Float[Array, ""], values: Float[Array, "*b"]) -> Float[Array, ""]:
    """Exponential average of the spread; starts at the first value (0 means 'none yet')."""
    now = spread(values)
    return jnp.where(scale > 0, DECAY * scale + (1 - DECAY) * now, now)


def follow(slow: Any, fast: Any, rate: float) -> Any:
    """Move the slow copy a share `rate` of the way."""
    return jax.tree.map(lambda s, f: s + rate * (f - s), slow, fast)


def adjust(
    weight: Float[Array, "*b"],
    more: Bool[Array, "*b"],
    less: Bool[Array, "*b"],
    low: float,
    high: float,
) -> Float[Array, "*b"]:
    """Ten per cent more or less weight, within bounds."""
    weight = jnp.where(more, weight * STEP, jnp.where(less, weight / STEP, weight))
    return jnp.clip(weight, low, high)


def above(value: Float[Array, "*b"], target: float) -> Bool[Array, "*b"]:
    """Clearly above the target: the band around it is left alone."""
    return value > target * BAND


def below(value: Float[Array, "*b"], target: float) -> Bool[Array, "*b"]:
    return value < target / BAND
