"""Snapshot: a policy and skills to try, as the named arrays of a hand-over, and back."""

from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ursa.agent.state import Policy, begin, policy
from ursa.errors import UserError
from ursa.live.student import Student
from ursa.run.learner import DRAW, Learner, stream
from ursa.run.plan import Plan
from ursa.shared import handover
from ursa.shared.mapped import Mapped
from ursa.shared.place import shared

Array = np.ndarray
DRAWS = 64  # skills in a snapshot: more than are tried before the next one comes
SKILLS = "skills"
PART = "policy"  # what names of the policy's arrays begin with


def memory(folder: Path) -> Path:
    """Where the snapshots of a run lie."""
    return shared(folder) / "policy"


def prepare(folder: Path, student: Student) -> None:
    """Memory for snapshots of this student, if there is none that fits; what is in it stays."""
    blank = {name: np.zeros_like(it) for name, it in arrays_of(student, 0).items()}
    wanted, path = len(handover.encode(blank)), memory(folder)
    try:
        found = Mapped(path, handover.KIND, handover.FORMAT)
    except UserError:  # missing or damaged
        handover.create(path, capacity=wanted)
        return
    fits = found.numbers[0] >= wanted
    found.close()
    if not fits:
        handover.create(path, capacity=wanted)


def arrays_of(student: Student, version: int) -> dict[str, Array]:
    """What the actor needs: the policy, skills drawn for it, and how much was learnt by then."""
    drawn = _drawing(student.plan)(student.learner, jnp.asarray(version % 2**31, jnp.int32))
    acting, skills = jax.device_get((policy(student.learner.agent), drawn))
    leaves = jax.tree_util.tree_leaves_with_path(acting)
    return {
        **{PART + jax.tree_util.keystr(at): np.asarray(leaf)[0] for at, leaf in leaves},
        SKILLS: np.asarray(skills)[0],
        "column": np.asarray(student.column, np.int64),
        "updates": np.asarray(student.updates, np.int64),
    }


def policy_like(plan: Plan) -> Policy:
    """A policy of the right shape, whatever it does."""
    return policy(begin(plan.settings, 0))


def opened(arrays: Mapping[str, Array], like: Policy) -> tuple[Policy, Array] | None:
    """The policy and the skills in a snapshot; None if it is not one of this agent.

    That every number is finite, the hand-over has seen to.
    """

    def leaf(at: Any, wanted: Any) -> Any:
        found = arrays[PART + jax.tree_util.keystr(at)]
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            raise KeyError(at)
        return jnp.array(found)

    try:
        found = jax.tree_util.tree_map_with_path(leaf, like)
        skills = np.asarray(arrays[SKILLS], np.float32)
    except KeyError:
        return None
    if skills.ndim != 2 or skills.shape[1] != like.actor.skill_in.shape[0] or not len(skills):
        return None
    return found, skills


@lru_cache(maxsize=4)
def _drawing(plan: Plan) -> Any:
    def drawn(learner: Learner, version: Any) -> Any:
        return plan.law.draw(learner.law, stream(learner.key, DRAW, version), DRAWS)

    return jax.jit(jax.vmap(partial(drawn), in_axes=(0, None)))
