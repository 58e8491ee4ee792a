"""Deputy: acts for a learner that is busy, on the host, by what was known a round before.

With few robots many control steps pass between two updates: a round. Whoever acts by the newest
policy waits for the update before every round, and robots and learner take turns. A deputy acts by
the policy of the update before that, on the CPU, while the device works at the next one: collecting
and learning go on at once. What it acts by changes at the beginning of a round, and when the random
actions end, so a run is still a function of its config, whichever side is the faster.
"""

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ursa.checkpoint import is_key

Leaves = Sequence[Any]
Packed = tuple[Any, list[Any]]
log = logging.getLogger(__name__)


def host() -> Any:
    """The CPU as JAX knows it; the default device where JAX was told to know nothing else."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        log.warning("JAX knows no CPU (JAX_PLATFORMS?): robots wait for the learner's device")
        return jax.devices()[0]


def pack(leaves: Leaves) -> Packed:
    """What is to be carried to the host: all float32 numbers of a seed as one row, and the rest.

    A hundred arrays are a hundred journeys; one array is one. Random keys travel as their data.
    """
    numbers = [leaf.reshape(leaf.shape[0], -1) for leaf in leaves if _plain(leaf)]
    rest = [leaf for leaf in leaves if not _plain(leaf)]
    plain = [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in rest]
    return jnp.concatenate(numbers, axis=1), plain


def kinds(leaves: Leaves) -> tuple[Any, ...]:
    """What `unpack` must know: the shape of numbers, the generator of keys, nothing of the rest."""
    return tuple(
        leaf.shape if _plain(leaf) else str(jax.random.key_impl(leaf)) if is_key(leaf) else None
        for leaf in leaves
    )


def unpack(like: tuple[Any, ...], numbers: Any, rest: Leaves) -> list[Any]:
    """The leaves again, of these kinds."""
    others, at, found = iter(rest), 0, []
    for kind in like:
        if isinstance(kind, tuple):
            size = int(np.prod(kind[1:]))
            found.append(numbers[:, at : at + size].reshape(kind))
            at += size
        else:
            leaf = next(others)
            found.append(leaf if kind is None else jax.random.wrap_key_data(leaf, impl=kind))
    return found


packing = jax.jit(pack)
unpacking = jax.jit(unpack, static_argnums=0)


def _plain(leaf: Any) -> bool:
    return leaf.dtype == jnp.float32


class Deputy:
    """What robots act by at present, and what is on its way to replace it."""

    def __init__(self, leaves: Leaves) -> None:
        """`leaves`: of the part of a learner that acts, to begin with."""
        self.place = host()
        self._like = kinds(leaves)
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
        here = jax.device_get(packed)  # which waits for it
        return here, unpacking(self._like, *jax.device_put(here, self.place))
