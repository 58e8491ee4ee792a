"""Vigil: a thread that looks after a gate all the time, whatever the program computes meanwhile.

For a command that has no supervisor beside it: between two steps it may compile or calculate for
seconds, and a gate that hangs just then is found as soon as in a run. Its beats tell the gate that
somebody looks: should the whole program hang, the gate lays the robot down by itself. What it finds
it says before it writes anything down: a disk may hang.
"""

from collections.abc import Callable
from threading import Event, Thread

from ursa.errors import UserError
from ursa.live import boxes
from ursa.live import memory as memories
from ursa.live.gatekeeper import Gatekeeper
from ursa.live.memory import Memory
from ursa.live.ward import PAUSE
from ursa.shared import pulse

GONE = (
    "the gate is gone; see what was said above. The robot was told to go limp; look at it before "
    "you start again"
)


class Vigil:
    """Looks until the gate is lost, or until it is closed."""

    def __init__(self, keeper: Gatekeeper, lost: Callable[[str], None] = lambda why: None) -> None:
        """From now on nobody else looks; `lost` hears when the gate is, after the robot is limp."""
        self._keeper, self._over, self._lost = keeper, Event(), lost
        self._memory, self._why = Memory(keeper.folder, keeper.robot), ""
        self._pulse = pulse.Pulse(keeper.folder, "vigil")
        self._thread = Thread(target=self._watch, name="vigil", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """UserError if the gate is lost, or out of reach for a stop: it must not go on."""
        if self._why or not self._thread.is_alive():
            raise UserError(self._why or GONE)

    def close(self) -> None:
        """Look no longer; the gate stays as it is. A disk that hangs is not waited for."""
        self._over.set()
        self._thread.join(boxes.PATIENCE)
        self._pulse.close()

    def _watch(self) -> None:
        while self._keeper.look():
            if self._over.is_set():
                return
            self._pulse.beat(0)
            if not self._why and (missing := self._memory.missing()):
                self._why = memories.words(missing)
            if self._over.wait(PAUSE):
                return
        self._why = GONE
        self._lost("the gate ended")
