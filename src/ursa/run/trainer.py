"""Trainer: a run that can be stepped, saved and continued. One column = one control step of all.

act on row t  ->  learn from row t (the device works)  ->  robots step to row t + 1 (the host)
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ursa import replay
from ursa.agent import act as acting
from ursa.agent.state import policy
from ursa.config import Config
from ursa.run.collect import Collector
from ursa.run.learner import Learner, advance, choose, metric_names, newborn
from ursa.run.plan import Plan, build
from ursa.run.trouble import Trouble


@dataclass(frozen=True)
class Programs:
    """The compiled side of a run, mapped over seeds."""

    plan: Plan
    choose: Any
    advance: Any
    law_metrics: Any


class Trainer:
    """Everything a run is, in memory."""

    def __init__(self, config: Config) -> None:
        self.config = config
        plan, self.arena = build(config)
        self.programs = programs(plan)
        self.plan = self.programs.plan
        train = config.train
        self.collector = Collector(
            self.arena, config.seeds, train.robots, config.skill.skill_period, config.seed
        )
        self.learner = newborns(self.plan)
        self.names = metric_names(self.plan, self.learner)
        size = self.plan.settings.method.skill_size
        self.z = jnp.zeros((config.seeds, train.robots, size))
        self.carry = jax.vmap(lambda it: acting.begin(policy(it.agent), train.robots))(self.learner)
        self.column = 0
        self.updates = 0
        self.trouble = Trouble.none(config.seeds)

    @property
    def steps(self) -> int:
        """Control steps of a seed so far."""
        return self.column * self.config.train.robots

    def turn(self) -> tuple[Any, Any]:
        """One column: act, learn, step. Returns the outcome and the (unfetched) metrics."""
        row, column = self.collector.row, jnp.asarray(self.column, jnp.int32)
        if self.column < self.plan.prefill:
            action = self.collector.random(self.column)
        else:
            # Nobody has a skill yet when the random actions end.
            renew = self.collector.renew(self.column) | (self.column == self.plan.prefill)
            self.carry, self.z, chosen = self.programs.choose(
                self.learner,
                self.carry,
                self.z,
                row.observation,
                row.first,
                renew,
                column,
            )
            action = np.asarray(chosen, float).reshape(self.arena.count, -1)
        count = self.plan.updates_at(self.column)
        self.learner, metrics = self.programs.advance(
            count, self.learner, row, column, jnp.asarray(self.updates, jnp.int32)
        )
        self.updates += count
        outcome = self.collector.step(action)
        self.column += 1
        return outcome, metrics if count else None

    def tree(self) -> dict[str, Any]:
        """What a checkpoint holds; the replay is rebuilt from its rows."""
        return {
            "learner": eqx.tree_at(lambda it: it.ring, self.learner, None),
            "carry": self.carry,
            "z": self.z,
            "collector": self.collector.save(),
            "column": np.asarray(self.column),
            "updates": np.asarray(self.updates),
            "trouble": vars(self.trouble),
        }

    def restore(self, tree: dict[str, Any], rows: Any) -> None:
        """Continue from a checkpoint's tree and the rows of its segments."""
        ring = replay.rebuild(self.learner.ring, rows)
        self.learner = eqx.tree_at(
            lambda it: it.ring, tree["learner"], ring, is_leaf=lambda leaf: leaf is None
        )
        self.carry, self.z = tree["carry"], tree["z"]
        self.collector.restore(tree["collector"])
        self.column, self.updates = int(tree["column"]), int(tree["updates"])
        self.trouble = Trouble(**tree["trouble"])

    def replace_agent(self, index: int, agent: Any, key: Any) -> None:
        """Give one seed another agent and another stream of chance; the others keep theirs."""

        def put(leaf: Any, new: Any) -> Any:
            return leaf.at[index].set(new)

        self.learner = eqx.tree_at(
            lambda it: (it.agent, it.key),
            self.learner,
            (
                jax.tree.map(put, self.learner.agent, agent),
                jax.random.wrap_key_data(
                    put(jax.random.key_data(self.learner.key), jax.random.key_data(key)),
                    impl=jax.random.key_impl(self.learner.key),
                ),
            ),
        )


_KNOWN: dict[Config, Programs] = {}
REMEMBERED = 4  # configs


def programs(plan: Plan) -> Programs:
    """The programs of a plan; a second run of the same config in a process compiles nothing."""
    if plan.config not in _KNOWN:
        while len(_KNOWN) >= REMEMBERED:
            del _KNOWN[next(iter(_KNOWN))]

        def mapped(count: int, learner: Any, row: Any, column: Any, updates: Any) -> Any:
            step = partial(advance, plan, count)
            return jax.vmap(step, in_axes=(0, 0, None, None))(learner, row, column, updates)

        chosen = jax.vmap(partial(choose, plan), in_axes=(0, 0, 0, 0, 0, 0, None))
        _KNOWN[plan.config] = Programs(
            plan=plan,
            choose=jax.jit(chosen, donate_argnums=(1, 2)),
            advance=jax.jit(mapped, static_argnums=0, donate_argnums=1),
            law_metrics=jax.jit(jax.vmap(lambda it: plan.law.metrics(it.law))),
        )
    return _KNOWN[plan.config]


def newborns(plan: Plan) -> Learner:
    """All seeds before their first step, side by side."""
    config = plan.config
    first = newborn(plan, config.seed)
    ring = jax.tree.map(lambda leaf: jnp.zeros((config.seeds, *leaf.shape), leaf.dtype), first.ring)
    rest = [newborn(plan, config.seed + index) for index in range(1, config.seeds)]
    lean = [eqx.tree_at(lambda it: it.ring, one, None) for one in (first, *rest)]
    stacked = jax.tree.map(lambda *leaves: _stacked(leaves), *lean)
    return eqx.tree_at(lambda it: it.ring, stacked, ring, is_leaf=lambda leaf: leaf is None)


def _stacked(leaves: tuple[Any, ...]) -> Any:
    """Through the host where it can be: one compilation per shape is what starting costs."""
    if jnp.issubdtype(leaves[0].dtype, jax.dtypes.prng_key):
        return jnp.stack(leaves)
    return jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves]))
