"""Adam with global-norm clip and weight decay on matrices: one recipe for every network."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from ursa.config import OptimizerConfig


class Step(NamedTuple):
    """Parameters and optimizer state after one step, and the gradient's norm before clipping."""

    params: Any
    state: Any
    norm: Float[Array, ""]


def recipe(config: OptimizerConfig) -> optax.GradientTransformation:
    """Clip and Adam over one flat vector; decay and learning rate are applied in `step`."""
    return optax.chain(
        optax.clip_by_global_norm(config.clip), optax.scale_by_adam(eps=config.epsilon)
    )


def begin(config: OptimizerConfig, params: Any) -> Any:
    return recipe(config).init(params)


def step(config: OptimizerConfig, params: Any, grads: Any, state: Any) -> Step:
    """One update. Matrices are decayed before the step, as in DayDreamer."""
    with jax.numpy_dtype_promotion("standard"):  # optax raises a float to an integer power
        updates, state = recipe(config).update(grads, state)
    rate, decay = config.learning_rate, config.weight_decay

    def move(path: Any, p: Array, u: Array) -> Array:
        kept = p * (1 - rate * decay) if _is_matrix(path) else p
        return kept - rate * u.astype(p.dtype)

    moved = jax.tree_util.tree_map_with_path(move, params, updates)
    return Step(moved, state, optax.tree.norm(grads))


def _is_matrix(path: Any) -> bool:
    """By name, not by rank: seeds and towers add axes."""
    names = [str(getattr(part, "name", "")) for part in path]
    return any(name in ("weight", "weights", "out") or name.endswith("_in") for name in names)


def finite(*trees: Any) -> Array:
    """Whether every number in these trees is finite."""
    leaves = [leaf for tree in trees for leaf in jax.tree.leaves(tree)]
    rows = [leaf.ravel() for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
    if not rows:
        return jnp.array(True)
    # One long row: a reduction for each leaf takes twice as long to compile as the whole update.
    return jnp.isfinite(jnp.concatenate([row.astype(jnp.float32) for row in rows])).all()
