"""How far apart skills are: whitening, nearest neighbours, the threshold δ (App. B.2, B.3, B.5).

One ruler measures the spacing of stored skills, another the miss between what is achieved and what
was asked; a `Metric` says which. The default uses the same for both: distances whitened by the
empirical covariance S of the repertoire. The paper's Σ is h² S with Scott's factor h, so its
distances are ours divided by h; h cancels wherever both sides of a comparison use one metric.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

JITTER = 1e-6  # of the mean variance, added to every variance so that S can be factored
BLOCK = 64  # rows whose neighbours are sought together; 64 x 4096 distances stay in a CPU's cache

Matrix = Float[Array, "D D"]


class Spread(eqx.Module):
    """Where skills lie and how they scatter: mean and covariance S, the latter as two factors."""

    mean: Float[Array, " D"]
    factor: Float[Array, "D D"]  # L, lower triangular, L Lᵀ = S with jitter
    whitener: Float[Array, "D D"]  # L⁻¹
    regular: Bool[Array, ""]  # S without jitter is well conditioned


def unit_spread(size: int, dtype: jnp.dtype) -> Spread:
    """The spread assumed before anything was measured: mean 0, covariance I, not regular."""
    eye = jnp.asarray(np.eye(size, dtype=dtype))
    return Spread(jnp.asarray(np.zeros(size, dtype)), eye, eye, jnp.asarray(False))


def covariance(
    skill: Float[Array, "N D"], filled: Int[Array, ""]
) -> tuple[Float[Array, " D"], Float[Array, "D D"]]:
    """Mean and sample covariance (divided by n - 1) of the first `filled` rows."""
    used = (jnp.arange(skill.shape[0], dtype=jnp.int32) < filled)[:, None]
    count = filled.astype(skill.dtype)
    mean = jnp.sum(jnp.where(used, skill, 0.0), axis=0) / jnp.maximum(count, 1.0)
    away = jnp.where(used, skill - mean[None, :], 0.0)
    product = jnp.einsum("ni,nj->ij", away, away, precision="highest")
    return mean, product / jnp.maximum(count - 1.0, 1.0)


def spread(skill: Float[Array, "N D"], filled: Int[Array, ""], jitter: float = JITTER) -> Spread:
    """Measure the first `filled` rows; where nothing can be factored, fall back to S = I."""
    mean, sigma = covariance(skill, filled)
    size = skill.shape[1]
    eye = jnp.eye(size, dtype=skill.dtype)
    variance = jnp.trace(sigma) / size
    factor = jnp.linalg.cholesky(sigma + jitter * variance * eye)
    whitener = solve_triangular(factor, eye, lower=True)
    usable = jnp.all(jnp.isfinite(whitener))  # no rows, one row, equal rows: not finite
    regular = usable & (jnp.linalg.eigvalsh(sigma)[0] > JITTER * variance)
    return Spread(mean, jnp.where(usable, factor, eye), jnp.where(usable, whitener, eye), regular)


def measured(ruler: Float[Array, "D D"], offset: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
    """Offsets between skills in the units of a ruler; their length is the distance."""
    # No matrix product: its rounding depends on how many offsets there are, and R must come out
    # the same whether rows arrive one by one or together.
    return reduce(
        jnp.add,
        (
            jnp.broadcast_to(ruler[:, axis], offset.shape) * offset[..., axis, None]
            for axis in range(offset.shape[-1])
        ),
    )


def separation(
    ruler: Float[Array, "D D"], left: Float[Array, "*B D"], right: Float[Array, "*B D"]
) -> Float[Array, "*B"]:
    """Distance between skills under a ruler."""
    return jnp.linalg.norm(measured(ruler, left - right), axis=-1)


def squared(columns: Iterable[Array], point: Iterable[Array]) -> Float[Array, " N"]:
    """Squared distances of N points, given by columns, to one.

    Subtracted, then squared: the expanded form |a|² + |b|² - 2ab loses a sixth of a small
    distance in float32. Column by column: eight times faster on a CPU than summing short rows.
    """
    away = (column - value for column, value in zip(columns, point, strict=True))
    return reduce(jnp.add, map(jnp.square, away))


def first(mask: Bool[Array, " N"]) -> Int[Array, ""]:
    """The lowest index that is true; N if there is none."""
    # In float, exact up to 2^24 rows: XLA's CPU backend reduces integers several times slower.
    index = jnp.arange(mask.shape[0], dtype=jnp.float32)
    return jnp.min(jnp.where(mask, index, float(mask.shape[0]))).astype(jnp.int32)


def lowest(value: Float[Array, " N"]) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """The smallest value and the lowest index that has it (argmin, in two fast reductions)."""
    smallest = jnp.min(value)
    return smallest, jnp.minimum(first(value == smallest), value.shape[0] - 1)


def neighbour_of(
    columns: Float[Array, "D N"], used: Bool[Array, " N"], row: Int[Array, ""]
) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """Squared distance and index of the nearest other used row; infinite if there is none."""
    other = used & (jnp.arange(used.shape[0], dtype=jnp.int32) != row)
    return lowest(jnp.where(other, squared(columns, columns[:, row]), jnp.inf))


def neighbours(
    coordinate: Float[Array, "N D"], filled: Int[Array, ""]
) -> tuple[Float[Array, " N"], Int[Array, " N"]]:
    """Each row's squared distance to its nearest other row, and that row's index, lowest if tied.

    Infinite and 0 for rows not in use, and for a row that is alone.
    """
    columns = coordinate.T
    rows = jnp.arange(coordinate.shape[0], dtype=jnp.int32)
    used = rows < filled
    nearest, index = lax.map(lambda row: neighbour_of(columns, used, row), rows, batch_size=BLOCK)
    paired = used & jnp.isfinite(nearest)
    return jnp.where(paired, nearest, jnp.inf), jnp.where(paired, index, 0)


def scott(filled: Int[Array, ""], size: int, dtype: jnp.dtype) -> Float[Array, ""]:
    """Scott's factor h = n^(-1/(D+4)) of n skills in D dimensions."""
    return jnp.maximum(filled, 1).astype(dtype) ** (-1.0 / (size + 4))


def _whitening(whitener: Matrix) -> Matrix:
    return whitener


def _plain(whitener: Matrix) -> Matrix:
    return jnp.eye(whitener.shape[0], dtype=whitener.dtype)


def _same(scott: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.ones_like(scott)


def _shrunk(scott: Float[Array, ""]) -> Float[Array, ""]:
    return 1.0 / scott


@dataclass(frozen=True)
class Metric:
    """Which rulers measure what; chosen once, when a repertoire is made."""

    name: str
    spacing: Callable[[Matrix], Matrix]  # L⁻¹ -> ruler between stored skills
    miss: Callable[[Matrix], Matrix]  # L⁻¹ -> ruler between an achieved skill and z
    scale: Callable[[Float[Array, ""]], Float[Array, ""]]  # h -> unit of δ over that of the spacing


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("whitened", _whitening, _whitening, _same),
        Metric("euclidean", _plain, _plain, _same),
        # As printed: δ from distances under Σ = h² S, compared with a Euclidean norm.
        Metric("literal", _whitening, _plain, _shrunk),
    )
}


def threshold(
    nearest: Float[Array, " N"],
    filled: Int[Array, ""],
    size: int,
    distinct_skills: int,
    scale: Float[Array, ""] | float = 1.0,
) -> Float[Array, ""]:
    """δ: half the spacing that `distinct_skills` evenly spread skills would have; 0 below two rows.

    δ = (n / N_z)^(1/D) * mean nearest distance / 2, from squared distances, infinite where unused.
    """
    count = jnp.maximum(filled, 1).astype(nearest.dtype)
    mean = jnp.sum(jnp.where(jnp.isfinite(nearest), jnp.sqrt(nearest), 0.0)) / count
    return scale * (count / distinct_skills) ** (1.0 / size) * 0.5 * mean
