"""Coverage: how much of the space of mean joint angles a set of behaviours fills.

A plane is spanned by the same joint of two legs (hip, upper or lower; six pairs of four legs: 18
planes). Each is cut into 20 x 20 cells over the angles that actions can ask for.
"""

from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int

from ursa.robot.spec import LEG_PARTS, RobotSpec

Array = np.ndarray
BINS = 20


def planes(spec: RobotSpec) -> list[tuple[int, int]]:
    """Pairs of joints, by index: the same part of two legs."""
    return [pair for part in LEG_PARTS for pair in combinations(spec.columns(part), 2)]


def cells(
    values: Float[Array, " m"], low: float, high: float, bins: int = BINS
) -> Int[Array, " m"]:
    """Which of the bins between low and high each value falls into; what lies outside, the last."""
    return np.clip(np.floor(bins * (values - low) / (high - low)), 0, bins - 1).astype(int)


def filled(
    angles: Float[Array, "m A"], spec: RobotSpec, bins: int = BINS
) -> Bool[Array, "planes bins bins"]:
    """Cells that at least one behaviour, a row of mean joint angles, lies in."""
    low, high = spec.of_joints("low"), spec.of_joints("high")
    pairs = planes(spec)
    found = np.zeros((len(pairs), bins, bins), bool)
    for plane, (one, other) in enumerate(pairs):
        along = cells(angles[:, one], low[one], high[one], bins)
        found[plane, along, cells(angles[:, other], low[other], high[other], bins)] = True
    return found


def coverage(angles: Float[Array, "m A"], spec: RobotSpec, bins: int = BINS) -> float:
    """Share of all cells that are filled; a robot without legs has no planes, and 0."""
    found = filled(angles, spec, bins)
    return float(found.mean()) if found.size else 0.0
