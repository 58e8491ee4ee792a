"""Which row goes when one too many is there (paper, Algorithm 3), exactly and incrementally.

The printed rule removes the row with the smallest distance to its nearest neighbour. That minimum
is always attained twice, by the closest pair; of the two we remove the one whose second neighbour
is nearer, and on a further tie the newcomer, else the higher index. Then the smallest distance in
R never decreases while the whitening stands still.

Recomputing all neighbours costs N² distances a row. The neighbour table makes it a few times N:
the newcomer's own distances, two rows for the pair, and one for each orphan, a row that has just
lost its nearest neighbour. The table always equals a recomputation, ties included.
"""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ursa.skill.distance import first, lowest, neighbour_of, neighbours, squared
from ursa.skill.table import T, placed

NOWHERE = -1  # the slot of a row that did not get in


class Rows(NamedTuple):
    """What changes when a row comes in; the columns are the coordinates, turned for speed."""

    columns: Float[Array, "D N"]
    posture: Float[Array, "N P"]
    skill: Float[Array, "N D"]
    nearest: Float[Array, " N"]
    neighbour: Int[Array, " N"]
    filled: Int[Array, ""]


class Newcomer(NamedTuple):
    """A row that wants in."""

    point: Float[Array, " D"]
    posture: Float[Array, " P"]
    skill: Float[Array, " D"]
    admitted: Bool[Array, ""]


def extend(
    table: T,
    postures: Float[Array, "m P"],
    skills: Float[Array, "m D"],
    commit: Bool[Array, " m"],
) -> T:
    """Insert the rows whose flag is set, one after the other; the others change nothing."""
    return place(table, postures, skills, commit)[0]


def place(
    table: T,
    postures: Float[Array, "m P"],
    skills: Float[Array, "m D"],
    commit: Bool[Array, " m"],
) -> tuple[T, Int[Array, " m"]]:
    """`extend`, and where each row went at its turn: a slot, or NOWHERE."""
    points = placed(table, skills)
    possible = (
        jnp.all(postures >= table.lower[None, :], axis=1)  # false for NaN, too
        & jnp.all(postures <= table.upper[None, :], axis=1)
        & jnp.all(jnp.isfinite(postures), axis=1)
        & jnp.isfinite(jnp.sum(jnp.square(points), axis=1))  # a distance to it must exist
    )
    rows = Rows(
        table.coordinate.T,
        table.posture,
        table.skill,
        table.nearest,
        table.neighbour,
        table.filled,
    )
    rows, slots = lax.scan(_insert, rows, Newcomer(points, postures, skills, commit & possible))
    extended = replace(
        table,
        coordinate=rows.columns.T,
        posture=rows.posture,
        skill=rows.skill,
        nearest=rows.nearest,
        neighbour=rows.neighbour,
        filled=rows.filled,
        rejected=table.rejected + jnp.sum(commit & ~possible, dtype=jnp.int32),
    )
    return extended, slots


def thin(table: T, count: int) -> T:
    """The `count` rows left when the rule removes the others one by one, in their old order.

    Spread and δ stay those of the whole, so that its skills are still measured as they were.
    """
    size = table.skill.shape[0]
    columns = table.coordinate.T

    def remove(_: Int[Array, ""], state: tuple) -> tuple:
        nearest, neighbour, kept = state
        one, other, one_second, other_second = _pair(columns, kept, nearest, neighbour)
        drop = _crowded(one, one_second, other, other_second)
        kept = kept & (jnp.arange(size, dtype=jnp.int32) != drop)
        nearest = jnp.where(kept, nearest, jnp.inf)
        return *_repair(columns, kept, nearest, neighbour, kept & (neighbour == drop)), kept

    surplus = jnp.maximum(table.filled - count, 0)
    start = (table.nearest, table.neighbour, table.used)
    _, _, kept = lax.fori_loop(jnp.zeros_like(surplus), surplus, remove, start)
    filled = jnp.minimum(table.filled, count)
    index = jnp.nonzero(kept, size=count, fill_value=0)[0]
    used = (jnp.arange(count, dtype=jnp.int32) < filled)[:, None]
    posture, skill, coordinate = (
        jnp.where(used, rows[index], 0.0) for rows in (table.posture, table.skill, table.coordinate)
    )
    nearest, neighbour = neighbours(coordinate, filled)
    return replace(
        table,
        posture=posture,
        skill=skill,
        coordinate=coordinate,
        nearest=nearest,
        neighbour=neighbour,
        filled=filled,
    )


def _insert(rows: Rows, new: Newcomer) -> tuple[Rows, Int[Array, ""]]:
    columns, posture, skill, nearest, neighbour, filled = rows
    size = nearest.shape[0]
    index = jnp.arange(size, dtype=jnp.int32)
    used = index < filled
    distance = jnp.where(used, squared(columns, new.point), jnp.inf)
    closest, partner = lowest(distance)
    second, runner_up = lowest(jnp.where(index == partner, jnp.inf, distance))

    # The closest pair of R and the newcomer: either the newcomer and its partner ...
    drop_near = jnp.where(nearest[partner] < second, partner, size)
    # ... or two old rows, whose second neighbour may be the newcomer.
    one, other, one_second, other_second = _pair(columns, used, nearest, neighbour)
    drop_old = _crowded(
        one,
        jnp.minimum(one_second, distance[one]),
        other,
        jnp.minimum(other_second, distance[other]),
    )
    drop = jnp.where(closest <= nearest[one], drop_near, drop_old)

    full = filled == size
    slot = jnp.where(full, drop, filled)
    enters = new.admitted & (slot < size)
    slot = jnp.minimum(slot, size - 1)
    here = enters & (index == slot)
    orphan = enters & used & (neighbour == slot) & ~here
    # On equal distances the lower index is the neighbour, as an argmin would have it.
    nearer = (distance < nearest) | ((distance == nearest) & (slot < neighbour))
    nearer = enters & used & nearer
    # One select a table instead of a select and a write: XLA's CPU code is then vectorised.
    own, own_index = _without(slot, closest, partner, second, runner_up)
    nearest = jnp.where(here, own, jnp.where(nearer, distance, nearest))
    neighbour = jnp.where(here, own_index, jnp.where(nearer, slot, neighbour))

    columns = columns.at[:, slot].set(jnp.where(enters, new.point, columns[:, slot]))
    posture = posture.at[slot].set(jnp.where(enters, new.posture, posture[slot]))
    skill = skill.at[slot].set(jnp.where(enters, new.skill, skill[slot]))
    filled = filled + (enters & ~full).astype(jnp.int32)
    nearest, neighbour = _repair(columns, index < filled, nearest, neighbour, orphan)
    rows = Rows(columns, posture, skill, nearest, neighbour, filled)
    return rows, jnp.where(enters, slot, NOWHERE)


def _without(
    slot: Int[Array, ""],
    closest: Float[Array, ""],
    partner: Int[Array, ""],
    second: Float[Array, ""],
    runner_up: Int[Array, ""],
) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """The newcomer's nearest neighbour once it has taken a slot; 0 if it is alone."""
    taken = slot == partner
    nearest = jnp.where(taken, second, closest)
    return nearest, jnp.where(jnp.isfinite(nearest), jnp.where(taken, runner_up, partner), 0)


def _pair(
    columns: Float[Array, "D N"],
    used: Bool[Array, " N"],
    nearest: Float[Array, " N"],
    neighbour: Int[Array, " N"],
) -> tuple[Int[Array, ""], Int[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """The closest pair of rows, and each one's squared distance to the nearest third row."""
    one = lowest(nearest)[1]
    other = neighbour[one]
    index = jnp.arange(used.shape[0], dtype=jnp.int32)
    third = used & (index != one) & (index != other)
    one_second, other_second = (
        jnp.min(jnp.where(third, squared(columns, columns[:, row]), jnp.inf))
        for row in (one, other)
    )
    return one, other, one_second, other_second


def _crowded(
    one: Int[Array, ""],
    one_second: Float[Array, ""],
    other: Int[Array, ""],
    other_second: Float[Array, ""],
) -> Int[Array, ""]:
    """The row of a pair whose second neighbour is nearer; the higher index if tied."""
    tied = jnp.maximum(one, other)
    return jnp.where(
        one_second < other_second, one, jnp.where(other_second < one_second, other, tied)
    )


def _repair(
    columns: Float[Array, "D N"],
    used: Bool[Array, " N"],
    nearest: Float[Array, " N"],
    neighbour: Int[Array, " N"],
    orphan: Bool[Array, " N"],
) -> tuple[Float[Array, " N"], Int[Array, " N"]]:
    """Find the orphans' nearest neighbours anew. In a plane they are at most six, usually one."""
    size = orphan.shape[0]
    index = jnp.arange(size, dtype=jnp.int32)

    def adopt(state: tuple) -> tuple:
        nearest, neighbour, row = state
        distance, found = neighbour_of(columns, used, row)
        found = jnp.where(jnp.isfinite(distance), found, 0)
        following = first(orphan & (index > row))
        return nearest.at[row].set(distance), neighbour.at[row].set(found), following

    start = (nearest, neighbour, first(orphan))
    nearest, neighbour, _ = lax.while_loop(lambda state: state[2] < size, adopt, start)
    return nearest, neighbour
