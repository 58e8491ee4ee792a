"""Crowd: any number of rollouts, each with its own skill, damage and chance, in large batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ursa.agent.state import Policy
from ursa.env.arena import Arena
from ursa.evaluate.rollout import Feature, Rollouts, Watch, joined, rollout
from ursa.robot.damage import Damage

Array = np.ndarray
Damages = tuple[Damage, ...]
Roll = Callable[..., Rollouts]  # (z, chance, damages or None) -> one rollout for each row


@dataclass(frozen=True)
class Crowd:
    """Who does rollouts, where, and how many at a time."""

    place: Callable[[int], Arena]  # so many robots at the task
    policy: Policy
    feature: Feature | None = None
    chunk: int = 512  # robots at a time; the numbers do not depend on it
    seed: int = 0
    watch: Watch | None = None

    def rollouts(
        self,
        z: Float[Array, "m D"],
        chance: Int[Array, " m"],
        damages: Sequence[Damages] | None = None,
    ) -> Rollouts:
        """One rollout for each row; all are sound unless `damages` says what is broken in each."""
        parts, arena = [], None
        try:
            for start in range(0, len(z), self.chunk):
                rows = slice(start, start + self.chunk)
                count = len(z[rows])
                if arena is None or arena.count != count:
                    if arena is not None:
                        arena.close()
                    arena = self.place(count)
                hurt(arena, damages[rows] if damages is not None else [()] * count)
                parts.append(self._one(arena, z[rows], chance[rows]))
        finally:
            if arena is not None:
                arena.close()
        return joined(parts)

    def _one(self, arena: Arena, z: Float[Array, "n D"], chance: Int[Array, " n"]) -> Rollouts:
        return rollout(
            arena,
            self.policy,
            z,
            chance=chance,
            feature=self.feature,
            seed=self.seed,
            watch=self.watch,
        )


def hurt(arena: Arena, damages: Sequence[Damages]) -> None:
    """Set all robots down and give each its damage, whatever it had before."""
    arena.body.rest()  # a joint locked "where it is" is locked as it stands
    for one in set(damages):
        arena.body.damage(one, np.array([it == one for it in damages]))
