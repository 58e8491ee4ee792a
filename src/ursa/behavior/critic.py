"""Critics: ONE implementation for V, psi, C and whatever else a method averages over time.

A critic is a signal, its lambda-return, a network that predicts it and a slow copy that
bootstraps. All learn discounted averages, (1 - gamma) sum, in the units of their signal: errors
add up, where those of a sum kept in symlog multiply and, with an actor that seeks them, explode.
The critics of an agent are towers: evaluated together, learnt together, never mixed.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ursa.behavior.returns import lambda_returns
from ursa.config import BehaviorConfig
from ursa.nn.layers import Towers, towers

Values = dict[str, Float[Array, "_H N _W"]]  # each as wide as its signal; H or H + 1 states long


@dataclass(frozen=True)
class Signal:
    """Something that is averaged along a dream."""

    name: str
    width: int
    scaled: bool = False  # its return's spread is tracked, to divide advantages by
    discount: float = 0.0  # its own; 0: that of the agent


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
    """What the critics predict."""
    out = network(flat, z)
    return {s.name: out[k, ..., : s.width] for k, s in enumerate(signals)}


def returns(
    config: BehaviorConfig, signals: tuple[Signal, ...], felt: Values, slow: Values
) -> Values:
    """Lambda-returns of what was felt, bootstrapped by the slow copies (H + 1 states)."""

    def of(s: Signal) -> Array:
        gamma = s.discount or config.discount
        return lambda_returns(
            felt[s.name], slow[s.name], gamma, config.return_lambda, share=1 - gamma
        )

    return {s.name: of(s) for s in signals}


def loss(
    network: Towers,
    signals: tuple[Signal, ...],
    flat: Float[Array, "H N F"],
    z: Float[Array, "N D"],
    targets: Values,
    weight: Float[Array, " H"],
) -> tuple[Float[Array, ""], dict[str, Array]]:
    """Squared error against the returns, weighted along the dream."""
    out = network(flat, z)
    metrics = {}
    for k, s in enumerate(signals):
        error = jnp.square(out[k, ..., : s.width] - targets[s.name]).sum(-1)
        metrics[f"critic/{s.name}_loss"] = (weight[:, None] * error).mean()
    return sum(metrics.values(), jnp.zeros(())), metrics
