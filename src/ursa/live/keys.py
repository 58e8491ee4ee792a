"""Keys: the terminal as a stop button. `s`, space or Enter stop the robot, `a` twice acknowledges.

They are heard by a thread that does nothing else, and become orders in the gate's memory there and
then: a program that computes, writes to a slow disk or waits for a terminal does not delay them.
What they mean is `presses.py`.
"""

import contextlib
import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ursa.gate.modes import Order
from ursa.live.presses import TWICE, Presses, answered, heard, passed

INPUT, CHARACTERS = 0, 6  # of what termios knows of a terminal
NONE = b"\0"  # no key at all
AT_ONCE = termios.TCSANOW  # to wait until all was read would be for ever where nobody reads
URGENT = 40  # real-time priority of the thread, below the gate's: it sleeps but for a key


def described(present: bool, folder: Path) -> str:
    """What the person at this terminal can do, with keys or without."""
    stop = f"ursa robot stop {folder}"
    if present:
        return (
            "keys: s, space or Enter stops the robot (limp); a twice within "
            f"{TWICE:g} s acknowledges (held down it does not), then it stands up; Ctrl-C ends the "
            "run in order"
        )
    return (
        f"there are no keys here (stdin is no terminal of ours): the remote stops the robot, and "
        f"{stop} from any terminal of this computer; to acknowledge: {stop} --acknowledge"
    )


def _say(text: str) -> None:
    print(f"ursa: {text}", file=sys.stderr, flush=True)


class Keys:
    """What is pressed on a terminal; or nothing, where there is none."""

    def __init__(self, handle: int | None) -> None:
        self._handle = handle
        self._thread: threading.Thread | None = None
        self._bell, self._rope = os.pipe()  # the rope rings the bell: time to end

    @property
    def present(self) -> bool:
        """Whether there are any."""
        return self._handle is not None

    def listen(self, order: Callable[[Order], object], say: Callable[[str], object] = _say) -> None:
        """From now on a key is an order at once. `order` is called in another thread: give it a
        mouth of its own, which nobody else speaks through. `say` may take its time."""
        if self.present and self._thread is None:
            self._thread = threading.Thread(target=self._listen, args=(order, say), daemon=True)
            self._thread.start()

    def _listen(self, order: Callable[[Order], object], say: Callable[[str], object]) -> None:
        assert self._handle is not None
        presses = Presses()
        with contextlib.suppress(OSError, AttributeError):  # this thread alone, where allowed
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(URGENT))
        with contextlib.suppress(OSError):  # the terminal is gone: nobody can press anything
            while True:
                ready = select.select(
                    [self._handle, self._bell], [], [], presses.wait(time.monotonic())
                )[0]
                if self._bell in ready:
                    return
                now, before = time.monotonic(), presses
                if ready:
                    pressed = os.read(self._handle, 64)
                    if not pressed:
                        return
                    for key in pressed.decode(errors="replace"):
                        presses, given = heard(presses, key, now)
                        if given is not None:
                            order(given)
                else:
                    presses, given = passed(presses, now)
                    if given is not None:
                        order(given)
                answer = answered(before, presses)
                if answer:  # by a thread of its own: a mute terminal holds up no stop
                    threading.Thread(target=say, args=(answer,), daemon=True).start()

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
    if handle is None or not _ours(handle):
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
            termios.tcsetattr(handle, AT_ONCE, before)


def _ours(handle: int) -> bool:
    """Whether what is typed there is for us: not in the background, nor on somebody else's."""
    try:
        return os.tcgetpgrp(handle) == os.getpgrp()
    except OSError:  # a terminal, but not the one that we were started from
        return False


def _unsuspended(handle: int) -> None:
    """Ctrl-Z would leave a robot running without a stop key, Ctrl-S a terminal that is mute."""
    attributes = termios.tcgetattr(handle)
    attributes[CHARACTERS][termios.VSUSP] = NONE
    attributes[INPUT] &= ~termios.IXON
    termios.tcsetattr(handle, termios.TCSANOW, attributes)
