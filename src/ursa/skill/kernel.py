"""The rule of insertion as one kernel for a GPU: all newcomers of a control step in one launch.

As ordinary XLA code every insertion is some twenty launches and a loop that asks the host how to
go on: 4 ms for 32 rows of five seeds on an H200. Here one block of threads holds the table of a
seed and admits its newcomers one after the other by `rule.admit`, the very same function; only
how an element is read and replaced differs, as a block has no random access to what its threads
hold.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Int

from ursa.skill.rule import Access, Newcomer, Rows, admit

WARPS = 8  # of 32 threads; measured best of 4, 8, 16 and 32 for 4096 rows


def _pick(vector: Array, at: Array) -> Array:
    here = jnp.arange(vector.shape[0], dtype=jnp.int32) == at
    return jnp.sum(jnp.where(here, vector, jnp.zeros_like(vector)))


def _put(vector: Array, at: Array, value: Array) -> Array:
    here = jnp.arange(vector.shape[0], dtype=jnp.int32) == at
    return jnp.where(here, value, vector)


MASKED = Access(_pick, _put)


def insert(rows: Rows, new: Newcomer, interpret: bool = False) -> tuple[Rows, Int[Array, " m"]]:
    """`rule.insert`, for a GPU; `interpret` runs it anywhere, slowly, for tests."""
    columns, nearest, neighbour, filled = rows
    dimensions, size, count = len(columns), nearest.shape[0], new.admitted.shape[0]
    wide = pl.next_power_of_2(size)  # a block's vectors must be that long

    def padded(vector: Array, value: float) -> Array:
        return jnp.pad(vector, (0, wide - size), constant_values=value)

    shapes = (
        jax.ShapeDtypeStruct((dimensions, wide), nearest.dtype),
        jax.ShapeDtypeStruct((wide,), nearest.dtype),
        jax.ShapeDtypeStruct((wide,), jnp.int32),
        jax.ShapeDtypeStruct((1,), jnp.int32),
        jax.ShapeDtypeStruct((count,), jnp.int32),
    )
    call = pl.pallas_call(
        partial(_kernel, size, dimensions, count),
        out_shape=shapes,
        interpret=interpret,
        **({} if interpret else _warps()),
    )
    told = call(
        jnp.stack([padded(column, 0.0) for column in columns]),
        padded(nearest, jnp.inf),
        padded(neighbour, 0),
        filled[None],
        jnp.stack(new.point),
        new.admitted.astype(jnp.int32),
    )
    columns, nearest, neighbour, filled, slots = told
    kept = tuple(column[:size] for column in columns)
    return Rows(kept, nearest[:size], neighbour[:size], filled[0]), slots


def tried() -> None:
    """Compile and run it once on next to nothing; raises where it cannot work."""
    rows = Rows(
        (jnp.zeros(16),), jnp.full(16, jnp.inf), jnp.zeros(16, jnp.int32), jnp.zeros((), jnp.int32)
    )
    new = Newcomer((jnp.ones(1),), jnp.ones(1, bool))
    _, slots = jax.jit(insert)(rows, new)
    if int(slots[0]) != 0:
        raise RuntimeError(f"the first row went to slot {int(slots[0])} instead of 0")


def _kernel(size: int, dimensions: int, count: int, *refs) -> None:
    (columns_ref, nearest_ref, neighbour_ref, filled_ref, point_ref, admitted_ref) = refs[:6]
    columns_out, nearest_out, neighbour_out, filled_out, slots_out = refs[6:]
    rows = Rows(
        tuple(columns_ref[axis, :] for axis in range(dimensions)),
        nearest_ref[:],
        neighbour_ref[:],
        filled_ref[0],
    )

    def one(at: Array, rows: Rows) -> Rows:
        point = tuple(point_ref[axis, at] for axis in range(dimensions))
        rows, slots_out[at] = admit(MASKED, size, rows, Newcomer(point, admitted_ref[at] != 0))
        return rows

    rows = lax.fori_loop(0, count, one, rows)
    for axis, column in enumerate(rows.columns):
        columns_out[axis, :] = column
    nearest_out[:], neighbour_out[:] = rows.nearest, rows.neighbour
    filled_out[0] = rows.filled


def _warps() -> dict:
    from jax.experimental.pallas import triton  # only where there is such a device

    return {"compiler_params": triton.CompilerParams(num_warps=WARPS)}
