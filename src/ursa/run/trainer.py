"""Trainer: a run that can be stepped, saved and continued. One column = one control step of all.

act on row t  ->  learn from row t (the device works)  ->  robots step to row t + 1 (the host)

With few robots an update comes every so many columns only. The rows between wait on the host and
go into replay and repertoire together, just before the row that brings the update.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
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
from ursa.run.learner import Learner, absorb, advance, choose, metric_names, mind, newborn
from ursa.run.plan import Plan, build
from ursa.run.trouble import Trouble
from ursa.types import Row


@dataclass(frozen=True)
class Programs:
    """The compiled side of a run, mapped over seeds."""

    plan: Plan
    choose: Any
    absorb: Any
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
        # What acting reads of a learner, flat as long as that is the learner: Python is slow at it.
        self._flat: tuple[Any, list[Any], Any] = (None, [], None)
        self.waiting: list[Row] = []  # of the columns since the last that learnt
        self.column = 0
        self.updates = 0
        self.trouble = Trouble.none(config.seeds)

    @property
    def steps(self) -> int:
        """Control steps of a seed so far."""
        return self.column * self.config.train.robots

    def turn(self, meanwhile: Callable[[], None] = lambda: None) -> tuple[Any, Any]:
        """One column: act, learn, step. Returns the outcome and the (unfetched) metrics.

        `meanwhile` is done by the host while the device acts.
        """
        row = self.collector.row
        chosen = self._act(row)
        meanwhile()
        action = np.asarray(chosen, float).reshape(self.arena.count, -1)
        metrics = self._learn(row)
        outcome = self.collector.step(action)
        self.column += 1
        return outcome, metrics

    def _act(self, row: Row) -> Any:
        """What all robots do next, not fetched."""
        if self.column < self.plan.prefill:
            return self.collector.random(self.column)
        # Nobody has a skill yet when the random actions end.
        renew = self.collector.renew(self.column) | (self.column == self.plan.prefill)
        if self._flat[0] is not self.learner:
            self._flat = self.learner, *jax.tree.flatten(mind(self.learner))
        _, leaves, structure = self._flat
        self.carry, self.z, chosen = self.programs.choose(
            structure,
            leaves,
            self.carry,
            self.z,
            row.observation,
            row.first,
            renew,
            np.int32(self.column),
        )
        return chosen

    def _learn(self, row: Row) -> Any:
        """Wait, or take in what has waited and this row, then make the updates that are due."""
        if self.column % self.plan.stride:
            self.waiting.append(row)
            return None
        column, count = np.int32(self.column), self.plan.updates_at(self.column)
        learner = self.learner
        if self.waiting:
            oldest = np.int32(self.column - len(self.waiting))
            rows = gathered(self.waiting)
            law, ring = self.programs.absorb(learner.law, learner.ring, rows, oldest)
            learner = Learner(learner.agent, law, ring, learner.key)
            self.waiting = []
        self.learner, metrics = self.programs.advance(
            count, learner, row, column, np.int32(self.updates)
        )
        self.updates += count
        return metrics if count else None

    def tree(self) -> dict[str, Any]:
        """What a checkpoint holds; replay and waiting rows are found again among its rows."""
        waiting = {"waiting": np.asarray(len(self.waiting))} if self.plan.stride > 1 else {}
        return waiting | {
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
        learnt = int(tree["column"]) - int(tree.get("waiting", 0))
        self.waiting = []
        ring = replay.rebuild(self.learner.ring, _parted(rows, learnt, self.waiting))
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

        def chosen(structure: Any, leaves: list[Any], *rest: Any) -> Any:
            whole = jax.tree.unflatten(structure, leaves)
            return jax.vmap(partial(choose, plan), in_axes=(0, 0, 0, 0, 0, 0, None))(whole, *rest)

        absorbed = jax.vmap(partial(absorb, plan), in_axes=(0, 0, 0, None))
        _KNOWN[plan.config] = Programs(
            plan=plan,
            choose=jax.jit(chosen, static_argnums=0, donate_argnums=(2, 3)),
            absorb=jax.jit(absorbed, donate_argnums=(0, 1)),
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


def gathered(rows: list[Row]) -> Row:
    """Rows of all seeds as one, the axis of time after that of seeds."""
    names = [field.name for field in fields(Row)]
    return Row(**{name: np.stack([getattr(it, name) for it in rows], axis=1) for name in names})


def _parted(
    chunks: Iterable[tuple[int, Row]], column: int, later: list[Row]
) -> Iterator[tuple[int, Row]]:
    """Chunks of rows up to a column; the rows from there on are put into `later`, one by one."""
    for first, rows in chunks:
        count, cut = len(rows.reward), max(0, column - first)
        if cut:
            yield first, jax.tree.map(lambda leaf, end=cut: leaf[:end], rows)
        later += [jax.tree.map(lambda leaf, at=at: leaf[at], rows) for at in range(cut, count)]
