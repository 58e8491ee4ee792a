"""Dreaming: roll a policy H steps in latent space."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ursa.world.model import World
from ursa.world.rssm import Latent

# (what the actor sees, noise of one step) -> action, standard deviation
Policy = Callable[
    [Float[Array, "N F"], Float[Array, "N A"]], tuple[Float[Array, "N A"], Float[Array, "N A"]]
]


class Dream(eqx.Module):
    """N dreams of H steps: states 0..H, and what arriving in states 1..H brought."""

    std: Float[Array, "H N A"]  # of the policy in states 0..H-1
    flat: Float[Array, "H+1 N F"]  # latents as heads and critics read them
    reward: Float[Array, "H N"]
    cost: Float[Array, "H N"]
    posture: Float[Array, "H N P"]


def imagine(
    model: World,
    policy: Policy,
    start: Latent,
    horizon: int,
    key: Key[Array, ""],
    unroll: int,
) -> Dream:
    """The policy sees latents without gradient; its actions reach the future through W."""
    count = start.deter.shape[0]
    chance, noise_key = jax.random.split(key)
    gumbel = jax.random.gumbel(chance, (horizon, *start.stoch.shape), jnp.float32)
    noise = jax.random.normal(noise_key, (horizon, count, model.sizes.action), jnp.float32)

    def step(latent: Latent, now: tuple[Array, Array]) -> tuple[Latent, tuple[Latent, Array]]:
        gumbel, noise = now
        action, std = policy(jax.lax.stop_gradient(latent.flat()), noise)
        after = model.rssm.imagine(latent, action.astype(latent.deter.dtype), gumbel)
        return after, (after, std)

    start = jax.lax.stop_gradient(start)
    _, (latents, std) = jax.lax.scan(step, start, (gumbel, noise), unroll=unroll)
    arrived = latents.flat()
    reward, cost, posture = model.predict(arrived)
    flat = jnp.concatenate([start.flat()[None], arrived])
    return Dream(std=std, flat=flat, reward=reward, cost=cost, posture=posture)


def foresee(
    model: World, start: Latent, actions: Float[Array, "H N A"], key: Key[Array, ""]
) -> Float[Array, "H N O"]:
    """Observations that the model expects from given actions, without seeing any."""
    gumbel = jax.random.gumbel(key, (actions.shape[0], *start.stoch.shape), jnp.float32)

    def step(latent: Latent, now: tuple[Array, Array]) -> tuple[Latent, Latent]:
        after = model.rssm.imagine(latent, *now)
        return after, after

    _, latents = jax.lax.scan(step, start, (actions.astype(start.deter.dtype), gumbel))
    return model.heads(latents.flat())[0, ..., : model.sizes.observation]
