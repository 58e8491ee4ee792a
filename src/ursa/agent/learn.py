"""One update, in the order of Algorithm 2 of the paper. The function to read first is `learn`."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ursa.agent.method import Skills, Verdict, View
from ursa.agent.state import AgentState, Settings
from ursa.behavior import critic, multipliers
from ursa.behavior.actor import Actor, clipped
from ursa.nn import optimizer
from ursa.nn.distributions import normalised_entropy
from ursa.nn.statistics import above, adjust, below, follow, running
from ursa.types import Batch
from ursa.world import model as world_model
from ursa.world.imagine import Dream, imagine
from ursa.world.model import World
from ursa.world.rssm import Latent

ENTROPY_FLOOR, ENTROPY_CEILING = 1e-5, 1.0  # bounds of the entropy weights
Metrics = dict[str, Float[Array, ""]]


class Lived(eqx.Module):
    """What an actor's dream leaves for critics and multipliers, all without gradient."""

    flat: Float[Array, "H N F"]
    view: View
    verdict: Verdict
    entropy: Float[Array, " A"]
    scales: dict[str, Float[Array, ""]]


def learn(
    settings: Settings, state: AgentState, batch: Batch, skills: Skills, key: Key[Array, ""]
) -> tuple[AgentState, Metrics]:
    """World model, dream and actor, critics, multipliers; dropped whole if it is not finite."""
    world_key, dream_key = jax.random.split(key)
    new, latents, world_metrics = improve_world(settings, state, batch, world_key)
    new, lived, actor_metrics = improve_actor(settings, new, latents, skills, dream_key)
    new, critic_metrics = improve_critics(settings, new, lived, skills)
    new, multiplier_metrics = improve_multipliers(settings, new, lived, skills)
    new = eqx.tree_at(
        lambda s: (s.slow, s.memory, s.updates),
        new,
        (
            follow(new.slow, new.critics, settings.behavior.slow_rate),
            settings.method.remember(new.memory, lived.view),
            new.updates + 1,
        ),
    )
    metrics = world_metrics | actor_metrics | critic_metrics | multiplier_metrics
    # Slow copies and moments are not looked at: what is wrong with them shows in the networks.
    networks = (new.world, new.actor, new.critics, new.multipliers)
    sound = optimizer.finite(metrics, new.scales, new.entropy_weight, new.memory, networks)
    kept = eqx.tree_at(lambda s: s.dropped, state, state.dropped + 1)
    state = jax.tree.map(lambda fresh, old: jnp.where(sound, fresh, old), new, kept)
    return state, metrics | {"learn/dropped": (~sound).astype(jnp.float32)}


def improve_world(
    settings: Settings, state: AgentState, batch: Batch, key: Key[Array, ""]
) -> tuple[AgentState, Latent, Metrics]:
    """One step of the world model; the posterior states of the batch start the dreams."""
    lose = jax.value_and_grad(world_model.loss, has_aux=True)
    (_, (latents, kl_scale, metrics)), grads = lose(
        state.world,
        settings.world,
        batch,
        state.kl_scale,
        key,
        jnp.dtype(settings.precision),
        settings.unroll,
    )
    step = optimizer.step(settings.optimizer, state.world, grads, state.optimizers.world)
    new = eqx.tree_at(
        lambda s: (s.world, s.optimizers.world, s.kl_scale),
        state,
        (step.params, step.state, kl_scale),
    )
    starts = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), latents)
    return new, starts, metrics | {"world/gradient": step.norm}


def improve_actor(
    settings: Settings,
    state: AgentState,
    starts: Latent,
    skills: Skills,
    key: Key[Array, ""],
) -> tuple[AgentState, Lived, Metrics]:
    """Dream with the actor and climb J through the dream."""
    lose = jax.value_and_grad(partial(actor_loss, settings, state), has_aux=True)
    (loss, lived), grads = lose(state.actor, starts, skills, key)
    step = optimizer.step(settings.optimizer, state.actor, grads, state.optimizers.actor)
    target = settings.behavior.entropy_target
    little, much = below(lived.entropy, target), above(lived.entropy, target)
    weight = adjust(state.entropy_weight, little, much, ENTROPY_FLOOR, ENTROPY_CEILING)
    new = eqx.tree_at(
        lambda s: (s.actor, s.optimizers.actor, s.entropy_weight, s.scales),
        state,
        (step.params, step.state, weight, lived.scales),
    )
    metrics = lived.verdict.metrics | {
        "actor/loss": loss,
        "actor/gradient": step.norm,
        "actor/entropy": lived.entropy.mean(),
        "actor/entropy_weight": weight.mean(),
    }
    metrics |= {f"dream/{name}": value.mean() for name, value in lived.view.returns.items()}
    metrics |= {f"scale/{name}": value for name, value in lived.scales.items()}
    metrics |= {f"lambda/{name}": value.mean() for name, value in lived.view.levels.items()}
    return new, lived, metrics


def actor_loss(
    settings: Settings,
    state: AgentState,
    actor: Actor,
    starts: Latent,
    skills: Skills,
    key: Key[Array, ""],
) -> tuple[Float[Array, ""], Lived]:
    """-J - entropy, averaged over the dream; and what was dreamt."""
    behavior, method = settings.behavior, settings.method
    dream = dreamt(settings, state.world, actor, starts, skills, key)
    felt = method.feel(dream, skills, state.memory)
    slow = critic.values(state.slow, method.signals, dream.flat, skills.z)
    returns = critic.returns(behavior, method.signals, felt, slow)
    scales = {name: running(state.scales[name], returns[name]) for name in state.scales}
    scales = jax.lax.stop_gradient(scales)
    flat = jax.lax.stop_gradient(dream.flat[:-1])
    view = View(
        returns=returns,
        slow={name: value[:-1] for name, value in slow.items()},
        levels=multipliers.levels(state.multipliers, method.constraints, flat, skills.z),
        scales=scales,
        skills=skills,
        progress=state.updates / settings.total_updates,
    )
    verdict = method.judge(view, state.memory)
    entropy = normalised_entropy(dream.std, behavior.min_std, behavior.max_std)
    bonus = (entropy * state.entropy_weight[None, None]).sum(-1)
    weight = along(settings)[:, None]
    loss = -(weight * (verdict.objective + bonus)).mean()
    lived = Lived(
        flat=flat, view=view, verdict=verdict, entropy=entropy.mean((0, 1)), scales=scales
    )
    return loss, jax.lax.stop_gradient(lived)


def dreamt(
    settings: Settings,
    world: World,
    actor: Actor,
    starts: Latent,
    skills: Skills,
    key: Key[Array, ""],
) -> Dream:
    """H steps from every start, each with its own skill."""
    skill_part = actor.skill_part(skills.z.astype(jnp.dtype(settings.precision)))

    def policy(flat: Array, noise: Array) -> tuple[Array, Array]:
        mean, std = actor(flat, skill_part)
        return clipped(mean + std * noise), std

    return imagine(world, policy, starts, settings.behavior.horizon, key, settings.unroll)


def improve_critics(
    settings: Settings, state: AgentState, lived: Lived, skills: Skills
) -> tuple[AgentState, Metrics]:
    """V, psi, C towards the returns of the dream."""
    lose = jax.value_and_grad(critic.loss, has_aux=True)
    (_, metrics), grads = lose(
        state.critics,
        settings.method.signals,
        lived.flat,
        skills.z,
        lived.view.returns,
        along(settings),
    )
    step = optimizer.step(settings.optimizer, state.critics, grads, state.optimizers.critics)
    new = eqx.tree_at(lambda s: (s.critics, s.optimizers.critics), state, (step.params, step.state))
    return new, metrics | {"critic/gradient": step.norm}


def improve_multipliers(
    settings: Settings, state: AgentState, lived: Lived, skills: Skills
) -> tuple[AgentState, Metrics]:
    """lambda_skill, lambda_safe towards 'violated?'."""
    loss, grads = jax.value_and_grad(multipliers.loss)(
        state.multipliers,
        settings.method.constraints,
        lived.flat,
        skills.z,
        lived.verdict.violated,
        along(settings),
    )
    step = optimizer.step(
        settings.optimizer, state.multipliers, grads, state.optimizers.multipliers
    )
    new = eqx.tree_at(
        lambda s: (s.multipliers, s.optimizers.multipliers), state, (step.params, step.state)
    )
    return new, {"lambda/loss": loss}


def along(settings: Settings) -> Float[Array, " H"]:
    """How much step t of a dream counts: gamma^t."""
    return settings.behavior.discount ** jnp.arange(settings.behavior.horizon, dtype=jnp.float32)
