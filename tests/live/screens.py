"""A process at a terminal of its own: keys to press, and what it shows."""

import contextlib
import os
import pty
import subprocess
import sys

from live.stacked import TESTS


def at_terminal(words):
    """A Python process and our end of its terminal."""
    ours, theirs = pty.openpty()
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": path},
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    return process, ours


class Screen:
    """What a terminal has been told so far."""

    def __init__(self, handle):
        self._handle, self.text = handle, ""

    def shows(self, words):
        with contextlib.suppress(BlockingIOError, OSError):
            while said := os.read(self._handle, 4096):
                self.text += said.decode(errors="replace")
        return words in self.text

    @property
    def joined(self):
        """Without the ends of lines."""
        return self.text.replace("\r\n", "")
