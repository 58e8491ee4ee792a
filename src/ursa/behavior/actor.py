"""pi(a | latent, z): a Gaussian with a bounded mean, the same for every method."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats.norm import cdf as norm_cdf
from jax.scipy.stats.norm import pdf as norm_pdf
from jaxtyping import Array, Float

from ursa.config import BehaviorConfig
from ursa.nn.layers import OUTPUT_SCALE, Hidden, Linear, Norm, draw, linear, norm, run, stack


class Actor(eqx.Module):
    """Parameters of the policy."""

    flat_in: Float[Array, "F U"]  # the product of concat(latent, z), in two parts
    skill_in: Float[Array, "D U"]
    norm: Norm
    hidden: tuple[Hidden, ...]
    mean: Linear
    std: Linear
    min_std: float = eqx.field(static=True)
    max_std: float = eqx.field(static=True)

    def skill_part(self, z: Float[Array, "N D"]) -> Float[Array, "N U"]:
        """The skill's share of the first product: made once while a skill is held."""
        return z @ self.skill_in.astype(z.dtype)

    def __call__(
        self, flat: Float[Array, "N F"], skill_part: Float[Array, "N U"]
    ) -> tuple[Float[Array, "N A"], Float[Array, "N A"]]:
        """Mean in (-1, 1) and standard deviation of the action, float32."""
        x = flat @ self.flat_in.astype(flat.dtype) + skill_part
        x = run(self.hidden, self.norm.elu(x))
        mean, width = beside(self.mean, self.std, x)
        std = self.min_std + (self.max_std - self.min_std) * jax.nn.sigmoid(width)
        return jnp.tanh(mean), std


def beside(one: Linear, two: Linear, x: Float[Array, "*b I"]) -> tuple[Array, Array]:
    """Two layers of one width that read the same, as one product; float32."""
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b], -1), one, two)
    first, second = jnp.split(both(x).astype(jnp.float32), 2, -1)
    return first, second


def clipped(action: Float[Array, "*b A"]) -> Float[Array, "*b A"]:
    """Into [-1, 1], as the body does, with the gradient of the unclipped action."""
    return action + jax.lax.stop_gradient(jnp.clip(action, -1, 1) - action)


def expected(mean: Float[Array, "*b A"], std: Float[Array, "*b A"]) -> Float[Array, "*b A"]:
    """Mean of the clipped Gaussian: what sampled actions do on average, without their noise.

    Near a bound this is not the mode: half of what is sampled around 1 is clipped.
    """
    low, high = (-1 - mean) / std, (1 - mean) / std
    below, within = norm_cdf(low), norm_cdf(high) - norm_cdf(low)
    above = norm_cdf(-high)
    return mean * within + std * (norm_pdf(low) - norm_pdf(high)) + above - below


def actor(
    rng: np.random.Generator, config: BehaviorConfig, flat: int, skill_size: int, action: int
) -> Actor:
    """A fresh policy."""
    units = config.units
    fans = flat + skill_size + units
    return Actor(
        flat_in=draw(rng, (flat, units), fans),
        skill_in=draw(rng, (skill_size, units), fans),
        norm=norm(units),
        hidden=stack(rng, units, units, config.layers - 1),
        mean=linear(rng, units, action, scale=OUTPUT_SCALE),
        std=linear(rng, units, action),
        min_std=config.min_std,
        max_std=config.max_std,
    )
