"""R as a table: rows, their spread, each row's nearest neighbour, and δ (App. B.2, B.3, B.5).

Two cadences keep it: `rule.extend` inserts rows exactly while the whitening stands still, and
`refresh` measures everything again, every few hundred steps and whenever the feature map moved.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ursa.skill.distance import (
    Metric,
    Spread,
    measured,
    neighbours,
    scott,
    spread,
    threshold,
)

ENOUGH = 128  # rows that make a covariance worth trusting, and at least ten per dimension


class Table(eqx.Module):
    """N rows of which the first `filled` are in use; the rest hold zeros. All of it one value."""

    posture: Float[Array, "N P"]  # what phi read; kept so that R can be encoded again
    skill: Float[Array, "N D"]  # phi(posture) under the current feature map
    coordinate: Float[Array, "N D"]  # the skill under the spacing ruler, from the mean
    nearest: Float[Array, " N"]  # squared distance to the nearest other row; inf: there is none
    neighbour: Int[Array, " N"]  # that row's index, the lowest if tied; 0: there is none
    filled: Int[Array, ""]  # 0 <= filled <= N
    rejected: Int[Array, ""]  # rows that wanted in but were not finite or out of range
    spread: Spread  # mean and covariance of the skills at the last refresh
    delta: Float[Array, ""]  # δ at the last refresh, in units of `ruler`
    lower: Float[Array, " P"]  # postures outside lower .. upper are physically impossible
    upper: Float[Array, " P"]
    metric: Metric = eqx.field(static=True)
    distinct_skills: int = eqx.field(static=True)  # N_z

    @property
    def used(self) -> Bool[Array, " N"]:
        """Which rows are in use."""
        return jnp.arange(self.skill.shape[-2], dtype=jnp.int32) < self.filled

    @property
    def ruler(self) -> Float[Array, "D D"]:
        """What turns `achieved - z` into an offset whose length is compared with δ."""
        return self.metric.miss(self.spread.whitener)


T = TypeVar("T", bound=Table)


def ready(table: Table) -> Bool[Array, ""]:
    """Whether R can be sampled: enough rows (a full R always has), and a regular covariance."""
    size, dimensions = table.skill.shape
    return table.spread.regular & (table.filled >= min(max(ENOUGH, 10 * dimensions), size))


def placed(table: Table, skill: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
    """Coordinates in which neighbours are sought."""
    mean = jnp.broadcast_to(table.spread.mean, skill.shape)
    return measured(table.metric.spacing(table.spread.whitener), skill - mean)


def delta(table: Table, distinct_skills: int) -> Float[Array, ""]:
    """δ for N_z distinct skills, from the neighbour table as it stands now."""
    dimensions = table.skill.shape[1]
    scale = table.metric.scale(scott(table.filled, dimensions, table.skill.dtype))
    return threshold(table.nearest, table.filled, dimensions, distinct_skills, scale)


def refresh(table: T) -> T:
    """Measure spread, coordinates, neighbours and δ again."""
    table = replace(table, spread=spread(table.skill, table.filled))
    coordinate = jnp.where(table.used[:, None], placed(table, table.skill), 0.0)
    nearest, neighbour = neighbours(coordinate, table.filled)
    table = replace(table, coordinate=coordinate, nearest=nearest, neighbour=neighbour)
    return replace(table, delta=delta(table, table.distinct_skills))


def under(table: T, metric: Metric) -> T:
    """The same skills, measured by another metric."""
    return table if table.metric == metric else refresh(replace(table, metric=metric))


def reencode(table: T, phi: Callable[[Float[Array, "N P"]], Float[Array, "N D"]]) -> T:
    """Give every row the skill that `phi` sees in its posture now, and refresh."""
    skill = phi(table.posture).astype(table.skill.dtype)
    return refresh(replace(table, skill=jnp.where(table.used[:, None], skill, 0.0)))
