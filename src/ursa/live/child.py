"""Child: how a process of a run begins and ends.

A supervisor starts it, in a session of its own so that Ctrl-C in the terminal reaches only the
supervisor. It ends when it is asked to, or when its supervisor is gone: nobody is left to ask.
"""

import faulthandler
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from ursa.errors import UserError

SUPERVISOR = "URSA_SUPERVISOR"  # variable of the environment: the pid of who looks after us
SIGNALS = (signal.SIGTERM, signal.SIGINT)
STACKS = signal.SIGUSR1  # tells a process to write down where it is
MISTAKE = 2  # exit code of what a person has to put right


class Ending:
    """Whether this process has been asked to end. A second signal ends it at once."""

    def __init__(self, longest: int = 0) -> None:
        """From now on; `longest` seconds after the first signal it ends in any case, 0: never."""
        said = os.environ.get(SUPERVISOR, "")
        self._supervisor = int(said) if said.isdigit() else None
        self._signalled, self._longest = False, longest
        for number in SIGNALS:
            signal.signal(number, self._ask)
        signal.signal(signal.SIGALRM, self._now)

    @property
    def orphaned(self) -> bool:
        """Whether the supervisor that started us is gone."""
        return self._supervisor is not None and os.getppid() != self._supervisor

    @property
    def asked(self) -> bool:
        """Whether to end, for whatever reason."""
        return self._signalled or self.orphaned

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._signalled:
            self._now(number, frame)
        self._signalled = True
        signal.alarm(self._longest)

    def _now(self, number: int, _: FrameType | None) -> None:
        for each in (*SIGNALS, signal.SIGALRM):  # a third must not cut the farewell short
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)  # by way of every `finally` and `with`


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
        sys.exit(MISTAKE)
