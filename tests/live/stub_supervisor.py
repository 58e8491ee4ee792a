"""Supervisors with a protection removed: `python -m live.stub_supervisor FOLDER SABOTAGE`."""

import fcntl
import sys

from ursa.live import child, supervisor
from ursa.live.ward import Ward


def no_restart():
    """Who ends stays dead."""
    real = Ward._failed

    def failed(self, how):
        hopeful = real(self, how)
        self._after = float("inf")
        return hopeful

    Ward._failed = failed


def no_watch():
    """A process that hangs is left alone."""
    Ward.silent = property(lambda self: 1.0)


def no_lock():
    """Anybody may have the folder."""
    fcntl.flock = lambda *_: None


def no_latch():
    """A stop is taken back by the next look."""
    supervisor.conduct.stopped_by_hand = lambda told: False


def no_revival():
    """Ends although the recorder is dead and rows are waiting for it."""
    supervisor.Supervisor.revive_recorder = lambda self, patience: None


ALL = (no_restart, no_watch, no_lock, no_latch, no_revival)
SABOTAGES = {each.__name__: each for each in ALL}


if __name__ == "__main__":
    for sabotage in sys.argv.pop().split("+"):
        SABOTAGES[sabotage]()
    child.enter(supervisor.main)
