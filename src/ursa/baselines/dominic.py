"""DOMiNiC on URSA's backbone: eight near-optimal policies that keep their distance.

Skill i >= 1 mixes reward and diversity by its own multiplier mu_i; skill 0 follows reward alone
and says what optimal is. Diversity pushes a skill away from the average features of its nearest
neighbour, less the further it is, and back beyond the distance l0 (a Van der Waals force).

Where the original rewards every step for features that lie in the direction of the push, here
(1-gamma)psi itself is pushed: the dream has its gradient. A reward that was fixed by the averages
would drive a skill on until they tell that it has arrived, past its place and its neighbours.
"""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from ursa.agent.method import Method, Verdict, View, advantage
from ursa.agent.ursa import feel
from ursa.behavior.critic import Signal
from ursa.config import BehaviorConfig, DominicConfig

SMALLEST = 1e-3  # of |v_0| when the multiplier's step is normalised by it
TOUCHING = 1e-6  # skills nearer than this do not know which way to go


class Memory(eqx.Module):
    """Running averages of every skill and the multipliers that mix its wishes."""

    psi: Float[Array, "K P"]  # average features
    value: Float[Array, " K"]  # average reward
    mu: Float[Array, " K"]  # high: reward, low: diversity
    moments: Any  # of mu's optimizer


def dominic(
    behavior: BehaviorConfig, config: DominicConfig, feature_size: int, tolerance: float
) -> Method:
    """`feature_size` is the width of phi: standardised postures."""
    return Method(
        name="dominic",
        skill_size=config.skills,
        signals=(
            Signal("value", 1, scaled=True),
            Signal("psi", feature_size),
            Signal("cost", 1, discount=behavior.constraint_discount),
        ),
        constraints=("safe",) if behavior.safety else (),
        feel=feel,
        judge=partial(judge, config, tolerance),
        draw=partial(draw, config.skills),
        memory=partial(memory, config, feature_size),
        remember=partial(remember, config),
    )


def draw(skills: int, key: Key[Array, ""], count: int) -> Float[Array, "n K"]:
    """Uniform over the skills, one-hot."""
    return jax.nn.one_hot(jax.random.randint(key, (count,), 0, skills), skills)


def memory(config: DominicConfig, feature_size: int, seed: int) -> Memory:
    """Averages begin slightly apart, or no skill would have a nearest neighbour."""
    rng = np.random.default_rng([seed, 0xD0])
    psi = jnp.asarray(0.01 * rng.standard_normal((config.skills, feature_size)), jnp.float32)
    mu = jnp.full(config.skills, config.multiplier_clip, jnp.float32)  # reward first
    moments = optax.scale_by_adam().init(mu)
    return Memory(psi, jnp.zeros(config.skills), mu, moments)


def nearest(psi: Float[Array, "K P"]) -> tuple[Float[Array, " K"], Int[Array, " K"]]:
    """Distance to, and index of, each skill's nearest neighbour; skill 0 is nobody's.

    Bound to reward it could not give way, and skills between it and a bound of what is safe or
    possible would be trapped.
    """
    gaps = jnp.square(psi[:, None] - psi[None]).sum(-1)
    alone = jnp.eye(psi.shape[0], dtype=bool).at[:, 0].set(True)
    gaps = jnp.where(alone, jnp.inf, gaps)
    return jnp.sqrt(gaps.min(-1)), gaps.argmin(-1)


def force(config: DominicConfig, length: Float[Array, "..."]) -> Float[Array, "..."]:
    """1 - (l / l0)^3: repulsion within l0, attraction beyond, bounded."""
    return jnp.clip(1 - (length / config.distance) ** 3, -1.0, 1.0)


def diversity(config: DominicConfig, view: View, known: Memory) -> Float[Array, "H N"]:
    """How far beyond its neighbour's average each psi is, times the force there.

    Lengths are along the line between the two averages: all states of a skill are to go the same
    way. The gradient is the force; the value has no meaning of its own.
    """
    z, (length, other) = view.skills.z, nearest(known.psi)
    line = (known.psi - known.psi[other]) / jnp.maximum(length, TOUCHING)[:, None]
    start = (known.psi[other] * line).sum(-1)
    along = jnp.einsum("hnp,np->hn", view.returns["psi"], z @ line) - (z @ start)[None]
    return jax.lax.stop_gradient(force(config, along)) * along


def share(config: DominicConfig, mu: Float[Array, " K"], progress: Float[Array, ""]) -> Array:
    """How much each skill listens to reward: all of it for skill 0 and during burn-in."""
    weight = jax.nn.sigmoid(mu).at[0].set(1.0)
    return jnp.where(progress < config.burn_in, jnp.ones_like(weight), weight)


def judge(config: DominicConfig, tolerance: float, view: View, known: Memory) -> Verdict:
    weight = (view.skills.z @ share(config, known.mu, view.progress))[None]
    wish = weight * advantage(view, "value") + (1 - weight) * diversity(config, view, known)
    cost = view.returns["cost"][..., 0]
    safe = view.levels.get("safe", jnp.zeros_like(cost))
    violated = cost > tolerance
    length, _ = nearest(known.psi)
    return Verdict(
        objective=(1 - safe) * wish - safe * cost,
        violated=dict.fromkeys(view.levels, violated),
        metrics={
            "safe/violated": violated.mean(),
            "safe/cost": cost.mean(),
            "dominic/distance": length[1:].mean(),
            "dominic/weight": jax.nn.sigmoid(known.mu[1:]).mean(),
            "dominic/value_worst": known.value[1:].min(),
            "dominic/value_best": known.value[0],
        },
    )


def remember(config: DominicConfig, known: Memory, view: View) -> Memory:
    """Averages move a little; mu falls where a skill is good enough, rises where it is not."""
    z, rate = view.skills.z, config.average_rate
    count = z.sum(0)

    def average(old: Array, now: Float[Array, "N W"]) -> Array:
        mean = jnp.einsum("nk,nw->kw", z, now) / jnp.maximum(count, 1.0)[:, None]
        return jnp.where(count[:, None] > 0, (1 - rate) * old + rate * mean, old)

    # At the end of a dream: it began where any other skill may have been.
    psi = average(known.psi, view.returns["psi"][-1])
    value = average(known.value[:, None], view.returns["value"][-1])[:, 0]
    gap = slack(config, value) / jnp.maximum(jnp.abs(value[0]), SMALLEST)
    with jax.numpy_dtype_promotion("standard"):  # optax raises a float to an integer power
        step, moments = optax.scale_by_adam().update(gap, known.moments)
    bound = config.multiplier_clip
    mu = jnp.clip(known.mu - config.multiplier_rate * jnp.asarray(step), -bound, bound)
    waiting = view.progress < config.burn_in
    mu = jnp.where(waiting, known.mu, mu)
    moments = jax.tree.map(lambda new, old: jnp.where(waiting, old, new), moments, known.moments)
    return Memory(psi, value, mu, moments)


def slack(config: DominicConfig, value: Float[Array, " K"]) -> Float[Array, " K"]:
    """How far each skill is above its bound: 0.9 of skill 0, also when that is negative."""
    bound = value[0] - (1 - config.optimality) * jnp.abs(value[0])
    return value - bound
