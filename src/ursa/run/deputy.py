"""Deputy: acts for a learner that is busy, on the host, by what was known a round before.

With few robots many control steps pass between two updates: a round. Whoever acts by the newest
policy waits for the update before every round, and robots and learner take turns. A deputy acts by
the policy of the update before that, on the CPU, while the device works at the next one: collecting
and learning go on at once. What it acts by changes at the beginning of a round and only there, so a
run is still a function of its config, whichever side is the faster.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Leaves = Sequence[Any]


def host() -> Any:
    """The CPU as JAX knows it; the default device where JAX was told to know nothing else."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return jax.devices()[0]


def pack(leaves: Leaves) -> tuple[Any, list[Any]]:
    """What is to be carried to the host: all float32 numbers of a seed as one row, and the rest.

    A hundred arrays are a hundred journeys; one array is one.
    """
    numbers = [leaf.reshape(leaf.shape[0], -1) for leaf in leaves if _plain(leaf)]
    return jnp.concatenate(numbers, axis=1), [leaf for leaf in leaves if not _plain(leaf)]


def unpack(like: Leaves, numbers: Any, rest: Leaves) -> list[Any]:
    """The leaves again, shaped like those given."""
    others, at, found = iter(rest), 0, []
    for leaf in like:
        if not _plain(leaf):
            found.append(next(others))
            continue
        size = int(np.prod(leaf.shape[1:]))
        found.append(numbers[:, at : at + size].reshape(leaf.shape))
        at += size
    return found


packing = jax.jit(pack)


def _plain(leaf: Any) -> bool:
    return leaf.dtype == jnp.float32


Packed = tuple[Any, list[Any]]


class Deputy:
    """What robots act by at present, and what is on its way to replace it."""

    def __init__(self, leaves: Leaves) -> None:
        """`leaves`: of the part of a learner that acts, to begin with."""
        self.place = host()
        shapes = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        self._unpack = jax.jit(lambda numbers, rest: unpack(shapes, numbers, rest))
        self._hands = ThreadPoolExecutor(1, thread_name_prefix="deputy")
        self._coming: Future[tuple[Packed, list[Any]]] | None = None
        self.held: Packed  # as it was packed: what a checkpoint keeps
        self.leaves: list[Any]
        self.receive(packing(leaves))
        self.change()

    def receive(self, packed: Packed) -> None:
        """What the learner knows now, perhaps still being computed; `change` will take it."""
        self._coming = self._hands.submit(self._arrived, packed)

    def change(self) -> None:
        """Act by what was received last, from now on; waits for it if it must."""
        if self._coming is not None:
            self.held, self.leaves = self._coming.result()
            self._coming = None

    def _arrived(self, packed: Packed) -> tuple[Packed, list[Any]]:
        here = jax.device_put(jax.block_until_ready(packed), self.place)
        return here, self._unpack(*here)
