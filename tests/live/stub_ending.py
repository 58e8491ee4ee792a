"""Signals for a supervisor that is ending: `python -m live.stub_ending FOLDER CALL HOW`.

The first one asks it to end. From its CALL-th call of a method after that on, SIGINT and SIGTERM
come together before and after every call, and at last while the interpreter leaves.
"""

import atexit
import functools
import signal
import sys
import threading
from pathlib import Path
from types import FunctionType

from ursa.claim import Claim
from ursa.live import child, settings
from ursa.live.child import SIGNALS, Ending
from ursa.live.gatekeeper import Gatekeeper
from ursa.live.supervisor import LOCK, Supervisor
from ursa.live.ward import Ward


def both():
    """At one instant: none is handled before the other has arrived."""
    mine = threading.main_thread().ident
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    for number in SIGNALS:
        signal.pthread_kill(mine, number)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Moments:
    """Every call of a method of the supervisor and its wards, from the first signal on."""

    def __init__(self, first):
        self._left, self.begun = first, False
        for owner in (Supervisor, Ward, Gatekeeper):
            for name, method in list(vars(owner).items()):
                if isinstance(method, FunctionType):
                    setattr(owner, name, self._watched(method))

    def _watched(self, method):
        @functools.wraps(method)
        def called(*arguments, **more):
            self._pass()
            found = method(*arguments, **more)
            self._pass()
            return found

        return called

    def _pass(self):
        if self.begun and threading.current_thread() is threading.main_thread():
            self._left -= 1
            if self._left < 0:
                both()


def supervised(folder, first):
    ending, said, moments = Ending(), [], Moments(first)
    live = settings.read(folder)

    def say(it):
        said.append(it)
        print(f"ursa: {it}", flush=True)

    def stop():
        if not moments.begun and any("the gate is gone" in each for each in said):
            signal.raise_signal(signal.SIGTERM)
            moments.begun = True
        return ending.asked

    return Supervisor(folder, live, Claim(folder / LOCK, folder), say).run(stop, lambda _: None)


def deafened():
    """Ignores signals from the second one on by taking the handlers away."""

    def now(self, number, _):
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    Ending._now = now


if __name__ == "__main__":
    how, first = sys.argv.pop(), int(sys.argv.pop())
    if how == "deafened":
        deafened()
    atexit.register(both)
    if how == "open":  # leaves with its ears open
        sys.exit(supervised(Path(sys.argv[1]), first))
    child.enter(lambda folder: supervised(folder, first))
