"""q: the density from which skills are drawn, Gaussian kernels on the rows of R (App. B.2, C).

q(z) = 1/n Σ_i N(z | z_i, Σ) with Σ = h² S and Scott's factor h = n^(-1/(D+4)).
Until R is ready, skills come from N(0, I).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ursa.skill.distance import BLOCK, measured, scott, squared
from ursa.skill.table import Table, ready

LOG_TWO_PI = 1.8378770664093453


class Entropy(NamedTuple):
    """How evenly q spreads, in nats."""

    estimate: Float[Array, ""]  # -1/n Σ log q(z_i)
    bound: Float[Array, ""]  # what the nearest-neighbour distances alone guarantee (App. C)


def draw(table: Table, key: PRNGKeyArray, count: int) -> Float[Array, "count D"]:
    """Skills from q; from N(0, I) until R is ready."""
    which, where = jax.random.split(key)
    shape = (count, table.skill.shape[1])
    index = jax.random.randint(which, (count,), 0, jnp.maximum(table.filled, 1))
    noise = jax.random.normal(where, shape, table.skill.dtype)
    return jnp.where(ready(table), around(table, index, noise), noise)


def around(
    table: Table, index: Int[Array, " m"], noise: Float[Array, "m D"]
) -> Float[Array, "m D"]:
    """z_i + chol(Σ) noise: standard normal noise turned into skills near stored ones."""
    return table.skill[index] + _bandwidth(table) * measured(table.spread.factor, noise)


def box(table: Table, key: PRNGKeyArray, count: int) -> Float[Array, "count D"]:
    """Skills uniform in the bounding box of R (ablation); from N(0, I) until R is ready."""
    chance, early = jax.random.split(key)
    shape = (count, table.skill.shape[1])
    used = table.used[:, None]
    low = jnp.min(jnp.where(used, table.skill, jnp.inf), axis=0)[None, :]
    high = jnp.max(jnp.where(used, table.skill, -jnp.inf), axis=0)[None, :]
    share = jax.random.uniform(chance, shape, table.skill.dtype)
    noise = jax.random.normal(early, shape, table.skill.dtype)
    return jnp.where(ready(table), low + share * (high - low), noise)


def log_density(table: Table, points: Float[Array, "m D"]) -> Float[Array, " m"]:
    """log q at the points, ready or not; R must not be empty."""
    columns = _standardised(table, table.skill).T

    def at(point: Float[Array, " D"]) -> Float[Array, ""]:
        return logsumexp(jnp.where(table.used, -0.5 * squared(columns, point), -jnp.inf))

    kernels = lax.map(at, _standardised(table, points), batch_size=BLOCK)
    return kernels - _log_normaliser(table)


def entropy(table: Table) -> Entropy:
    """The entropy of q, estimated at the rows of R, and its lower bound; both 0 for an empty R."""
    columns = _standardised(table, table.skill).T
    index = jnp.arange(columns.shape[1], dtype=jnp.int32)
    count = jnp.maximum(table.filled, 1).astype(columns.dtype)

    def at(row: Int[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        exponent = jnp.where(table.used, -0.5 * squared(columns, columns[:, row]), -jnp.inf)
        closest = jnp.max(jnp.where(index == row, -jnp.inf, exponent))
        return logsumexp(exponent), jnp.log1p((count - 1.0) * jnp.exp(closest))

    kernels, bounds = lax.map(at, index, batch_size=BLOCK)
    some = table.filled > 0

    def average(value: Float[Array, " N"]) -> Float[Array, ""]:
        mean = jnp.sum(jnp.where(table.used, value, 0.0)) / count
        return jnp.where(some, _log_normaliser(table) - mean, 0.0)

    return Entropy(average(kernels), average(bounds))


def _bandwidth(table: Table) -> Float[Array, ""]:
    return scott(table.filled, table.skill.shape[1], table.skill.dtype)


def _standardised(table: Table, skill: Float[Array, "m D"]) -> Float[Array, "m D"]:
    """Coordinates in which Σ is the identity, whatever the table's metric is."""
    offset = skill - table.spread.mean[None, :]
    return measured(table.spread.whitener, offset) / _bandwidth(table)


def _log_normaliser(table: Table) -> Float[Array, ""]:
    """log( n sqrt( (2π)^D det Σ ) )."""
    size = table.skill.shape[1]
    root = jnp.sum(jnp.log(jnp.diagonal(table.spread.factor)))
    count = jnp.log(jnp.maximum(table.filled, 1).astype(table.skill.dtype))
    return count + 0.5 * size * LOG_TWO_PI + root + size * jnp.log(_bandwidth(table))
