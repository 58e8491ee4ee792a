"""Tally: what the actor did for the robot's sake, counted over all processes that played it."""

from collections import Counter

from ursa.shared.pulse import Beat

# Went home, did not get there, left the arena, seen by nobody, got up.
SHOWN = ("homings", "stuck", "outs", "lost", "rises")


class Tally:
    """Counts of a role whose processes come and go, each from zero."""

    def __init__(self) -> None:
        self._pid = 0
        self._before: Counter[str] = Counter()  # of processes that are gone
        self._now: Counter[str] = Counter()

    def hear(self, beat: Beat | None) -> None:
        """The last beat; one that says nothing of a count leaves it as it was."""
        if beat is None:
            return
        if beat.pid != self._pid:
            self._before, self._now, self._pid = self._before + self._now, Counter(), beat.pid
        for name in SHOWN:
            self._now[name] = int(beat.said.get(name, self._now[name]))

    @property
    def counts(self) -> dict[str, int]:
        return {name: self._before[name] + self._now[name] for name in SHOWN}
