"""Skill sets: which skills of an agent are tried, and in which order."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ursa.errors import UserError
from ursa.evaluate.definitions import FEW, REST
from ursa.run.agent import Agent
from ursa.skill.repertoire import Repertoire

Array = np.ndarray


def known(agent: Agent) -> int:
    """How many skills the agent has: discovered ones, or those its method was given."""
    return len(agent.skills)


def chosen(agent: Agent, count: int) -> Float[Array, "count D"]:
    """`count` skills to try; the first few of them are a fair choice of few.

    Of a repertoire those most spread out, the most spread out FEW first; drawn ones follow where
    it knows too few. A method with skills of its own repeats them in turn.
    """
    repertoire = agent.repertoire
    if repertoire is None:
        return np.resize(agent.skills, (count, agent.skills.shape[1])).astype(float)
    rows = agent.skills[numbers(agent, count)].astype(float)
    drawn = repertoire.sample(jax.random.key(0), count)[: count - len(rows)]
    return np.concatenate([rows, np.asarray(drawn, float)])


def numbers(agent: Agent, count: int) -> Int[Array, " m"]:
    """What the skills that `chosen` gives are called: `ursa watch --skill` takes these numbers.

    Rows of `Agent.skills`. A drawn skill has none: they are at the end, and left out here.
    """
    if agent.repertoire is None:
        return np.arange(count) % known(agent)
    filled = min(known(agent), count)
    if not filled:
        return np.zeros(0, int)
    thinned = _labelled(agent.repertoire).thin(filled)
    first, kept = _labels(thinned.thin(min(FEW, filled))), _labels(thinned)
    return np.concatenate([first, kept[~np.isin(kept, first)]])


def _labelled(repertoire: Repertoire) -> Repertoire:
    """The same with the number of each row in the place of its posture: thinning carries it along.

    Numbers are exact in float32, as `LARGEST` of the repertoire promises.
    """
    posture = repertoire.posture
    label = jnp.arange(len(posture), dtype=posture.dtype)[:, None]
    return replace(repertoire, posture=jnp.broadcast_to(label, posture.shape))


def _labels(repertoire: Repertoire) -> Int[Array, " n"]:
    return np.asarray(repertoire.posture[: int(repertoire.filled), 0]).astype(int)


def promised(agent: Agent, z: Float[Array, "m D"]) -> Float[Array, " m"]:
    """(1 - gamma) V(s0, z), reward per step, averaged over first latents: each waking is a draw.

    A shipped agent knows it of the skills of its repertoire, and of no others.
    """
    if agent.promised is not None:
        return _kept(agent.skills, agent.promised, z)
    place = agent.arena()
    rest = np.repeat(place.start().observation, REST * len(z), axis=0)
    place.close()
    values = agent.value(rest, np.repeat(z, REST, axis=0))
    return values.reshape(len(z), REST).mean(axis=1, dtype=float)


def _kept(
    skills: Float[Array, "n D"], promised: Float[Array, " n"], z: Float[Array, "m D"]
) -> Float[Array, " m"]:
    known = {row.tobytes(): value for row, value in zip(skills, promised, strict=True)}
    asked = [row.tobytes() for row in np.asarray(z, skills.dtype)]
    if strange := sum(row not in known for row in asked):
        raise UserError(
            f"{strange} of {len(z)} skills are not in the repertoire, and a shipped agent has no "
            "critics to value them; try fewer skills, or an agent of your own"
        )
    return np.array([known[row] for row in asked], float)
