"""Programs: the compiled side of a run, mapped over seeds, and the learners it begins with."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ursa.checkpoint import is_key
from ursa.config import Config
from ursa.run.deputy import pack
from ursa.run.learner import Learner, advance, choose, mind, newborn
from ursa.run.plan import Plan


@dataclass(frozen=True)
class Parts:
    """How leaves make a learner, and which of them are its mind. Hashable."""

    learner: Any
    mind: Any
    which: tuple[int, ...]

    def acting(self, leaves: list[Any]) -> list[Any]:
        """Of a learner's leaves those that acting reads."""
        return [leaves[index] for index in self.which]


def parts_of(learner: Learner) -> Parts:
    """Found by the identity of leaves, so no two of them may be the same array."""
    leaves, structure = jax.tree.flatten(learner)
    read, structure_of_mind = jax.tree.flatten(mind(learner))
    places = {id(leaf): place for place, leaf in enumerate(leaves)}
    assert len(places) == len(leaves)
    return Parts(structure, structure_of_mind, tuple(places[id(leaf)] for leaf in read))


@dataclass(frozen=True)
class Programs:
    """What a run calls. Trees are handed over as lists of leaves.

    JAX takes a list as it comes; to take a tree of modules apart costs Python milliseconds.
    """

    plan: Plan
    choose: Any
    learn: Any
    advance: Any  # for who has a learner as a tree
    law_metrics: Any


_KNOWN: dict[Config, Programs] = {}
REMEMBERED = 4  # configs


def programs(plan: Plan) -> Programs:
    """The programs of a plan; a second run of the same config in a process compiles nothing."""
    if plan.config not in _KNOWN:
        while len(_KNOWN) >= REMEMBERED:
            del _KNOWN[next(iter(_KNOWN))]
        _KNOWN[plan.config] = assembled(plan)
    return _KNOWN[plan.config]


def assembled(plan: Plan) -> Programs:
    """Nothing is compiled yet: each of them when it is first called."""

    def mapped(count: int, learner: Any, rows: Any, first: Any, updates: Any) -> Any:
        step = over_seeds(plan.config.seeds, partial(advance, plan, count), (0, 0, None, None))
        return step(learner, rows, first, updates)

    def learnt(
        parts: Parts, count: int, leaves: list[Any], *rows: Any
    ) -> tuple[list[Any], Any, Any]:
        """A learner further on, and what a deputy will act by."""
        learner, metrics = mapped(count, jax.tree.unflatten(parts.learner, leaves), *rows)
        leaves = jax.tree.leaves(learner)
        packed = pack(parts.acting(leaves)) if plan.stride > 1 else None
        return leaves, metrics, packed

    def chosen(parts: Parts, leaves: list[Any], *rest: Any) -> Any:
        whole = jax.tree.unflatten(parts.mind, leaves)
        act = over_seeds(plan.config.seeds, partial(choose, plan), (0, 0, 0, 0, 0, 0, None))
        return act(whole, *rest)

    return Programs(
        plan=plan,
        choose=jax.jit(chosen, static_argnums=0, donate_argnums=(2, 3)),
        learn=jax.jit(learnt, static_argnums=(0, 1), donate_argnums=2),
        advance=jax.jit(mapped, static_argnums=0, donate_argnums=1),
        law_metrics=jax.jit(jax.vmap(lambda it: plan.law.metrics(it.law))),
    )


def over_seeds(seeds: int, function: Any, axes: tuple[int | None, ...]) -> Any:
    """The function of every seed at once; of a single one without the axis that seeds stand along.

    On a CPU that axis, of length one, makes XLA's fused sums of the way back a dozen times as slow.
    """
    if seeds > 1:
        return jax.vmap(function, in_axes=axes)

    def alone(*given: Any) -> Any:
        bare = [
            it if axis is None else jax.tree.map(lambda leaf: leaf.squeeze(0), it)
            for it, axis in zip(given, axes, strict=True)
        ]
        return jax.tree.map(lambda leaf: leaf[None], function(*bare))

    return alone


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
    if is_key(leaves[0]):
        return jnp.stack(leaves)
    return jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves]))
