"""Outlet: a way out of this process, to a terminal or a disk, that never holds anybody up.

A terminal that nobody reads, a pipe that is closed, a disk that hangs: whoever looks after a robot
must not wait for any of them, nor end of it. So a thread of its own writes, and waits alone.
"""

import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 256  # things that may wait
READING = 2.0  # s in which not a word is read, then nobody is believed to read the last ones
WAIT = 1.0  # s between two looks at a terminal that takes nothing


class Outlet(Generic[T]):
    """Gives things to a sink, in order, from a thread of its own."""

    def __init__(self, sink: Callable[[T], None], name: str, most: int = MOST) -> None:
        """`sink` may take as long as it likes; an OSError of it costs that one thing."""
        self._sink, self._most = sink, most
        self._waiting: deque[tuple[T, bool]] = deque()
        self._busy, self._done = False, 0  # whether the sink has one; how many it has had
        self._over = False
        self._turn = threading.Condition()
        self.lost = 0  # things that mattered and did not get out
        self.passed_over = 0  # and others
        self._thread = threading.Thread(target=self._give, name=name, daemon=True)
        self._thread.start()

    def put(self, thing: T, passing: bool = False) -> None:
        """Hand it over. Too many wait: the oldest of those that are only `passing` goes, or else
        the oldest of all."""
        with self._turn:
            self._waiting.append((thing, passing))
            if len(self._waiting) > self._most:
                self._leave_out()
            self._turn.notify_all()

    def close(self, patience: float) -> bool:
        """As `settle`; then nothing more is taken out, but what still waits may yet get out."""
        found = self.settle(patience)
        with self._turn:
            self._over = True
            self._turn.notify_all()
        return found

    def settle(self, patience: float) -> bool:
        """Wait until all is out, but no longer than that without anything getting out."""
        with self._turn:
            while self._left:
                done = self._done
                if not self._turn.wait_for(lambda done=done: self._done > done, patience):
                    return False
        return True

    @property
    def _left(self) -> int:
        return len(self._waiting) + self._busy

    def _leave_out(self) -> None:
        at = next((n for n, (_, passing) in enumerate(self._waiting) if passing), 0)
        _, passing = self._waiting[at]
        del self._waiting[at]
        self.passed_over += passing
        self.lost += not passing

    def _give(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._waiting or self._over)
                if not self._waiting:
                    return
                (thing, passing), self._busy = self._waiting.popleft(), True
            try:
                self._sink(thing)
            except (OSError, ValueError):  # nobody reads any more, or the stream was closed
                with self._turn:
                    self.passed_over += passing
                    self.lost += not passing
            with self._turn:
                self._busy, self._done = False, self._done + 1
                self._turn.notify_all()


def unfailing(say: Callable[[str], None]) -> Callable[[str], None]:
    """The same, for whoever looks after a robot: what goes wrong with saying it is passed over."""

    def said(text: str) -> None:
        with contextlib.suppress(Exception):
            say(text)

    return said


def write_all(descriptor: int, data: bytes) -> None:
    """All of it, however long the other side takes; OSError if there is no other side.

    Not by way of a stream of Python's: that has a lock, and a thread that waits for ever inside it
    would keep the interpreter from leaving.
    """
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:  # somebody else made it so
            select.select([], [descriptor], [], WAIT)
