"""Rollback: a seed whose updates keep failing gets the agent of the newest checkpoint."""

import logging
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ursa import checkpoint
from ursa.errors import UserError
from ursa.run.learner import FRESH, newborn, replaced, stream
from ursa.run.trainer import Trainer

Array = np.ndarray
DROPPED = "learn/dropped"  # the metric that tells
log = logging.getLogger(__name__)


def watch(trainer: Trainer, dropped: Float[Array, "columns seeds"], out: Path) -> None:
    """Count failed updates; give a seed that keeps failing the agent of the newest checkpoint."""
    config, plan = trainer.config, trainer.plan
    trainer.trouble = trainer.trouble.after(dropped, plan.updates_each)
    for index in np.flatnonzero(trainer.trouble.due(config.train.patience)).tolist():
        trainer.trouble = trainer.trouble.rolled(index)
        count = int(trainer.trouble.rollbacks[index])
        if checkpoint.stored(out / "checkpoints"):
            tree, _ = checkpoint.load(out / "checkpoints", trainer.tree())
            agent = jax.tree.map(lambda leaf, i=index: leaf[i], tree["learner"].agent)
            source = f"that of step {int(tree['column']) * config.train.robots}"
        else:
            agent = newborn(plan, config.seed + index).agent
            source = "a newborn one, no checkpoint exists yet"
        key = stream(trainer.learner.key[index], FRESH, jnp.asarray(count, jnp.int32))
        trainer.learner = replaced(trainer.learner, index, agent, key)
        log.warning(
            "step %d: updates of seed %d are not finite; its agent is replaced by %s",
            trainer.steps,
            config.seed + index,
            source,
        )
    if trainer.trouble.hopeless(config.train.patience):
        raise UserError(
            f"step {trainer.steps}: updates are not finite, and going back to the last checkpoint "
            f"did not help; what was saved stays in {out}. Start again with a lower "
            "--optimizer.learning-rate, and look at the rewards of your task"
        )
