"""Child: how a process of a run begins and ends.

A supervisor starts it, in a session of its own so that Ctrl-C in the terminal reaches only the
supervisor. It ends when it is asked to, or when its supervisor is gone: nobody is left to ask.
"""

import faulthandler
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from ursa.errors import UserError
from ursa.shared.clock import Gone

SUPERVISOR = "URSA_SUPERVISOR"  # variable of the environment: the pid of who looks after us
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # the last: its terminal is gone
STACKS = signal.SIGUSR1  # tells a process to write down where it is
MISTAKE = 2  # exit code of what a person has to put right
LATER = os.EX_TEMPFAIL  # of who lacks what may come back: an emulator that keeps the clock


class Ending:
    """Whether this process has been asked to end. A second signal ends it at once, later ones do
    nothing: they must not cut the farewell short. A terminal that is gone asks only once, however
    often that is told, and not at all who was started to outlive it (`nohup`).

    The handlers stay what they are until `close`. Were they taken away while a signal waits to be
    handled, Python would drop it with an OSError that nobody can catch.
    """

    finished = False  # this process leaves anyhow: no signal is heard any more

    def __init__(self, longest: int = 0) -> None:
        """From now on; `longest` seconds after the first signal it ends in any case, 0: never."""
        said = os.environ.get(SUPERVISOR, "")
        self._supervisor = int(said) if said.isdigit() else None
        self._signalled, self._over, self._longest = False, False, longest
        self._before = {
            number: signal.signal(number, self._ask) for number in SIGNALS if not _outlives(number)
        }
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._now)

    @property
    def supervised(self) -> bool:
        """Whether somebody started us who looks after us."""
        return self._supervisor is not None

    @property
    def orphaned(self) -> bool:
        """Whether the supervisor that started us is gone."""
        return self._supervisor is not None and os.getppid() != self._supervisor

    @property
    def asked(self) -> bool:
        """Whether to end, for whatever reason."""
        return self._signalled or self.orphaned

    def close(self) -> None:
        """Handlers as they were. A signal from before has been heard; one from now on is theirs."""
        self._over = True
        with deaf():
            for number, handler in self._before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._signalled and number != signal.SIGHUP:
            self._now(number, frame)
        elif not self._signalled:
            self._signalled = True
            signal.alarm(self._longest)

    def _now(self, number: int, _: FrameType | None) -> None:
        if not (self._over or Ending.finished):
            self._over = True
            raise SystemExit(128 + number)  # by way of every `finally` and `with`


def _outlives(number: int) -> bool:
    """Whether somebody wants us to go on when the terminal is gone."""
    return number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN


@contextmanager
def deaf() -> Iterator[None]:
    """Signals wait until the block is over; those that are already here are handled before it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (*SIGNALS, signal.SIGALRM))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def enter(main: Callable[[Path], int]) -> None:
    """Run a role on the folder named on the command line, and leave with its exit code."""
    faulthandler.enable()
    faulthandler.register(STACKS, all_threads=True, chain=False)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    for name in ("ursa", "__main__"):  # ours; what others think worth telling is too much
        logging.getLogger(name).setLevel(logging.INFO)
    if len(sys.argv) != 2:
        sys.exit(f"usage: python -m {main.__module__} FOLDER")
    try:
        sys.exit(main(Path(sys.argv[1])))
    except UserError as error:
        print(f"ursa: {error}", file=sys.stderr, flush=True)
        sys.exit(LATER if isinstance(error, Gone) else MISTAKE)
    finally:  # an interpreter that is half gone can handle no signal
        Ending.finished = True
        signal.pthread_sigmask(signal.SIG_BLOCK, (*SIGNALS, signal.SIGALRM))
