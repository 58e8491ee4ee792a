"""Trainer: a run that can be stepped, saved and continued. One column = one control step of all.

act on row t  ->  learn from row t (the device works)  ->  robots step to row t + 1 (the host)

An update is thousands of kernels, and whoever hands them to a device is kept busy by that, so a
thread of its own does it while the robots step.
With few robots an update comes every so many columns only: a round. The rows between wait on the
host and go into replay and repertoire together with the row that brings the update; and a deputy
acts on the host, so that robots do not wait for the learner (see `ursa.run.deputy`).
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ursa import replay
from ursa.agent import act as acting
from ursa.agent.state import policy
from ursa.config import Config
from ursa.env.arena import Outcome
from ursa.run.collect import Collector
from ursa.run.deputy import Deputy, packing
from ursa.run.learner import Learner, metric_names
from ursa.run.plan import build
from ursa.run.programs import newborns, parts_of, programs
from ursa.run.trouble import Trouble
from ursa.types import Row


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
        newborn = newborns(self.plan)
        self._hand = ThreadPoolExecutor(1, thread_name_prefix="learner")
        self._learning: Future[None] | None = None
        self._told: list[Any] = []  # metrics of the updates that nobody has asked for yet
        self._leaves, self._parts = jax.tree.leaves(newborn), parts_of(newborn)
        self.deputy = Deputy(self._mind()) if self.plan.stride > 1 else None
        self.names = metric_names(self.plan, newborn)
        size = self.plan.settings.method.skill_size
        self.z = self._near(jnp.zeros((config.seeds, train.robots, size)))
        begin = jax.vmap(lambda it: acting.begin(policy(it.agent), train.robots))
        self.carry = self._near(begin(newborn))
        self.waiting: list[Row] = []  # of the columns since the last that learnt
        self.column = 0
        self.updates = 0
        self.trouble = Trouble.none(config.seeds)

    @property
    def learner(self) -> Learner:
        """All seeds; put together when asked for, because programs take leaves."""
        self.settle()
        return jax.tree.unflatten(self._parts.learner, self._leaves)

    @learner.setter
    def learner(self, learner: Learner) -> None:
        self.settle()
        self._leaves = jax.tree.leaves(learner)
        if self.deputy is not None:
            self.deputy.receive(packing(self._mind()))

    def _mind(self) -> list[Any]:
        """What acting reads of the learner."""
        self.settle()
        return self._parts.acting(self._leaves)

    def _near(self, tree: Any) -> Any:
        """Where acting is done."""
        if self.deputy is None:
            return tree
        return jax.device_put(jax.device_get(tree), self.deputy.place)

    @property
    def steps(self) -> int:
        """Control steps of a seed so far."""
        return self.column * self.config.train.robots

    def settle(self) -> None:
        """Wait until all that was to be learnt is with the device, which may still work at it."""
        if self._learning is not None:
            self._learning.result()
            self._learning = None

    def told(self) -> list[Any]:
        """Metrics of every round with updates since this was last asked; (seeds, metrics) each."""
        self.settle()
        told, self._told = self._told, []
        return told

    def turn(self, meanwhile: Callable[[], None] = lambda: None) -> Outcome:
        """One column: act, learn, step. `meanwhile` is done while acting is computed."""
        row = self.collector.row
        chosen = self._act(row)
        meanwhile()
        action = np.asarray(chosen, float).reshape(self.arena.count, -1)
        self._learn(row)
        outcome = self.collector.step(action)
        self.column += 1
        return outcome

    def _act(self, row: Row) -> Any:
        """What all robots do next, not fetched."""
        begins = self.column == self.plan.prefill
        if self.deputy is not None and (begins or self.column % self.plan.stride == 0):
            self.settle()
            self.deputy.change()
        if self.column < self.plan.prefill:
            return self.collector.random(self.column)
        self.carry, self.z, chosen = self.programs.choose(
            self._parts,
            self._mind() if self.deputy is None else self.deputy.leaves,
            self.carry,
            self.z,
            row.observation,
            row.first,
            self.collector.renew(self.column) | begins,  # who begins has no skill
            np.int32(self.column),
        )
        return chosen

    def _learn(self, row: Row) -> None:
        """Wait, or take in what has waited and this row, then make the updates that are due."""
        if self.column % self.plan.stride:
            self.waiting.append(row)
            return
        rows, self.waiting = [*self.waiting, row], []
        count = self.plan.updates_at(self.column)
        first, updates = np.int32(self.column + 1 - len(rows)), np.int32(self.updates)
        self.settle()
        # Gathered here: a task may fill the arrays of its rows anew when the robots step.
        self._learning = self._hand.submit(self._advance, count, gathered(rows), first, updates)
        self.updates += count

    def _advance(self, count: int, rows: Row, *counted: np.int32) -> None:
        """In a thread: nobody else touches leaves, and what was told, until it has settled."""
        self._leaves, metrics, packed = self.programs.learn(
            self._parts, count, self._leaves, rows, *counted
        )
        if count:
            self._told.append(metrics)
        if self.deputy is not None:
            self.deputy.receive(packed)

    def tree(self) -> dict[str, Any]:
        """What a checkpoint holds; replay and waiting rows are found again among its rows."""
        few: dict[str, Any] = {}
        if self.deputy is not None:
            few = {"waiting": np.asarray(len(self.waiting)), "deputy": self.deputy.held}
        return few | {
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
        self.settle()
        if self.deputy is not None:
            self.deputy.receive(tree["deputy"])
            self.deputy.change()
        learnt = int(tree["column"]) - int(tree.get("waiting", 0))
        self.waiting = []
        ring = replay.rebuild(self.learner.ring, _parted(rows, learnt, self.waiting))
        self.learner = eqx.tree_at(
            lambda it: it.ring, tree["learner"], ring, is_leaf=lambda leaf: leaf is None
        )
        self.carry, self.z = self._near((tree["carry"], tree["z"]))
        self.collector.restore(tree["collector"])
        self.column, self.updates = int(tree["column"]), int(tree["updates"])
        self.trouble = Trouble(**tree["trouble"])


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
