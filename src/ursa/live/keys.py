"""Keys: the terminal as a stop button. `s`, space or Enter stop the robot, `a` acknowledges."""

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

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


class Keys:
    """What is pressed on a terminal; or nothing, where there is none."""

    def __init__(self, handle: int | None) -> None:
        self._handle = handle

    def wait(self, seconds: float) -> list[Order]:
        """What was pressed meanwhile; returns at once when something is."""
        if self._handle is None:
            time.sleep(seconds)
            return []
        if not select.select([self._handle], [], [], seconds)[0]:
            return []
        pressed = os.read(self._handle, 64)
        if not pressed:  # the terminal is gone: nobody can press anything any more
            self._handle = None
        return [MEANING[key] for key in pressed.decode(errors="replace") if key in MEANING]


@contextmanager
def of_terminal() -> Iterator[Keys]:
    """The keys of the terminal that this process was started from, one by one; put back after."""
    handle = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    if handle is None or os.tcgetpgrp(handle) != os.getpgrp():  # in the background it is not ours
        yield Keys(None)
        return
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        yield Keys(handle)
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(handle, termios.TCSADRAIN, before)
