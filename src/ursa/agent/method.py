"""Method: what distinguishes URSA from its baselines, as functions handed to one agent.

A method says which signals its critics sum, what its actor wants of their returns, and which
constraints its multipliers watch. World model, dream, critics, safety and optimizers are shared.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from ursa.behavior.critic import Signal, Values
from ursa.world.imagine import Dream

FLOOR = 5e-3  # of the spread that advantages are divided by; 1 in units of an undiscounted sum


class Skills(eqx.Module):
    """What the skill corridor hands to the agent, as one plain value."""

    z: Float[Array, "N D"]  # a fresh skill for each dream
    delta: Float[Array, ""]  # how near its skill the robot must stay
    whiten: Float[Array, "E E"]  # features to the metric that delta is in
    phi: Callable[[Array], Array]  # posture -> feature; a `jax.tree_util.Partial`


class View(eqx.Module):
    """What a method may look at when it judges a dream; H steps, N dreams."""

    returns: Values  # lambda-returns G_0 .. G_{H-1}
    slow: Values  # slow critics in states 0 .. H-1: the baseline, with its gradient
    levels: dict[str, Float[Array, "H N"]]  # multipliers
    scales: dict[str, Float[Array, ""]]  # running spread of the returns that are scaled
    skills: Skills
    progress: Float[Array, ""]  # share of the run that is over


class Verdict(eqx.Module):
    """What the actor should maximise, and which constraints are broken where."""

    objective: Float[Array, "H N"]
    violated: dict[str, Bool[Array, "H N"]]
    metrics: dict[str, Float[Array, ""]]


@dataclass(frozen=True)
class Method:
    """Functions and sizes; hashable, static in every program."""

    name: str
    skill_size: int  # width of z
    signals: tuple[Signal, ...]
    constraints: tuple[str, ...]  # one multiplier each
    feel: Callable[[Dream, Skills, Any], Values]  # what each critic sums
    judge: Callable[[View, Any], Verdict]
    draw: Callable[[Key[Array, ""], int], Array] | None = None  # skills; None: from the repertoire
    memory: Callable[[int], Any] = lambda seed: ()  # the method's own state
    remember: Callable[[Any, View], Any] = lambda memory, view: memory  # the same, one update later


def advantage(view: View, name: str) -> Float[Array, "H N"]:
    """(G - V) / spread. The baseline keeps its gradient, as in DayDreamer."""
    gap = (view.returns[name] - view.slow[name])[..., 0]
    return gap / jnp.maximum(view.scales[name], FLOOR)
