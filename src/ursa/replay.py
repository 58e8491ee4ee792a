"""D: the last `capacity` control steps of n robots, as one value on the device (paper, Alg. 1).

All robots of a run step together, so the ring has one write head: a column holds one step of
every robot. Windows are drawn per robot and never cross the head. The ring itself is not saved;
`rebuild` makes the same ring again, bit for bit, from the rows that `ursa.segments` kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32, PRNGKeyArray

from ursa.errors import UserError
from ursa.types import Batch, Row, Sizes

VECTORS = ("observation", "action", "posture")  # fields with an axis after time
FIELDS = tuple(field.name for field in fields(Row))


@dataclass(frozen=True, kw_only=True)
class Ring:
    """Rows by robot and column; C columns of capacity."""

    observation: Float32[Array, "*seeds n C O"]
    action: Float32[Array, "*seeds n C A"]
    reward: Float32[Array, "*seeds n C"]
    cost: Float32[Array, "*seeds n C"]
    posture: Float32[Array, "*seeds n C P"]
    safe: Bool[Array, "*seeds n C"]
    first: Bool[Array, "*seeds n C"]
    written: Int32[Array, "*seeds"]  # columns ever added; everything below follows from it

    @property
    def capacity(self) -> int:
        return self.reward.shape[-1]

    @property
    def robots(self) -> int:
        return self.reward.shape[-2]

    @property
    def position(self) -> Int32[Array, "*seeds"]:
        """Column that the next row will fill; once full, that of the oldest row."""
        return self.written % self.capacity

    @property
    def filled(self) -> Int32[Array, "*seeds"]:
        """Columns in use."""
        return jnp.minimum(self.written, self.capacity)


def empty(n: int, capacity: int, sizes: Sizes) -> Ring:
    """A ring of `capacity` control steps of n robots, with nothing in it."""
    for name, value in {"robots": n, "capacity": capacity, **vars(sizes)}.items():
        if value < 1:
            raise UserError(f"replay: {name} = {value}, want at least 1")
    widths = {name: (getattr(sizes, name),) for name in VECTORS}
    return Ring(
        **{name: jnp.zeros((n, capacity, *widths[name]), jnp.float32) for name in VECTORS},
        reward=jnp.zeros((n, capacity), jnp.float32),
        cost=jnp.zeros((n, capacity), jnp.float32),
        safe=jnp.zeros((n, capacity), bool),
        first=jnp.zeros((n, capacity), bool),
        written=jnp.zeros((), jnp.int32),
    )


def nbytes(n: int, capacity: int, sizes: Sizes) -> int:
    """Device memory of the rows of a ring (the head adds four bytes)."""
    return n * capacity * sizes.bytes


def add(ring: Ring, row: Row) -> Ring:
    """The ring with one more column; the oldest goes when it is full. Donate the ring.

    Written robot by robot, as a scatter: a slice of all robots XLA would write once more where
    windows are drawn, from a copy of the whole ring.
    """
    place = jnp.arange(ring.robots), ring.position

    def put(name: str) -> Array:
        return getattr(ring, name).at[place].set(getattr(row, name), unique_indices=True)

    return replace(
        ring,
        **{name: put(name) for name in FIELDS},
        written=ring.written + 1,
    )


def ready(ring: Ring, length: int) -> Bool[Array, "*seeds"]:
    """Whether a window of `length` steps has been written; `sample` may be trusted from then on."""
    return ring.filled >= length


def sample(ring: Ring, key: PRNGKeyArray, batch: int, length: int) -> Batch:
    """`batch` windows of `length` steps, uniform over robots and starts; needs `ready`."""
    if not 1 <= length <= ring.capacity:
        raise UserError(
            f"replay: windows of {length} steps from a ring of {ring.capacity}; "
            f"want 1 <= length <= capacity"
        )
    for_robot, for_start = jax.random.split(key)
    robot = jax.random.randint(for_robot, (batch, 1), 0, ring.robots)
    start = jax.random.randint(for_start, (batch, 1), 0, ring.filled - length + 1)
    return window(ring, robot, start, length)


def window(
    ring: Ring, robot: Int32[Array, "B 1"], start: Int32[Array, "B 1"], length: int
) -> Batch:
    """Steps start .. start + length - 1 of each robot, counted from the oldest in the ring."""
    oldest = ring.position - ring.filled
    column = (oldest + start + jnp.arange(length, dtype=jnp.int32)[None, :]) % ring.capacity
    return Batch(**{name: getattr(ring, name)[robot, column] for name in FIELDS})


def rebuild(ring: Ring, chunks: Iterable[tuple[int, Row]]) -> Ring:
    """A ring shaped like the given one, filled from (number of the first column, rows) chunks.

    Seeds may lie in front. Rows of a chunk are stacked along a new first axis, time. Chunks
    follow one another; they may begin late, if what they leave out would have been overwritten.
    """
    arrays = {
        name: np.zeros(getattr(ring, name).shape, getattr(ring, name).dtype) for name in FIELDS
    }
    begin = end = None
    for first, rows in chunks:
        if end is not None and first != end:
            raise UserError(f"replay: rows {end} to {first} are missing, cannot rebuild the ring")
        begin, end = first if begin is None else begin, first + len(rows.reward)
        kept = slice(max(0, end - first - ring.capacity), None)
        column = np.arange(first, end)[kept] % ring.capacity
        for name in FIELDS:
            axis = -2 if name in VECTORS else -1  # of time
            target = np.moveaxis(arrays[name], axis, 0)
            if getattr(rows, name).shape[1:] != target.shape[1:]:
                raise UserError(
                    f"replay: {name} of the rows has shape {getattr(rows, name).shape[1:]} per "
                    f"step, the ring wants {target.shape[1:]}: these rows are of another run"
                )
            target[column] = getattr(rows, name)[kept]
    written = end or 0
    if begin is not None and begin > max(0, written - ring.capacity):
        raise UserError(
            f"replay: the rows begin at {begin}, but a ring of {ring.capacity} that has seen "
            f"{written} needs them from {max(0, written - ring.capacity)} on"
        )
    return Ring(
        **{name: jnp.array(array) for name, array in arrays.items()},
        written=jnp.full(ring.written.shape, written, jnp.int32),
    )


Node = TypeVar("Node")


def _register(kind: type[Node]) -> None:
    """Make a dataclass of arrays a JAX tree.

    Not `register_dataclass`: that rebuilds through the constructor, whose annotations the tests
    check, and JAX rebuilds trees of placeholders too (axes, shardings).
    """
    names = tuple(field.name for field in fields(kind))  # pyright: ignore[reportArgumentType]
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in names)

    def flatten(node: Node) -> tuple[tuple[Any, ...], None]:
        return tuple(getattr(node, name) for name in names), None

    def flatten_with_keys(node: Node) -> tuple[tuple[tuple[Any, Any], ...], None]:
        return tuple(zip(keys, flatten(node)[0], strict=True)), None

    def unflatten(_: None, children: Iterable[Any]) -> Node:
        node = object.__new__(kind)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(node, name, child)
        return node

    jax.tree_util.register_pytree_with_keys(kind, flatten_with_keys, unflatten, flatten)


for _kind in (Row, Batch, Ring):
    _register(_kind)
