"""A trial on one robot: it starts standing, holds a skill, and is stopped if it gets too unsafe.

It is a rollout that needs no truth, so that it can be made on hardware: safe is what the robot
takes for safe.
"""

import math
from collections.abc import Callable
from dataclasses import replace

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
REPEATS = 3  # of a rollout that somebody or something interrupted, on a robot


def player(
    arena: Arena,
    policy: Policy,
    skills: Float[Array, "n D"],
    unsafe_limit: float = NEVER,
    repeats: int = 0,
) -> Callable[[int], Trial]:
    """Trials of the rows of `skills` on the arena's one robot; its chance is the row's number."""

    def trial(row: int) -> Trial:
        def once() -> Trial:
            return play(arena, Pilot(policy, skills[[row]], np.array([row])), unsafe_limit)

        return persistent(once, repeats)

    return trial


def persistent(once: Callable[[], Trial], repeats: int) -> Trial:
    """A rollout, made again up to so many times until it returns a number; else not a number."""
    trial = once()
    for interruptions in range(1, repeats + 1):
        if math.isfinite(trial.ret):
            return trial
        trial = replace(once(), interruptions=interruptions)
    missed = bool(repeats) and not math.isfinite(trial.ret)
    return replace(trial, interruptions=repeats + 1) if missed else trial


def play(arena: Arena, choose: Choose, unsafe_limit: float = NEVER) -> Trial:
    """One robot does what `choose` says for as many steps as a rollout has.

    It is stopped when more than that share of all steps was unsafe. Where the physics diverges, or
    the robot is taken out of its hands, it ends and the return is not a number.
    """
    assert arena.count == 1, "a trial is made by one robot"
    outcome = arena.start()
    rewards, unsafe = np.zeros(STEPS), np.zeros(STEPS, bool)
    for step in range(STEPS):
        outcome = arena.step(choose(outcome, step))
        rewards[step] = outcome.reward[0]
        unsafe[step] = not outcome.safe[0]
        if arena.body.rescued[0]:
            return Trial(math.nan, float(unsafe[: step + 1].mean()))
        if unsafe.sum() > unsafe_limit * STEPS:
            lived = slice(step + 1)
            # As if it had gone on in the state for which it was stopped: where rewards are
            # negative, a trial must not gain by being cut short.
            rest = (STEPS - step - 1) * rewards[unsafe].mean()
            return Trial(float(rewards[lived].sum() + rest), float(unsafe[lived].mean()), True)
    return Trial(float(rewards.sum()), float(unsafe.mean()))
