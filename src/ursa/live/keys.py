"""Keys: the terminal as a stop button. `s`, space or Enter stop the robot, `a` acknowledges.

They are heard by a thread that does nothing else, and become orders in the gate's memory there and
then: a program that computes, writes to a slow disk or waits for a terminal does not delay them.
"""

import contextlib
import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from ursa.gate.modes import Order

MEANING = {
    "s": Order.STOP,
    "S": Order.STOP,
    " ": Order.STOP,
    "\n": Order.STOP,
    "\r": Order.STOP,
    "a": Order.ACKNOWLEDGE,
    "A": Order.ACKNOWLEDGE,
}
INPUT, CHARACTERS = 0, 6  # of what termios knows of a terminal
NONE = b"\0"  # no key at all
URGENT = 40  # real-time priority of the thread, below the gate's: it sleeps but for a key


class Keys:
    """What is pressed on a terminal; or nothing, where there is none."""

    def __init__(self, handle: int | None) -> None:
        self._handle = handle
        self._thread: threading.Thread | None = None
        self._bell, self._rope = os.pipe()  # the rope rings the bell: time to end

    def listen(self, order: Callable[[Order], object]) -> None:
        """From now on a key is an order at once. `order` is called in another thread: give it a
        mouth of its own, which nobody else speaks through."""
        if self._handle is not None and self._thread is None:
            self._thread = threading.Thread(target=self._listen, args=(order,), daemon=True)
            self._thread.start()

    def _listen(self, order: Callable[[Order], object]) -> None:
        assert self._handle is not None
        with contextlib.suppress(OSError, AttributeError):  # this thread alone, where allowed
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(URGENT))
        with contextlib.suppress(OSError):  # the terminal is gone: nobody can press anything
            while self._bell not in (ready := select.select([self._handle, self._bell], [], [])[0]):
                pressed = os.read(self._handle, 64) if ready else b""
                if not pressed:
                    return
                for key in pressed.decode(errors="replace"):
                    if key in MEANING:
                        order(MEANING[key])

    def close(self) -> None:
        """Listen no longer. May be called twice."""
        if self._rope >= 0:
            os.write(self._rope, NONE)
            if self._thread is not None:
                self._thread.join()
            os.close(self._rope)
            os.close(self._bell)
            self._rope = self._bell = -1


@contextmanager
def of_terminal() -> Iterator[Keys]:
    """The keys of the terminal that this process was started from, one by one; put back after."""
    handle = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    if handle is None or os.tcgetpgrp(handle) != os.getpgrp():  # in the background it is not ours
        with closing(Keys(None)) as none:
            yield none
        return
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        _unsuspended(handle)
        with closing(Keys(handle)) as keys:
            yield keys
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _unsuspended(handle: int) -> None:
    """Ctrl-Z would leave a robot running without a stop key, Ctrl-S a terminal that is mute."""
    attributes = termios.tcgetattr(handle)
    attributes[CHARACTERS][termios.VSUSP] = NONE
    attributes[INPUT] &= ~termios.IXON
    termios.tcsetattr(handle, termios.TCSANOW, attributes)
