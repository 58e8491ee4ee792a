"""Acting: observation and skill in, action out, the latent carried along."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from ursa.agent.state import Policy
from ursa.behavior.actor import expected
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
    """The next action in [-1, 1]. `explore` = 1 samples it, 0 takes what samples do on average."""
    rssm = policy.rssm
    latent_key, action_key = jax.random.split(key)
    embed = rssm.embed_part(run(policy.encoder, observation))
    noise = jax.random.gumbel(latent_key, carry.latent.stoch.shape)
    start = rssm.initial(first.shape[0])
    last = rssm.action_part(carry.action)
    latent, _ = rssm.observe(carry.latent, last, embed, first, noise, start)
    mean, std = policy.actor(latent.flat(), policy.actor.skill_part(z))
    noise = jax.random.normal(action_key, mean.shape)
    sampled = jnp.clip(mean + std * noise, -1, 1)
    action = jnp.where(explore > 0, sampled, expected(mean, std))
    return Carry(latent, action), action
