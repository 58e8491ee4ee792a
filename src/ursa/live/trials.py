"""Trials: how far a robot is with a series of trials, when it will be done, and what they came to.

Each rollout is written down when it is over: what a robot has done is not lost with the program.
"""

import json
import math
import sys
import time
import zlib
from collections.abc import Callable
from io import TextIOBase
from pathlib import Path
from typing import Any, TextIO

from ursa.gate.wired import Wired
from ursa.journal import duration

NAME = "trials.jsonl"
CLEAR = "\r\x1b[2K"  # a line that was drawn over and over
EVERY = 0.5  # s of the robot's time between two lines on a terminal


class Trials:
    """Counts the control steps of an engine: all trials are of one length."""

    def __init__(
        self,
        engine: Wired,
        count: int,
        steps: int,
        stream: TextIOBase | TextIO | None = None,
        earlier: int = 0,
    ) -> None:
        """`count` trials of `steps` control steps each, of which somebody has made some earlier."""
        self.count, self.steps, self.done = count, steps, earlier * steps
        self._earlier = self.done
        self._engine, self._stream = engine, stream or sys.stderr
        self._redraws = self._stream.isatty()
        self._begun = self._shown = engine.clock.now()

    def step(self) -> None:
        """One control step more; shown now and then. For `stepped` of the engine."""
        self.done += 1
        now = self._engine.clock.now()
        if self._redraws and now - self._shown >= EVERY:
            self._shown = now
            self._stream.write(f"{CLEAR}{self.line()}")
            self._stream.flush()

    def over(self, number: int) -> None:
        """So many trials are over; stopped early one took fewer steps, made again it took more."""
        self.done = number * self.steps
        if self._redraws:
            self._stream.write(CLEAR)
            self._stream.flush()

    @property
    def left(self) -> float:
        """Seconds, by the pace so far with all standing up and waiting; nan: nobody knows yet."""
        passed = self._engine.clock.now() - self._begun
        more = max(self.count * self.steps - self.done, 0)
        mine = self.done - self._earlier
        return passed / mine * more if mine > 0 else math.nan

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


class Kept:
    """A file with a line of JSON for each rollout that is over; appended to, start after start.

    Each line ends with a checksum of the rest of it, so that a later start can rely on it.
    """

    def __init__(self, folder: Path, say: Callable[[str], None], **about: Any) -> None:
        """Begins with a line about this start."""
        self.path, self._say = folder / NAME, say
        self.write(kind="start", time=time.strftime("%Y-%m-%dT%H:%M:%S%z"), **about)

    def write(self, **what: Any) -> None:
        """A line; a disk that takes none costs the line, never the trial."""
        plain = {name: _plain(value) for name, value in what.items()}
        line = json.dumps({**plain, "crc": checksum(plain)})
        try:
            with open(self.path, "ab+") as file:
                file.seek(max(file.tell() - 1, 0))
                torn = file.read(1) not in (b"", b"\n")  # somebody was killed while writing
                file.write(f"{chr(10) * torn}{line}\n".encode())
        except OSError as error:
            self._say(f"{self.path}: {error}; what this rollout came to is not written down")


def checksum(line: dict[str, Any]) -> int:
    """Of what a line says, as it is written."""
    return zlib.crc32(json.dumps(line).encode())


def teller(stream: TextIOBase | TextIO | None = None) -> Callable[[str], None]:
    """Says things on lines of their own, also where a line is drawn over and over."""
    out = stream or sys.stderr
    begin = CLEAR if out.isatty() else ""

    def say(text: str) -> None:
        out.write(f"{begin}ursa: {text}\n")
        out.flush()

    return say


def _plain(value: Any) -> Any:
    """JSON has no word for what is not a number but null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
