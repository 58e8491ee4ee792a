"""RSSM: latent dynamics with a recurrent and a categorical part (DayDreamer's A1 model).

    x      = hidden(stoch, action)          deter' = GRU(x, deter)
    prior  = categorical(3 hidden(deter'))  posterior = categorical(hidden(deter', embedding))

What does not depend on the recurrence is computed outside the scans: embeddings, the action's
product, all noise, and the priors of an observed sequence.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ursa.config import WorldConfig
from ursa.nn.distributions import mix, mode
from ursa.nn.fused import one_hot_sample
from ursa.nn.layers import Hidden, Linear, Norm, draw, hidden, linear, norm, run, stack


class Latent(eqx.Module):
    """Where the model believes the world is. Leading axes are free."""

    deter: Float[Array, "*b D"]
    stoch: Float[Array, "*b S C"]

    def flat(self) -> Float[Array, "*b F"]:
        """What heads, critics and the actor read."""
        stoch = self.stoch.reshape(*self.stoch.shape[:-2], -1)
        return jnp.concatenate([self.deter, stoch], -1)


class Rssm(eqx.Module):
    """Parameters of the dynamics."""

    start: Float[Array, " D"]
    stoch_in: Float[Array, "SC U"]  # the product of concat(stoch, action), in two parts
    action_in: Float[Array, "A U"]
    input_norm: Norm
    gru: Linear
    gru_norm: Norm
    prior: tuple[Hidden, ...]
    prior_out: Linear
    deter_in: Float[Array, "D U"]  # the product of concat(deter, embedding), in two parts
    embed_in: Float[Array, "E U"]
    post_norm: Norm
    post_out: Linear
    unimix: float = eqx.field(static=True)
    classes: int = eqx.field(static=True)

    def initial(self, *batch: int, dtype: Any = jnp.float32) -> Latent:
        """The learnt start: deter from a parameter, stoch the prior's mode there."""
        deter = jnp.tanh(self.start)
        stoch = mode(self.prior_of(deter[None].astype(dtype)))[0]
        return Latent(
            jnp.broadcast_to(deter.astype(dtype), (*batch, *deter.shape)),
            jnp.broadcast_to(stoch.astype(dtype), (*batch, *stoch.shape)),
        )

    def recur(self, latent: Latent, action_part: Float[Array, "*b U"]) -> Float[Array, "*b D"]:
        """deter' from a latent and the action's product."""
        deter = latent.deter
        stoch = latent.stoch.reshape(*deter.shape[:-1], -1)
        x = stoch @ self.stoch_in.astype(deter.dtype) + action_part
        x = self.input_norm.elu(x)
        gates = self.gru_norm(self.gru(jnp.concatenate([deter, x], -1)))
        reset, candidate, update = jnp.split(gates, 3, -1)
        candidate = jnp.tanh(jax.nn.sigmoid(reset) * candidate)
        update = jax.nn.sigmoid(update - 1)
        return update * candidate + (1 - update) * deter

    def action_part(self, action: Float[Array, "*b A"]) -> Float[Array, "*b U"]:
        return action @ self.action_in.astype(action.dtype)

    def prior_of(self, deter: Float[Array, "*b D"]) -> Float[Array, "*b S C"]:
        """Logits before seeing the observation."""
        return self._classes(self.prior_out(run(self.prior, deter)))

    def posterior_of(
        self, deter: Float[Array, "*b D"], embed_part: Float[Array, "*b U"]
    ) -> Float[Array, "*b S C"]:
        """Logits after seeing it."""
        x = deter @ self.deter_in.astype(deter.dtype) + embed_part
        return self._classes(self.post_out(self.post_norm.elu(x)))

    def chances(self, logits: Float[Array, "*b S C"]) -> Float[Array, "*b S C"]:
        """Log-probabilities, a little of the uniform mixed in."""
        return mix(logits, self.unimix)

    def embed_part(self, embed: Float[Array, "*b E"]) -> Float[Array, "*b U"]:
        return embed @ self.embed_in.astype(embed.dtype)

    def _classes(self, flat: Float[Array, "*b SC"]) -> Float[Array, "*b S C"]:
        return flat.reshape(*flat.shape[:-1], -1, self.classes)

    def imagine(
        self, latent: Latent, action: Float[Array, "*b A"], gumbel: Float[Array, "*b S C"]
    ) -> Latent:
        """One step without an observation."""
        deter = self.recur(latent, self.action_part(action))
        return Latent(deter, one_hot_sample(self.prior_of(deter), gumbel, self.unimix))

    def observe(
        self,
        latent: Latent,
        action_part: Float[Array, "*b U"],
        embed_part: Float[Array, "*b U"],
        first: Bool[Array, "*b"],
        gumbel: Float[Array, "*b S C"],
        start: Latent,
    ) -> tuple[Latent, Float[Array, "*b S C"]]:
        """One step with an observation, and the posterior's logits.

        Where `first`, the past is forgotten: `start` is what `initial` says.
        """
        deter = jnp.where(first[..., None], start.deter, latent.deter)
        stoch = jnp.where(first[..., None, None], start.stoch, latent.stoch)
        action_part = jnp.where(first[..., None], 0, action_part)
        deter = self.recur(Latent(deter, stoch), action_part)
        logits = self.posterior_of(deter, embed_part)
        return Latent(deter, one_hot_sample(logits, gumbel, self.unimix)), logits


def rssm(rng: np.random.Generator, config: WorldConfig, action_size: int) -> Rssm:
    """Fresh parameters."""
    d, u, flat = config.deter, config.units, config.stoch * config.classes
    embed = config.encoder_units
    return Rssm(
        start=jnp.zeros(d, jnp.float32),
        stoch_in=draw(rng, (flat, u), flat + action_size + u),
        action_in=draw(rng, (action_size, u), flat + action_size + u),
        input_norm=norm(u),
        gru=linear(rng, d + u, 3 * d, bias=False),
        gru_norm=norm(3 * d),
        prior=stack(rng, d, u, config.prior_layers),
        prior_out=linear(rng, u, flat),
        deter_in=draw(rng, (d, u), d + embed + u),
        embed_in=draw(rng, (embed, u), d + embed + u),
        post_norm=norm(u),
        post_out=linear(rng, u, flat),
        unimix=config.unimix,
        classes=config.classes,
    )


def encoder(rng: np.random.Generator, config: WorldConfig, size: int) -> tuple[Hidden, ...]:
    """Observation -> embedding."""
    layers = [hidden(rng, size, config.encoder_units)]
    layers += [
        hidden(rng, config.encoder_units, config.encoder_units)
        for _ in range(config.encoder_layers - 1)
    ]
    return tuple(layers)
