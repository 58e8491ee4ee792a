"""AgentState: everything learnt, as one frozen pytree; the part that acts; how it begins."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ursa.agent.method import Method
from ursa.behavior.actor import Actor, actor
from ursa.behavior.critic import critics
from ursa.behavior.multipliers import multipliers
from ursa.config import BehaviorConfig, OptimizerConfig, WorldConfig
from ursa.nn import optimizer
from ursa.nn.layers import Hidden, Towers
from ursa.types import Sizes
from ursa.world.model import World, world
from ursa.world.rssm import Rssm


@dataclass(frozen=True)
class Settings:
    """What shapes the learner's program. Hashable; static everywhere."""

    method: Method
    sizes: Sizes
    world: WorldConfig
    behavior: BehaviorConfig
    optimizer: OptimizerConfig
    total_updates: int
    precision: str = "float32"  # of products; parameters, norms and losses are float32
    unroll: int = 1

    @property
    def flat(self) -> int:
        """Width of a latent as heads and actor read it."""
        return self.world.deter + self.world.stoch * self.world.classes


class Optimizers(eqx.Module):
    """Moments of the four optimizers."""

    world: Any
    actor: Any
    critics: Any
    multipliers: Any


class AgentState(eqx.Module):
    """Networks, slow copies, optimizers, scales and controllers of one seed."""

    world: World
    actor: Actor
    critics: Towers
    slow: Towers  # slow copy of the critics
    multipliers: Towers
    optimizers: Optimizers
    kl_scale: Float[Array, ""]
    entropy_weight: Float[Array, " A"]
    scales: dict[str, Float[Array, ""]]
    memory: Any  # the method's own
    updates: Int[Array, ""]
    dropped: Int[Array, ""]  # updates that were not finite and left no trace


class Policy(eqx.Module):
    """The part of the state that acts."""

    encoder: tuple[Hidden, ...]
    rssm: Rssm
    actor: Actor


def policy(state: AgentState) -> Policy:
    return Policy(state.world.encoder, state.world.rssm, state.actor)


def begin(settings: Settings, seed: int) -> AgentState:
    """A newborn agent."""
    rng = np.random.default_rng([seed, 0x5EED])
    method, flat = settings.method, settings.flat
    skill = method.skill_size
    model = world(rng, settings.world, settings.sizes)
    policy = actor(rng, settings.behavior, flat, skill, settings.sizes.action)
    critic = critics(rng, settings.behavior, method.signals, flat, skill)
    watch = multipliers(rng, settings.behavior, method.constraints, flat, skill)
    begin = optimizer.begin
    return AgentState(
        world=model,
        actor=policy,
        critics=critic,
        slow=critic,
        multipliers=watch,
        optimizers=Optimizers(
            world=begin(settings.optimizer, model),
            actor=begin(settings.optimizer, policy),
            critics=begin(settings.optimizer, critic),
            multipliers=begin(settings.optimizer, watch),
        ),
        kl_scale=jnp.ones(()),
        entropy_weight=jnp.ones(settings.sizes.action),
        scales={s.name: jnp.zeros(()) for s in method.signals if s.scaled},
        memory=method.memory(seed),
        updates=jnp.zeros((), jnp.int32),
        dropped=jnp.zeros((), jnp.int32),
    )
