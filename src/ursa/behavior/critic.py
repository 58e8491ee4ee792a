"""Critics: ONE implementation for V, psi, C and whatever else a method sums over time.

A critic is a signal, its lambda-return, a network that predicts it and a slow copy that
bootstraps. The critics of an agent are towers: evaluated together, learnt together, never mixed.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ursa.behavior.returns import lambda_returns
from ursa.config import BehaviorConfig
from ursa.nn.distributions import symexp, symlog
from ursa.nn.layers import Towers, towers

Values = dict[str, Float[Array, "_H N _W"]]  # each as wide as its signal; H or H + 1 states long


@dataclass(frozen=True)
class Signal:
    """Something that is summed along a dream."""

    name: str
    width: int
    averaged: bool = False  # learnt as (1 - gamma) sum: a discounted average, in units of x
    scaled: bool = False  # its return's spread is tracked, to divide advantages by


def critics(
    rng: np.random.Generator,
    config: BehaviorConfig,
    signals: tuple[Signal, ...],
    flat: int,
    skill_size: int,
) -> Towers:
    """Fresh networks, one tower a signal.

    They begin by saying zero: one step adds (1 - gamma) of a signal to an average, which the
    noise of a random output layer would drown for hundreds of updates.
    """
    widths = tuple(signal.width for signal in signals)
    return towers(rng, flat, widths, config.units, config.layers, side=skill_size, scale=0.0)


def values(
    network: Towers,
    signals: tuple[Signal, ...],
    flat: Float[Array, "H N F"],
    z: Float[Array, "N D"],
) -> Values:
    """What the critics predict, in natural units. Sums are kept in symlog inside the network."""
    out = network(flat, z)
    kept = {s.name: out[k, ..., : s.width] for k, s in enumerate(signals)}
    return {s.name: kept[s.name] if s.averaged else symexp(kept[s.name]) for s in signals}


def returns(
    config: BehaviorConfig, signals: tuple[Signal, ...], felt: Values, slow: Values
) -> Values:
    """Lambda-returns of what was felt, bootstrapped by the slow copies (H + 1 states)."""
    gamma = config.discount
    return {
        s.name: lambda_returns(
            felt[s.name],
            slow[s.name],
            gamma,
            config.return_lambda,
            share=1 - gamma if s.averaged else 1.0,
        )
        for s in signals
    }


def loss(
    network: Towers,
    signals: tuple[Signal, ...],
    flat: Float[Array, "H N F"],
    z: Float[Array, "N D"],
    targets: Values,
    weight: Float[Array, " H"],
) -> tuple[Float[Array, ""], dict[str, Array]]:
    """Squared error against the returns (in symlog for sums), weighted along the dream."""
    out = network(flat, z)
    metrics = {}
    for k, s in enumerate(signals):
        wanted = targets[s.name] if s.averaged else symlog(targets[s.name])
        error = jnp.square(out[k, ..., : s.width] - wanted).sum(-1)
        metrics[f"critic/{s.name}_loss"] = (weight[:, None] * error).mean()
    return sum(metrics.values(), jnp.zeros(())), metrics
