"""Which row goes when one too many is there (paper, Algorithm 3), exactly and incrementally.

The printed rule removes the row with the smallest distance to its nearest neighbour. That minimum
is always attained twice, by the closest pair; of the two we remove the one whose second neighbour
is nearer, and on a further tie the newcomer, else the higher index. Then the smallest distance in
R never decreases while the whitening stands still.

Recomputing all neighbours costs N² distances a row. The neighbour table makes it a few times N:
the newcomer's own distances, two rows for the pair, and one for each orphan, a row that has just
lost its nearest neighbour. The table always equals a recomputation, ties included.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ursa.skill.distance import first, lowest, neighbours, squared
from ursa.skill.table import T, placed

NOWHERE = -1  # the slot of a row that did not get in

Columns = tuple[Float[Array, " N"], ...]  # coordinates, one vector for each dimension: fast


class Rows(NamedTuple):
    """What the rule reads and changes when a row comes in."""

    columns: Columns
    nearest: Float[Array, " N"]
    neighbour: Int[Array, " N"]
    filled: Int[Array, ""]


class Newcomer(NamedTuple):
    """A row that wants in."""

    point: Columns  # one number for each dimension
    admitted: Bool[Array, ""]


class Access(NamedTuple):
    """How one element of a vector is read and replaced; that is all that devices differ in."""

    pick: Callable[[Array, Array], Array]  # vector, index
    put: Callable[[Array, Array, Array], Array]  # vector, index, value


def _pick(vector: Array, at: Array) -> Array:
    return vector[at]


def _put(vector: Array, at: Array, value: Array) -> Array:
    return vector.at[at].set(value)


DIRECT = Access(_pick, _put)

Insert = Callable[[Rows, Newcomer], tuple[Rows, Int[Array, " m"]]]


def insert(rows: Rows, new: Newcomer) -> tuple[Rows, Int[Array, " m"]]:
    """Newcomers (stacked) one after the other, and the slot that each one got."""
    size = rows.nearest.shape[0]
    return lax.scan(lambda rows, one: admit(DIRECT, size, rows, one), rows, new)


def extend(
    table: T,
    postures: Float[Array, "m P"],
    skills: Float[Array, "m D"],
    commit: Bool[Array, " m"],
    insert: Insert = insert,
) -> T:
    """Insert the rows whose flag is set, one after the other; the others change nothing."""
    return place(table, postures, skills, commit, insert)[0]


def place(
    table: T,
    postures: Float[Array, "m P"],
    skills: Float[Array, "m D"],
    commit: Bool[Array, " m"],
    insert: Insert = insert,
) -> tuple[T, Int[Array, " m"]]:
    """`extend`, and where each row went at its turn: a slot, or NOWHERE."""
    points = placed(table, skills)
    possible = (
        jnp.all(postures >= table.lower[None, :], axis=1)  # false for NaN, too
        & jnp.all(postures <= table.upper[None, :], axis=1)
        & jnp.all(jnp.isfinite(postures), axis=1)
        & jnp.isfinite(jnp.sum(jnp.square(points), axis=1))  # a distance to it must exist
    )
    rows = Rows(tuple(table.coordinate.T), table.nearest, table.neighbour, table.filled)
    rows, slots = insert(rows, Newcomer(tuple(points.T), commit & possible))

    # Of several that went into one slot the last has stayed.
    size, count = table.skill.shape[0], len(slots)
    last = jnp.full(size, -1, jnp.int32)
    last = last.at[jnp.where(slots == NOWHERE, size, slots)].max(
        jnp.arange(count, dtype=jnp.int32), mode="drop"
    )

    def stored(old: Array, new: Array) -> Array:
        return jnp.where((last >= 0)[:, None], new[jnp.maximum(last, 0)], old)

    extended = replace(
        table,
        coordinate=jnp.stack(rows.columns, axis=1),
        posture=stored(table.posture, postures),
        skill=stored(table.skill, skills),
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
    columns = tuple(table.coordinate.T)

    def remove(_: Int[Array, ""], state: tuple) -> tuple:
        nearest, neighbour, kept = state
        one, other, one_second, other_second = _pair(DIRECT, columns, kept, nearest, neighbour)
        drop = _crowded(one, one_second, other, other_second)
        kept = kept & (jnp.arange(size, dtype=jnp.int32) != drop)
        nearest = jnp.where(kept, nearest, jnp.inf)
        orphan = kept & (neighbour == drop)
        return *_repair(DIRECT, columns, kept, nearest, neighbour, orphan), kept

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


def admit(access: Access, size: int, rows: Rows, new: Newcomer) -> tuple[Rows, Int[Array, ""]]:
    """One newcomer into a table of `size` rows (its vectors may be longer), and its slot."""
    columns, nearest, neighbour, filled = rows
    pick, put = access
    index = jnp.arange(nearest.shape[0], dtype=jnp.int32)
    used = index < filled
    distance = jnp.where(used, squared(columns, new.point), jnp.inf)
    closest, partner = lowest(distance)
    second, runner_up = lowest(jnp.where(index == partner, jnp.inf, distance))

    # The closest pair of R and the newcomer: either the newcomer and its partner ...
    drop_near = jnp.where(pick(nearest, partner) < second, partner, size)
    # ... or two old rows, whose second neighbour may be the newcomer.
    one, other, one_second, other_second = _pair(access, columns, used, nearest, neighbour)
    drop_old = _crowded(
        one,
        jnp.minimum(one_second, pick(distance, one)),
        other,
        jnp.minimum(other_second, pick(distance, other)),
    )
    drop = jnp.where(closest <= pick(nearest, one), drop_near, drop_old)

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

    columns = tuple(
        put(column, slot, jnp.where(enters, value, pick(column, slot)))
        for column, value in zip(columns, new.point, strict=True)
    )
    filled = filled + (enters & ~full).astype(jnp.int32)
    nearest, neighbour = _repair(access, columns, index < filled, nearest, neighbour, orphan)
    return Rows(columns, nearest, neighbour, filled), jnp.where(enters, slot, NOWHERE)


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
    return nearest, jnp.where(nearest < jnp.inf, jnp.where(taken, runner_up, partner), 0)


def _pair(
    access: Access,
    columns: Columns,
    used: Bool[Array, " N"],
    nearest: Float[Array, " N"],
    neighbour: Int[Array, " N"],
) -> tuple[Int[Array, ""], Int[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """The closest pair of rows, and each one's squared distance to the nearest third row."""
    one = lowest(nearest)[1]
    other = access.pick(neighbour, one)
    index = jnp.arange(used.shape[0], dtype=jnp.int32)
    third = used & (index != one) & (index != other)
    one_second, other_second = (
        jnp.min(jnp.where(third, squared(columns, _point(access, columns, row)), jnp.inf))
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
    access: Access,
    columns: Columns,
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
        others = used & (index != row)
        away = jnp.where(others, squared(columns, _point(access, columns, row)), jnp.inf)
        distance, found = lowest(away)
        found = jnp.where(distance < jnp.inf, found, 0)
        following = first(orphan & (index > row))
        return access.put(nearest, row, distance), access.put(neighbour, row, found), following

    start = (nearest, neighbour, first(orphan))
    nearest, neighbour, _ = lax.while_loop(lambda state: state[2] < size, adopt, start)
    return nearest, neighbour


def _point(access: Access, columns: Columns, row: Int[Array, ""]) -> Any:
    """The coordinates of one row."""
    return tuple(access.pick(column, row) for column in columns)
