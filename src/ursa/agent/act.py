"""Acting: observation and skill in, action out, the latent carried along."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from ursa.agent.state import Policy
from ursa.nn.layers import run
from ursa.world.rssm import Latent


class Carry(eqx.Module):
    """What a robot remembers between two control steps."""

    latent: Latent
    action: Float[Array, "n A"]  # executed last, clipped


def begin(policy: Policy, count: int) -> Carry:
    """Before the first observation."""
    actions = policy.actor.mean.weight.shape[-1]
    return Carry(policy.rssm.initial(count), jnp.zeros((count, actions)))


def act(
    policy: Policy,
    carry: Carry,
    observation: Float[Array, "n O"],
    first: Bool[Array, " n"],
    z: Float[Array, "n D"],
    explore: Float[Array, ""],
    key: Key[Array, ""],
) -> tuple[Carry, Float[Array, "n A"]]:
    """The next action in [-1, 1]. `explore` = 1 samples it, 0 takes the mode."""
    rssm = policy.rssm
    latent_key, action_key = jax.random.split(key)
    embed = rssm.embed_part(run(policy.encoder, observation))
    noise = jax.random.gumbel(latent_key, carry.latent.stoch.shape)
    latent, _ = rssm.observe(carry.latent, rssm.action_part(carry.action), embed, first, noise)
    mean, std = policy.actor(latent.flat(), policy.actor.skill_part(z))
    noise = jax.random.normal(action_key, mean.shape)
    action = jnp.clip(mean + explore * std * noise, -1, 1)
    return Carry(latent, action), action
