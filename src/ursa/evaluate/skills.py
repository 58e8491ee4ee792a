"""Skill sets: which skills of an agent are tried, and in which order."""

import jax
import numpy as np
from jaxtyping import Float

from ursa.errors import UserError
from ursa.evaluate.definitions import FEW, REST
from ursa.run.agent import Agent

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
        skills = agent.skills[::-1]  # one-hot rows in ascending order: the first skill comes last
        return np.resize(skills, (count, skills.shape[1])).astype(float)
    filled = min(int(repertoire.filled), count)
    rows = np.zeros((0, repertoire.skill.shape[1]))
    if filled:
        thinned = repertoire.thin(filled)
        rows = np.asarray(thinned.skill[:filled], float)
        few = min(FEW, filled)
        rows = led(rows, np.asarray(thinned.thin(few).skill[:few], float))
    drawn = repertoire.sample(jax.random.key(0), count)[: count - filled]
    return np.concatenate([rows, np.asarray(drawn, float)])


def led(rows: Float[Array, "m D"], first: Float[Array, "n D"]) -> Float[Array, "m D"]:
    """The same rows with those of `first` in front."""
    order: list[int] = []
    for row in first:
        order += [int(i) for i in np.flatnonzero((rows == row).all(axis=1)) if i not in order][:1]
    rest = [index for index in range(len(rows)) if index not in order]
    return rows[order + rest]


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
