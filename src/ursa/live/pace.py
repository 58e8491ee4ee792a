"""Pace: how many updates a row is worth, between two bounds; who waits for whom. No JAX.

Above the upper bound the learner waits for rows. Below the lower one nobody waits on a wall clock:
a robot is never held up by a learner, it is only said. In virtual time the actor waits awake, so
that time stands still until the learner has caught up.
"""

import math
from pathlib import Path

from ursa.live.settings import Live
from ursa.shared import pulse

UNSEEN = 256  # rows on disk that the learner may not have looked at yet


def allowed(column: int, prefill: int, updates: int, most: float) -> int:
    """Updates that may be made after so many rows, `most` per row after the prefill."""
    return max(0, math.floor(most * (column - prefill)) - updates) if column >= prefill else 0


def behind(column: int, prefill: int, updates: int, least: float) -> bool:
    """Whether fewer updates were made than `least` per row asks for; a whole one is missing.

    Never true of a learner that has made all it is allowed: at least one of them is due then.
    """
    return updates + 1 <= least * (column - prefill)


class Pace:
    """The actor's look at the learner."""

    def __init__(self, folder: Path, live: Live, prefill: int) -> None:
        self._least, self._prefill, self._virtual = live.ratio_least, prefill, live.virtual
        self._watch = pulse.Watch(folder, "learner")

    def ahead(self, stored: int) -> bool:
        """Whether to wait, with so many rows on disk."""
        if not self._virtual:
            return False
        beat = self._watch.last()
        said = {} if beat is None else beat.said
        if stored - int(said.get("seen", 0)) > UNSEEN:
            return True
        updates = 0 if beat is None else beat.progress
        return behind(int(said.get("column", 0)), self._prefill, updates, self._least)

    def close(self) -> None:
        self._watch.close()
