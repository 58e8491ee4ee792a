"""Pilot: a policy that acts for many robots, each by its own chance.

A product of matrices is rounded differently for another number of rows, and a robot's way is
chaotic. So a pilot acts for BLOCK robots at a time, whatever their number: what a robot does
depends on its policy, skill and chance, not on who else is there.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Key

from ursa.agent import act as acting
from ursa.agent.state import Policy
from ursa.env.arena import Outcome

Array = np.ndarray
BLOCK = 128  # robots; fewer are filled up


class Pilot:
    """Acts for m robots from their first observation on; call it once per control step."""

    def __init__(
        self,
        policy: Policy,
        z: Float[Array, "m D"],
        chance: Int[Array, " m"],
        *,
        explore: bool = False,
        seed: int = 0,
    ) -> None:
        self._policy, self._count = policy, len(z)
        self._explore, self._key = jnp.asarray(float(explore)), jax.random.key(seed)
        self._z = [jnp.asarray(part, jnp.float32) for part in blocks(z)]
        self._chance = [jnp.asarray(part, jnp.int32) for part in blocks(chance)]
        self._carry = [_begin(policy, BLOCK)] * len(self._z)

    def __call__(self, outcome: Outcome, step: int) -> Float[Array, "m A"]:
        """The actions of all robots at this step of their rollout; 0 is the first."""
        now, chosen = jnp.asarray(step, jnp.int32), []
        for index, part in enumerate(blocks(outcome.observation)):
            self._carry[index], action = _act(
                self._policy,
                self._carry[index],
                part,
                self._z[index],
                self._explore,
                self._key,
                self._chance[index],
                now,
            )
            chosen.append(action)  # asked for below: meanwhile the other blocks are worked on
        return np.concatenate([np.asarray(it, float) for it in chosen])[: self._count]


def blocks(rows: Array) -> list[Array]:
    """Rows in parts of BLOCK each; the last row is repeated to fill the last part."""
    whole = np.pad(rows, [(0, -len(rows) % BLOCK), *[(0, 0)] * (rows.ndim - 1)], mode="edge")
    return np.split(whole, len(whole) // BLOCK)


_begin = jax.jit(acting.begin, static_argnums=1)


@jax.jit
def _act(
    policy: Policy,
    carry: acting.Carry,
    observation: jax.Array,
    z: jax.Array,
    explore: jax.Array,
    key: Key[jax.Array, ""],
    chance: Int[jax.Array, " n"],
    step: Int[jax.Array, ""],
) -> tuple[acting.Carry, jax.Array]:
    """`act` with a key for each robot: drawn from its chance and the step, nothing else."""

    def one(carry: acting.Carry, seen: jax.Array, z: jax.Array, chance: jax.Array):
        own = jax.random.fold_in(jax.random.fold_in(key, chance), step)
        first = (step == 0)[None]
        alone = jax.tree.map(lambda leaf: leaf[None], carry)
        after = acting.act(policy, alone, seen[None], first, z[None], explore, own)
        return jax.tree.map(lambda leaf: leaf[0], after)

    return jax.vmap(one)(carry, observation, z, chance)
