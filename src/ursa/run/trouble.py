"""Trouble: which seeds keep failing to update, and when that calls for going back.

An update that is not finite leaves no trace (`ursa.agent.learn`). When it happens `patience` times
in a row, waiting does not help: the seed gets the agent of the newest checkpoint and other chance.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

Array = np.ndarray
ATTEMPTS = 3  # times that a seed is rolled back without one good update in between


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Counts per seed."""

    failures: Int[Array, " seeds"]  # updates that failed in a row, up to now
    attempts: Int[Array, " seeds"]  # times rolled back since the last good update
    rollbacks: Int[Array, " seeds"]  # times rolled back in all

    @classmethod
    def none(cls, seeds: int) -> "Trouble":
        zero = np.zeros(seeds, np.int64)
        return cls(failures=zero, attempts=zero.copy(), rollbacks=zero.copy())

    def after(self, dropped: Float[Array, "columns seeds"], updates: int) -> "Trouble":
        """The counts after more columns of so many updates each; `dropped` is the share lost."""
        failures, attempts = self.failures.copy(), self.attempts.copy()
        for lost in dropped:
            all_lost = lost >= 1.0
            failures = np.where(all_lost, failures + updates, 0)
            attempts = np.where(all_lost, attempts, 0)
        return replace(self, failures=failures, attempts=attempts)

    def due(self, patience: int) -> Bool[Array, " seeds"]:
        """Seeds to roll back now; one that was rolled back in vain is left alone."""
        return (self.failures >= patience) & (self.attempts < ATTEMPTS)

    def pending(self) -> bool:
        """Some seed has just failed and may yet be rolled back: not the state to go back to."""
        return bool(((self.failures > 0) & (self.attempts < ATTEMPTS)).any())

    def hopeless(self, patience: int) -> bool:
        """No seed learns any more, and going back did not help."""
        return bool(((self.failures >= patience) & (self.attempts >= ATTEMPTS)).all())

    def rolled(self, index: int) -> "Trouble":
        """One seed begins again."""
        one = np.arange(len(self.failures)) == index
        return replace(
            self,
            failures=np.where(one, 0, self.failures),
            attempts=self.attempts + one,
            rollbacks=self.rollbacks + one,
        )
