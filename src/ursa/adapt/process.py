"""A Gaussian process over finitely many places, around a map of what was expected (paper, D).

Exact, in double precision: a few trials are a matrix of a few rows.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

Array = np.ndarray

LENGTH = 0.1  # in units of the map's box
NOISE = 1e-3  # variance of what is seen, in units of the map's range


@dataclass(frozen=True)
class Belief:
    """What to expect at every place of a map."""

    mean: Float[Array, " n"]
    deviation: Float[Array, " n"]  # standard; 1 where nothing was seen


def posterior(
    place: Float[Array, "n D"],
    prior: Float[Array, " n"],
    tried: Int[Array, " k"],
    seen: Float[Array, " k"],
    *,
    length: float = LENGTH,
    noise: float = NOISE,
) -> Belief:
    """The belief after `seen` at the rows `tried` of the map; without any it is the prior's."""
    known = place[tried]
    covariance = matern(cdist(known, known), length) + noise * np.eye(len(tried))
    factor = np.linalg.cholesky(covariance)
    surprise = solve_triangular(factor, seen - prior[tried], lower=True)
    reach = solve_triangular(factor, matern(cdist(known, place), length), lower=True)
    variance = 1.0 - np.square(reach).sum(axis=0)
    # Rounding may leave a variance of -1e-16 where there is none.
    return Belief(prior + surprise @ reach, np.sqrt(np.maximum(variance, 0.0)))


def matern(distance: Float[Array, "*shape"], length: float = LENGTH) -> Float[Array, "*shape"]:
    """How much two places at a distance have to do with each other: Matern 5/2, variance 1."""
    scaled = np.sqrt(5.0) * distance / length
    return (1.0 + scaled + np.square(scaled) / 3.0) * np.exp(-scaled)
