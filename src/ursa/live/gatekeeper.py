"""Gatekeeper: a gate in somebody's care. When it dies or hangs, the robot is made limp for it."""

from collections.abc import Callable
from pathlib import Path

from ursa.gate import farewell
from ursa.gate import link as linking
from ursa.live import settings
from ursa.live.settings import Live
from ursa.live.ward import Ward

Say = Callable[[str], None]


class Gatekeeper:
    """The ward of the gate, and the word that a dead one can no longer say."""

    def __init__(self, folder: Path, live: Live, say: Say, sleeps: Callable[[], bool]) -> None:
        """As for a `Ward`; no gate is started before the first look."""
        self.folder = folder
        self.ward = Ward(folder, settings.watched(live), "gate", say, sleeps)
        self.robot, self._limits, self._say = linking.address(live.link), live.gate_limits(), say
        self._spoken = False  # at the end

    def look(self) -> bool:
        """Start it, or notice what happened: limp before all else. False: it is hopeless."""
        deaths = self.ward.backoff.total
        hopeful = self.ward.look()
        if self.ward.backoff.total > deaths:
            self._speak()
        return hopeful

    def last_word(self) -> None:
        """At an end, again and again: a gate that hangs is killed; one that did not leave in order
        has not said that the robot be limp, which is said here, once."""
        self.ward.relieve()
        if not self._spoken and self.ward.ended() and not self.ward.left:
            self._spoken = True
            self._speak()

    def end(self, seconds: float) -> None:
        """Have it lay the robot down and leave, within so long; limp in any case."""
        self.ward.ask()
        self.ward.outlast(seconds)
        self.last_word()

    def _speak(self) -> None:
        """No other gate is started meanwhile."""
        self._say(f"the gate is gone: {farewell.send(self.robot, self._limits)}")
