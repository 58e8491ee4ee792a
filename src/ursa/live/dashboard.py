"""Dashboard: one line that says how a run on a robot is doing, as wide as the terminal."""

import math
import os
import sys
import textwrap
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from io import TextIOBase
from typing import TextIO

from ursa.gate.mailbox import Told
from ursa.journal import WINDOW, duration
from ursa.live import notice
from ursa.live.gating import clamps, interventions
from ursa.live.supervisor import Supervisor
from ursa.live.tally import SHOWN

EVERY, ON_TERMINAL = 5.0, 0.2  # s between two lines
LEAST = ("clamps", "ratio", "interventions", "left", *SHOWN, "restarts", "updates", "rate", "rows")
NARROWEST, USUAL = 20, 80  # letters in a line of a terminal, where it does not say or says nonsense


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
    return "  ".join([*_parts(status).values(), *([status.note] if status.note else [])])


def fitted(status: Status, width: int) -> list[str]:
    """The same in lines of so many letters: what matters least goes first, the mode never.

    What somebody is asked to do is never cut: where it does not fit it has lines of its own.

    >>> so_far = dict(rows=50, total=200, rate=20.0, updates=25, interventions=3, clamps=9)
    >>> fitted(Status(**so_far, mode="fault", restarts=1, note="stop by order"), 40)
    ['25% rows 50/200  20.0 rows/s  FAULT', 'stop by order']
    """
    whole = line(status)
    if len(whole) <= width:
        return [whole]
    parts = _parts(status)
    for name in LEAST:
        if len("  ".join(parts.values())) <= width:
            break
        parts.pop(name, None)
    return ["  ".join(parts.values()), *textwrap.wrap(status.note, width)]


def _parts(status: Status) -> dict[str, str]:
    left = (status.total - status.rows) / status.rate if status.total and status.rate > 0 else 0
    ratio = status.updates / status.rows if status.rows else 0.0
    known = status.rate == status.rate
    parts = {
        "rows": f"{100 * status.rows / status.total:.0f}% rows {status.rows:,}/{status.total:,}"
        if status.total
        else f"rows {status.rows:,}",
        "rate": f"{status.rate:.1f} rows/s" if known else "- rows/s",
        "left": f"ETA {duration(left if left else math.nan)}" if status.total else "",
        "updates": f"updates {status.updates:,}",
        "ratio": f"ratio {ratio:.2f}",
        "mode": status.mode.upper(),
        "interventions": f"interventions {status.interventions}",
        "clamps": f"clamps {status.clamps}",
        "restarts": f"restarts {status.restarts}",
        **{name: f"{name} {count}" for name in SHOWN if (count := getattr(status, name))},
    }
    return {name: text for name, text in parts.items() if text}


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
        self._shown = -math.inf
        self._drawn: list[str] = []  # what stands below all that was said
        self._lock = threading.Lock()  # a key is answered, a black box failed: from other threads

    def show(self, supervisor: Supervisor) -> None:
        """The line, when its time has come."""
        now = self._clock()
        if now - self._shown < (ON_TERMINAL if self._redraws else EVERY):
            return
        self._shown = now
        status = self.status(supervisor, now)
        if self._quiet:
            return
        with self._lock:
            if self._redraws:
                drawn = fitted(status, self._width() - 1)  # the last column may wrap by itself
                self._stream.write(self._wiped() + "\n".join(drawn))
                self._drawn = drawn
            else:
                self._stream.write(f"{line(status)}\n")
            self._stream.flush()

    def say(self, text: str) -> None:
        """Something that happened, on lines of its own above the status; also when quiet."""
        with self._lock:
            self._stream.write(f"{self._wiped()}ursa: {text}\n")
            self._drawn = []
            self._stream.flush()

    def _width(self) -> int:
        try:
            return max(NARROWEST, os.get_terminal_size(self._stream.fileno()).columns or USUAL)
        except (OSError, ValueError):
            return USUAL

    def _wiped(self) -> str:
        """Letters that take away what was drawn, also if the window has become narrower since."""
        if not self._drawn:
            return ""
        rows = sum(max(1, math.ceil(len(each) / self._width())) for each in self._drawn)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "") + "\x1b[J"

    def status(self, supervisor: Supervisor, now: float) -> Status:
        rows, told = supervisor.rows, supervisor.told
        self._marks.append((now, rows))
        while len(self._marks) > 2 and self._marks[1][0] <= now - WINDOW:
            self._marks.popleft()
        (begin, first), (end, last) = self._marks[0], self._marks[-1]
        updates = supervisor.progress("learner")
        rate = (last - first) / (end - begin) if end > begin else math.nan
        return Status(
            rows=rows,
            total=supervisor.live.rows,
            rate=rate,
            updates=updates,
            mode=_mode(supervisor, told),
            interventions=0 if told is None else interventions(told.counts),
            clamps=0 if told is None else clamps(told.counts),
            restarts=supervisor.restarts,
            **supervisor.diary.tally.counts,
            note=_note(supervisor, told, rate),
        )


def _mode(supervisor: Supervisor, told: Told | None) -> str:
    """Of the gate; what a dead one told last is not what the robot does now."""
    if told is None:
        return "starting"
    return "no gate" if supervisor.wards["gate"].ended() else told.mode.value


def _note(supervisor: Supervisor, told: Told | None, rate: float) -> str:
    """What somebody should look at, if anything."""
    if told is not None and told.fault:
        refused = supervisor.diary.refusal
        return f"{told.fault} ({refused})" if refused else told.fault
    beat = supervisor.wards["recorder"].beat
    paused = "" if beat is None else str(beat.said.get("paused", ""))
    if paused:
        return f"NOT RECORDING: {paused}"
    return notice.words(supervisor.notice) or supervisor.diary.refusal or _busy(supervisor, rate)


def _busy(supervisor: Supervisor, rate: float) -> str:
    """Why nothing seems to happen at first: programs are compiled, and virtual time waits."""
    if rate > 0 or supervisor.progress("learner"):
        return ""
    if not supervisor.rows:
        return "compiling; it begins when that is done"
    return "compiling; time stands still meanwhile" if supervisor.live.virtual else ""
