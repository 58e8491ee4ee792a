"""Trials: how far a robot is with a series of trials, and when it will be done."""

import math
import sys
from io import TextIOBase
from typing import TextIO

from ursa.gate.wired import Wired
from ursa.journal import duration

EVERY = 0.5  # s of the robot's time between two lines on a terminal


class Trials:
    """Counts the control steps of an engine: all trials are of one length."""

    def __init__(
        self, engine: Wired, count: int, steps: int, stream: TextIOBase | TextIO | None = None
    ) -> None:
        """`count` trials of `steps` control steps each, from now on."""
        self.count, self.steps, self.done = count, steps, 0
        self._engine, self._stream = engine, stream or sys.stderr
        self._redraws = self._stream.isatty()
        self._begun = self._shown = engine.clock.now()

    def step(self) -> None:
        """One control step more; shown now and then. For `stepped` of the engine."""
        self.done += 1
        now = self._engine.clock.now()
        if self._redraws and now - self._shown >= EVERY:
            self._shown = now
            self._stream.write(f"\r\x1b[2K{self.line()}")
            self._stream.flush()

    def over(self, number: int) -> None:
        """So many trials are over; one that was stopped early took fewer steps."""
        self.done = max(self.done, number * self.steps)
        if self._redraws:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()

    @property
    def left(self) -> float:
        """Seconds, by the pace so far with all standing up and waiting; nan: nobody knows yet."""
        passed = self._engine.clock.now() - self._begun
        more = max(self.count * self.steps - self.done, 0)
        return passed / self.done * more if self.done else math.nan

    def line(self) -> str:
        """What a terminal shows meanwhile."""
        number = min(self.done // self.steps + 1, self.count)
        step = self.done - (number - 1) * self.steps
        share = min(self.done / (self.count * self.steps), 1.0)
        mode = "-" if self._engine.told is None else self._engine.told.mode.upper()
        return (
            f"{share:.0%} rollout {number} of {self.count}, step {step} of {self.steps}, {mode}, "
            f"ETA {duration(self.left)}"
        )
