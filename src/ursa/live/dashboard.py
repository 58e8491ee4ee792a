"""Dashboard: one line that says how a run on a robot is doing."""

import math
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from io import TextIOBase
from typing import TextIO

from ursa.gate.mailbox import Told
from ursa.journal import WINDOW, duration
from ursa.live.gating import clamps, interventions
from ursa.live.supervisor import Supervisor
from ursa.live.tally import SHOWN

EVERY, ON_TERMINAL = 5.0, 0.2  # s between two lines


@dataclass(frozen=True, kw_only=True)
class Status:
    """What the line tells."""

    rows: int
    total: int  # 0: until told to end
    rate: float  # rows per second lately; nan: nobody knows yet
    updates: int
    mode: str
    interventions: int
    clamps: int
    restarts: int
    homings: int = 0  # these four are shown when they are not zero
    outs: int = 0
    lost: int = 0
    rises: int = 0
    note: str = ""  # what somebody should look at


def line(status: Status) -> str:
    """A status in words.

    >>> so_far = dict(rows=50, total=200, rate=20.0, updates=25)
    >>> said = line(Status(**so_far, mode="run", interventions=3, clamps=9, restarts=1))
    >>> said[:51]
    '25% rows 50/200  20.0 rows/s  ETA 0:07  updates 25 '
    >>> said[52:]
    'ratio 0.50  RUN  interventions 3  clamps 9  restarts 1'
    >>> acts = dict(mode="run", interventions=3, clamps=9, restarts=1)
    >>> line(Status(**so_far, **acts, homings=2, lost=1))[-29:]
    'restarts 1  homings 2  lost 1'
    """
    left = (status.total - status.rows) / status.rate if status.total and status.rate > 0 else 0
    ratio = status.updates / status.rows if status.rows else 0.0
    known = status.rate == status.rate
    parts = [
        f"{100 * status.rows / status.total:.0f}% rows {status.rows:,}/{status.total:,}"
        if status.total
        else f"rows {status.rows:,}",
        f"{status.rate:.1f} rows/s" if known else "- rows/s",
        f"ETA {duration(left if left else math.nan)}" if status.total else "",
        f"updates {status.updates:,}",
        f"ratio {ratio:.2f}",
        status.mode.upper(),
        f"interventions {status.interventions}",
        f"clamps {status.clamps}",
        f"restarts {status.restarts}",
        *(f"{name} {count}" for name in SHOWN if (count := getattr(status, name))),
        status.note,
    ]
    return "  ".join(part for part in parts if part)


class Dashboard:
    """Shows a supervisor's state: redrawn on a terminal, repeated at times in a file."""

    def __init__(
        self,
        quiet: bool = False,
        stream: TextIOBase | TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quiet, self._stream, self._clock = quiet, stream or sys.stderr, clock
        self._redraws = self._stream.isatty()
        self._marks: deque[tuple[float, int]] = deque()
        self._shown, self._drawn = -math.inf, False

    def show(self, supervisor: Supervisor) -> None:
        """The line, when its time has come."""
        now = self._clock()
        if now - self._shown < (ON_TERMINAL if self._redraws else EVERY):
            return
        self._shown = now
        text = line(self.status(supervisor, now))
        if self._quiet:
            return
        if self._redraws:
            self._stream.write(f"\r\x1b[2K{text}")
            self._drawn = True
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def say(self, text: str) -> None:
        """Something that happened, on a line of its own; also when quiet."""
        self._stream.write(f"{chr(10) if self._drawn else ''}ursa: {text}\n")
        self._drawn = False
        self._stream.flush()

    def status(self, supervisor: Supervisor, now: float) -> Status:
        rows, told = supervisor.rows, supervisor.told
        self._marks.append((now, rows))
        while len(self._marks) > 2 and self._marks[1][0] <= now - WINDOW:
            self._marks.popleft()
        (begin, first), (end, last) = self._marks[0], self._marks[-1]
        updates = supervisor.progress("learner")
        return Status(
            rows=rows,
            total=supervisor.live.rows,
            rate=(last - first) / (end - begin) if end > begin else math.nan,
            updates=updates,
            mode=_mode(supervisor, told),
            interventions=0 if told is None else interventions(told.counts),
            clamps=0 if told is None else clamps(told.counts),
            restarts=supervisor.restarts,
            **supervisor.diary.tally.counts,
            note=_note(supervisor, told.fault if told else ""),
        )


def _mode(supervisor: Supervisor, told: Told | None) -> str:
    """Of the gate; what a dead one told last is not what the robot does now."""
    if told is None:
        return "starting"
    return "no gate" if supervisor.wards["gate"].ended() else told.mode.value


def _note(supervisor: Supervisor, fault: str) -> str:
    """What somebody should look at, if anything."""
    if fault:
        return fault
    beat = supervisor.wards["recorder"].beat
    paused = "" if beat is None else str(beat.said.get("paused", ""))
    return f"NOT RECORDING: {paused}" if paused else supervisor.diary.refusal
