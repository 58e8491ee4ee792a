"""Student: the learner of one robot, whose rows come from a log instead of a simulator.

The functions that learn are those of lock-step training, compiled once for one seed and one robot.
A student advances in rounds: some rows, then some updates. What it becomes is a function of its
config and of the rounds; where the rounds come from is the affair of `rounds.py`.
"""

import logging
from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ursa import replay
from ursa.config import Config, alone
from ursa.env.arena import arena_of
from ursa.errors import UserError
from ursa.log import rows as reading
from ursa.run.learner import FRESH, metric_names, replaced, stream, update
from ursa.run.plan import Plan, plan
from ursa.run.programs import newborns, over_seeds, programs
from ursa.run.publish import unsound
from ursa.run.trouble import Trouble
from ursa.types import Row

Array = np.ndarray
DROPPED = "learn/dropped"
_NAMES: dict[Plan, list[str]] = {}
log = logging.getLogger(__name__)


class Student:
    """Everything that is learnt on a robot, in memory."""

    def __init__(self, config: Config) -> None:
        self.config = alone(config)
        place = arena_of(self.config, 1)
        made = plan(self.config, place)
        place.close()
        self.programs = programs(made)
        self.plan = self.programs.plan
        self.learner = newborns(self.plan)
        if self.plan not in _NAMES:  # finding them traces an update: once for each config
            _NAMES[self.plan] = metric_names(self.plan, self.learner)
        self.names = _NAMES[self.plan]
        self.column = 0  # rows learnt from
        self.seen = 0  # steps of the log before this number were looked at
        self.updates = 0
        self.rounds = 0
        self.trouble = Trouble.none(1)
        self.mended = 0  # times that the skill corridor was put back
        self._good = self._held()

    def round(self, rows: Row | None, seen: int, updates: int) -> Float[Array, "updates M"]:
        """Some rows, then some updates; returns the metrics of each, in the order of `names`."""
        told = []
        for index in range(reading.count(rows)):
            assert rows is not None
            at = jnp.asarray(self.column, jnp.int32)
            self.learner, _ = self.programs.advance(
                0, self.learner, reading.single(rows, index), at, jnp.asarray(0, jnp.int32)
            )
            self.column += 1
        for _ in range(updates):
            self.learner, metrics = updating(self.plan)(
                self.learner, jnp.asarray(self.updates, jnp.int32)
            )
            self.updates += 1
            told.append(metrics)
        self.seen = seen
        self.rounds += 1
        fetched = jax.device_get(told)
        found = np.array([[float(it[name][0]) for name in self.names] for it in fetched])
        found = found.reshape(updates, len(self.names))
        self._watch(found[:, self.names.index(DROPPED)])
        return found

    def rest(self) -> bool:
        """A round without rows and updates: what is sound now is what a roll-back goes back to.

        False if it is not sound, or about to be rolled back: then it is no checkpoint either.
        """
        self.rounds += 1
        held = self._held()
        if self.trouble.pending() or unsound(held[0]) or _spoilt(held[1]):
            return False
        self._good = held
        return True

    def tree(self) -> dict[str, Any]:
        """What a checkpoint holds; the replay is rebuilt from the log."""
        counts = ("column", "seen", "updates", "rounds", "mended")
        return {
            "learner": eqx.tree_at(lambda it: it.ring, self.learner, None),
            "trouble": vars(self.trouble),
            **{name: np.asarray(getattr(self, name)) for name in counts},
        }

    def restore(self, tree: dict[str, Any], rows: Any) -> None:
        """Continue from a checkpoint's tree and the rows before it, (number of the first, rows)."""
        ring = replay.rebuild(self.learner.ring, rows)
        self.learner = eqx.tree_at(
            lambda it: it.ring, tree["learner"], ring, is_leaf=lambda leaf: leaf is None
        )
        self.seen, self.updates = int(tree["seen"]), int(tree["updates"])
        self.rounds, self.mended = int(tree["rounds"]), int(tree["mended"])
        self.column = int(np.asarray(ring.written)[0])
        self.trouble = Trouble(**tree["trouble"])
        self._good = self._held()

    def _watch(self, dropped: Float[Array, " updates"]) -> None:
        """Count failed updates; put back what stays broken, in memory: the same in every life."""
        patience = self.config.train.patience
        self.trouble = self.trouble.after(dropped[:, None], 1)
        if self.trouble.due(patience)[0]:
            self.trouble = self.trouble.rolled(0)
            count = jnp.asarray(int(self.trouble.rollbacks[0]), jnp.int32)
            agent = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), self._good[0])
            key = stream(self.learner.key[0], FRESH, count)
            self.learner = replaced(self.learner, 0, agent, key)
            log.warning("row %d: updates are not finite; the agent is put back", self.column)
        if self.trouble.hopeless(patience):
            raise UserError(
                f"row {self.column}: updates are not finite, and going back did not help; the log "
                "is whole. Start again with a lower --optimizer.learning-rate, and look at the "
                "rewards of your task"
            )
        if bool(_has_nan(self.learner.law)):
            law = jax.tree.map(jnp.asarray, self._good[1])
            self.learner = eqx.tree_at(lambda it: it.law, self.learner, law)
            self.mended += 1
            log.warning("row %d: the repertoire was not finite; it is put back", self.column)

    def _held(self) -> tuple[Any, Any]:
        """Agent and skill corridor on the host: the device's own are given away to the programs."""
        held = jax.device_get((self.learner.agent, self.learner.law))
        return jax.tree.map(np.array, held)


@lru_cache(maxsize=4)
def updating(plan: Plan) -> Any:
    """The program of one update of the one seed."""
    single = over_seeds(plan.config.seeds, partial(update, plan), (0, None))
    return jax.jit(single, donate_argnums=0)


def warm(student: Student) -> None:
    """Compile what a round needs, on a learner that is thrown away."""
    sizes, zero = student.plan.sizes, jnp.zeros((), jnp.int32)
    spare = newborns(student.plan)
    row = Row(
        **{name: np.zeros((1, 1, 1, wide), np.float32) for name, wide in vars(sizes).items()},
        **{name: np.zeros((1, 1, 1), np.float32) for name in ("reward", "cost")},
        **{name: np.zeros((1, 1, 1), bool) for name in ("safe", "first")},
    )
    spare, _ = student.programs.advance(0, spare, row, zero, zero)
    jax.block_until_ready(updating(student.plan)(spare, zero))


def _spoilt(law: Any) -> bool:
    """Whether a number is not one; infinities mean "none" there."""
    leaves = (leaf for leaf in jax.tree.leaves(law) if np.issubdtype(leaf.dtype, np.floating))
    return any(bool(np.isnan(leaf).any()) for leaf in leaves)


@jax.jit
def _has_nan(law: Any) -> Any:
    leaves = [it for it in jax.tree.leaves(law) if jnp.issubdtype(it.dtype, jnp.floating)]
    return jnp.any(jnp.asarray([jnp.isnan(leaf).any() for leaf in leaves] or [False]))
