"""The map before any trial: the skills to choose among, and what an undamaged robot gets of each.

The paper's "value function returns across 512 rollouts" can be read in two ways; both are here.
"""

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float, Int

from ursa.errors import UserError
from ursa.evaluate import skills as sets
from ursa.evaluate.crowd import Crowd
from ursa.evaluate.definitions import ROLLOUTS, STEPS
from ursa.evaluate.skills import chosen, known, promised
from ursa.run.agent import Agent

Array = np.ndarray


def candidates(agent: Agent, most: int = ROLLOUTS) -> Float[Array, "n D"]:
    """All skills the agent has, thinned to `most`; in the order in which `ursa evaluate` has them.

    A method that knows a single way to move has nothing to choose among and is refused.
    """
    own = known(agent)
    if agent.repertoire is None and own < 2:
        raise UserError(
            f"{agent.config.method} knows a single way to move: there is nothing to choose among; "
            "give a run of ursa or dominic"
        )
    if not own:
        raise UserError("this agent has discovered no skill yet; train it further")
    return chosen(agent, min(own, most))


def numbers(agent: Agent, most: int = ROLLOUTS) -> Int[Array, " n"]:
    """What the candidates are called, as `ursa watch --skill` takes it: rows of `Agent.skills`."""
    return sets.numbers(agent, min(known(agent), most))


def value(agent: Agent, skills: Float[Array, "n D"]) -> Float[Array, " n"]:
    """Returns as the value function promises them at rest: no step is made."""
    return STEPS * promised(agent, skills)


def measured(agent: Agent, skills: Float[Array, "n D"]) -> Float[Array, " n"]:
    """Returns of an undamaged robot in the world it was trained in, one rollout per skill.

    A skill in which the physics diverged is expected to return the least of all.
    """
    returns = Crowd(agent.arena, agent.policy).rollouts(skills, np.arange(len(skills))).ret
    finite = np.isfinite(returns)
    return np.where(finite, returns, returns[finite].min()) if finite.any() else returns


PRIORS: Mapping[str, Callable[[Agent, Array], Array]] = {"value": value, "measured": measured}
