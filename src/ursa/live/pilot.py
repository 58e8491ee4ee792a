"""Pilot: the newest good policy of the learner at work, with its recurrent state. The only JAX
of the actor.

New policies are looked for beside the control loop and taken over between two steps, whole or not
at all. The recurrent state goes on across skills and policies: only a new sequence clears it.
"""

import threading
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, Key

from ursa.agent import act as acting
from ursa.agent.state import Policy
from ursa.errors import UserError
from ursa.live import snapshot
from ursa.run.learner import ACT, stream
from ursa.run.plan import Plan
from ursa.shared.handover import Subscriber

Array = np.ndarray
LOOK = 0.02  # real seconds between two looks for a new policy


@dataclass(frozen=True, eq=False)
class Known:
    """A policy with the skills that were drawn for it."""

    version: int
    policy: Policy
    skills: Float[Array, "K D"]


class Pilot:
    """Acts for one robot."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._folder, self._key = folder, jax.random.key(plan.config.seed)
        self._like = snapshot.policy_like(plan)
        self._source: Subscriber | None = None
        self._next: Known | None = None
        self.known: Known | None = None  # None: nothing was published yet
        self.refused = 0  # snapshots, or actions, that were no good
        self._passed = 0  # newest version that was looked at, good or not
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._carry = acting.begin(self._like, 1)
        self._warm(plan.sizes.observation)

    def look(self) -> bool:
        """Fetch a newer policy, if there is one; may take a while, never disturbs `act`."""
        if self._source is None:
            try:
                self._source = Subscriber(snapshot.memory(self._folder))
            except UserError:
                return False  # the learner has not made the memory yet
        found = self._source.newer(self._passed)
        if found is None:
            self._pass_by(self._source)
            return False
        self._passed = found.version
        opened = snapshot.opened(found.arrays, self._like)
        if opened is None:
            self.refused += 1
            return False
        self._next = Known(found.version, jax.block_until_ready(opened[0]), opened[1])
        return True

    def take(self) -> None:
        """Between two steps: go on with what was fetched."""
        fetched, self._next = self._next, None
        if fetched is not None:
            self.known = fetched

    def act(
        self, observation: Float[Array, "1 O"], first: bool, z: Float[Array, " D"], number: int
    ) -> Float[Array, " A"] | None:
        """The action of step `number`, sampled as in training; None if it is no action."""
        assert self.known is not None
        self._carry, action = _act(
            self.known.policy,
            self._carry,
            np.asarray(observation, np.float32),
            np.array([first]),
            np.asarray(z, np.float32)[None],
            self._key,
            np.int32(number % 2**31),
        )
        found = np.asarray(action, float)[0]
        if np.isfinite(found).all():
            return found
        self.refused += 1
        self._carry = acting.begin(self._like, 1)  # it may hold what made the action wrong
        return None

    def did(self, action: Float[Array, " A"]) -> None:
        """Somebody else chose what was done: the policy must know."""
        done = jnp.asarray(np.clip(action, -1, 1), jnp.float32)[None]
        self._carry = acting.Carry(self._carry.latent, done)

    def start(self) -> None:
        """Look for policies in a thread from now on, until `close`."""

        def looking() -> None:
            while not self._over.wait(LOOK):
                self.look()

        self._thread = threading.Thread(target=looking, name="policies", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._source is not None:
            self._source.close()
            self._source = None

    def _pass_by(self, source: Subscriber) -> None:
        """Count a newest snapshot that is whole and yet no good, and look at it no more."""
        versions = source.versions()
        newest = max(versions)
        if newest > self._passed and source.copied(versions.index(newest)) is not None:
            self._passed = newest
            self.refused += 1

    def _warm(self, wide: int) -> None:
        """Compile before the robot stands on its legs."""
        skills = np.zeros((1, self._like.actor.skill_in.shape[0]), np.float32)
        self.known = Known(0, self._like, skills)
        self.act(np.zeros((1, wide), np.float32), True, skills[0], 0)
        self.known, self._carry = None, acting.begin(self._like, 1)


@jax.jit
def _act(
    policy: Policy,
    carry: acting.Carry,
    observation: Float[jax.Array, "1 O"],
    first: Bool[jax.Array, " 1"],
    z: Float[jax.Array, "1 D"],
    key: Key[jax.Array, ""],
    number: Int[jax.Array, ""],
) -> tuple[acting.Carry, Float[jax.Array, "1 A"]]:
    """Chance follows from the seed and the number of the step."""
    own = stream(key, ACT, number)
    return acting.act(policy, carry, observation, first, z, jnp.ones(()), own)
