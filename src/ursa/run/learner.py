"""Algorithm 2: fold the arriving row into replay and skills, then update. One program, all seeds.

Everything here is a pure function of `Learner`; the trainer maps it over seeds. Chance comes from
one root key per seed, a named stream and a counter, so a resumed run repeats it.
"""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from ursa import replay
from ursa.agent import act as acting
from ursa.agent.learn import learn
from ursa.agent.state import AgentState, Policy, begin, policy
from ursa.replay import Ring
from ursa.run.plan import Plan
from ursa.types import Row

ACT, DRAW, SAMPLE, SKILLS, LEARN, FIT, HOLD, FRESH = range(8)  # streams of chance


class Learner(eqx.Module):
    """Everything one seed has learnt and lived."""

    agent: AgentState
    law: Any  # state of the skill corridor
    ring: Ring
    key: Key[Array, "*seeds"]


class Mind(eqx.Module):
    """The part of a learner that acts."""

    policy: Policy
    law: Any
    key: Key[Array, "*seeds"]


def mind(learner: Learner) -> Mind:
    return Mind(policy(learner.agent), learner.law, learner.key)


def newborn(plan: Plan, seed: int) -> Learner:
    """One seed before its first step."""
    ring = replay.empty(plan.config.train.robots, plan.capacity, plan.sizes)
    key = jax.random.key(seed)
    return Learner(begin(plan.settings, seed), plan.law.begin(seed), ring, key)


def stream(key: Key[Array, ""], name: int, count: Int[Array, ""]) -> Key[Array, ""]:
    """The key of one draw."""
    return jax.random.fold_in(jax.random.fold_in(key, name), count)


def ingest(plan: Plan, law: Any, ring: Ring, row: Row, column: Int[Array, ""]) -> tuple[Any, Ring]:
    """One control step of n robots into repertoire and replay; a refresh when it is due."""
    law = plan.law.take(law, row)
    law = jax.lax.cond(column % plan.refresh == 0, plan.law.refresh, lambda law: law, law)
    return law, replay.add(ring, row)


def absorb(plan: Plan, law: Any, ring: Ring, rows: Row, first: Int[Array, ""]) -> tuple[Any, Ring]:
    """Rows stacked along time, one after the other; `first` is the oldest's column."""

    def one(state: tuple[Any, Ring], at: tuple[Int[Array, ""], Row]) -> tuple[Any, None]:
        return ingest(plan, *state, at[1], first + at[0]), None

    ages = jnp.arange(rows.reward.shape[0], dtype=jnp.int32)
    return jax.lax.scan(one, (law, ring), (ages, rows))[0]


def update(
    plan: Plan, learner: Learner, updates: Int[Array, ""]
) -> tuple[Learner, dict[str, Float[Array, ""]]]:
    """A batch, fresh skills, one update of the agent and, if due, one of the feature map."""
    train, settings = plan.config.train, plan.settings
    key = partial(stream, learner.key, count=updates)
    batch = replay.sample(learner.ring, key(SAMPLE), train.batch, train.length)
    skills = plan.law.skills(learner.law, key(SKILLS), train.batch * train.length)
    skills = plan.law.held(skills, batch, key(HOLD))
    agent, metrics = learn(settings, learner.agent, batch, skills, key(LEARN))
    law = plan.law.fit(learner.law, updates, key(FIT))
    return eqx.tree_at(lambda it: (it.agent, it.law), learner, (agent, law)), metrics


def advance(
    plan: Plan,
    count: int,
    learner: Learner,
    rows: Row,
    first: Int[Array, ""],
    updates: Int[Array, ""],
) -> tuple[Learner, Float[Array, " M"]]:
    """Rows from column `first` on, then `count` updates; mean metrics as in `metric_names`."""
    state = absorb(plan, learner.law, learner.ring, rows, first)
    learner = eqx.tree_at(lambda it: (it.law, it.ring), learner, state)
    if count == 0:
        return learner, jnp.zeros(0)

    def one(learner: Learner, at: Int[Array, ""]) -> tuple[Learner, Float[Array, " M"]]:
        learner, metrics = update(plan, learner, updates + at)
        return learner, jnp.stack([metrics[name] for name in sorted(metrics)])

    learner, metrics = jax.lax.scan(one, learner, jnp.arange(count, dtype=jnp.int32))
    return learner, metrics.mean(0)


def metric_names(plan: Plan, learner: Learner) -> list[str]:
    """Names of the columns that `advance` returns, found without running anything."""
    single = jax.eval_shape(lambda tree: jax.tree.map(lambda leaf: leaf[0], tree), learner)
    shapes = jax.eval_shape(partial(update, plan), single, jnp.zeros((), jnp.int32))
    return sorted(shapes[1])


def choose(
    plan: Plan,
    mind: Mind,
    carry: acting.Carry,
    z: Float[Array, "n D"],
    observation: Float[Array, "n O"],
    first: Bool[Array, " n"],
    renew: Bool[Array, " n"],
    column: Int[Array, ""],
) -> tuple[acting.Carry, Float[Array, "n D"], Float[Array, "n A"]]:
    """Algorithm 1 without the robot: new skills where it is time, then an action."""
    fresh = plan.law.draw(mind.law, stream(mind.key, DRAW, column), z.shape[0])
    z = jnp.where(renew[:, None], fresh, z)
    key = stream(mind.key, ACT, column)
    carry, action = acting.act(mind.policy, carry, observation, first, z, jnp.ones(()), key)
    return carry, z, action


def replaced(learners: Learner, index: int, agent: AgentState, key: Key[Array, ""]) -> Learner:
    """One seed gets another agent and another stream of chance; the others keep theirs."""

    def put(leaf: Array, new: Array) -> Array:
        return leaf.at[index].set(new)

    data, impl = jax.random.key_data(learners.key), jax.random.key_impl(learners.key)
    keys = jax.random.wrap_key_data(put(data, jax.random.key_data(key)), impl=impl)
    agents = jax.tree.map(put, learners.agent, agent)
    return eqx.tree_at(lambda it: (it.agent, it.key), learners, (agents, keys))
