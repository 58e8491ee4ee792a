"""A trial on one robot: it starts standing, holds a skill, and is stopped if it gets too unsafe.

It is a rollout that needs no truth, so that it can be made on hardware: safe is what the robot
takes for safe.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from ursa.adapt.ite import Trial
from ursa.agent.state import Policy
from ursa.env.arena import Arena
from ursa.evaluate.definitions import STEPS
from ursa.evaluate.pilot import Pilot
from ursa.evaluate.rollout import Choose

Array = np.ndarray

NEVER = 1.0  # unsafe share at which no trial is stopped


def player(
    arena: Arena, policy: Policy, skills: Float[Array, "n D"], unsafe_limit: float = NEVER
) -> Callable[[int], Trial]:
    """Trials of the rows of `skills` on the arena's one robot; its chance is the row's number."""

    def trial(row: int) -> Trial:
        return play(arena, Pilot(policy, skills[[row]], np.array([row])), unsafe_limit)

    return trial


def play(arena: Arena, choose: Choose, unsafe_limit: float = NEVER) -> Trial:
    """One robot does what `choose` says for as many steps as a rollout has.

    It is stopped when more than that share of all steps was unsafe. Where the physics diverges, the
    return is not a number.
    """
    assert arena.count == 1, "a trial is made by one robot"
    outcome = arena.start()
    rewards, unsafe = np.zeros(STEPS), np.zeros(STEPS, bool)
    for step in range(STEPS):
        outcome = arena.step(choose(outcome, step))
        rewards[step] = np.nan if arena.body.rescued[0] else outcome.reward[0]
        unsafe[step] = not outcome.safe[0]
        if unsafe.sum() > unsafe_limit * STEPS:
            lived = slice(step + 1)
            # As if it had gone on in the state for which it was stopped: where rewards are
            # negative, a trial must not gain by being cut short.
            rest = (STEPS - step - 1) * rewards[unsafe].mean()
            return Trial(float(rewards[lived].sum() + rest), float(unsafe[lived].mean()), True)
    return Trial(float(rewards.sum()), float(unsafe.mean()))
