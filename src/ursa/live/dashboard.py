"""Dashboard: one line that says how a run on a robot is doing, as wide as the terminal."""

import logging
import math
import os
import sys
import textwrap
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOBase
from typing import TextIO

from ursa.gate.mailbox import Told
from ursa.journal import WINDOW, duration
from ursa.live import notice
from ursa.live.gating import clamps, interventions
from ursa.live.outlet import READING, Outlet, write_all
from ursa.live.supervisor import Supervisor
from ursa.live.tally import SHOWN
from ursa.shared import clock as clocks

EVERY, ON_TERMINAL = 5.0, 0.2  # s between two lines
GONE = "THE EMULATOR IS GONE, time stands still: start it again as before"
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
    homings: int = 0  # these five are shown when they are not zero
    stuck: int = 0
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
    """Shows a supervisor's state: redrawn on a terminal, repeated at times in a file.

    Whoever shows or says something never waits for the terminal, nor hears of its trouble.
    """

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
        self._left_out = 0  # things said that nobody could read, as far as that was told
        self._lock = threading.Lock()  # a key is answered, a black box failed: from other threads
        self._descriptor = _descriptor(self._stream)
        # Memory takes everything at once; only a terminal, a pipe or a file can keep us waiting.
        outlet = None if self._descriptor is None else Outlet(self._write, "dashboard")
        self._outlet: Outlet[Status | str] | None = outlet

    def show(self, supervisor: Supervisor) -> None:
        """The line, when its time has come."""
        now = self._clock()
        if now - self._shown < (ON_TERMINAL if self._redraws else EVERY):
            return
        self._shown = now
        status = self.status(supervisor, now)
        if not self._quiet:
            self._put(status, passing=True)

    def say(self, text: str) -> None:
        """Something that happened, on lines of its own above the status; also when quiet."""
        self._put(text, passing=False)

    def close(self) -> None:
        """The last words get out, if somebody reads them."""
        if self._outlet is not None:
            self._outlet.close(READING)

    def _put(self, thing: Status | str, *, passing: bool) -> None:
        if self._outlet is not None:
            self._outlet.put(thing, passing)
        else:
            with self._lock, suppress(OSError, ValueError):
                self._write(thing)

    def _write(self, thing: Status | str) -> None:
        """A status or something said; OSError if nobody reads."""
        if isinstance(thing, str):
            said = [*self._gap(), f"ursa: {thing}"]
            self._out(f"{self._wiped()}{chr(10).join(said)}\n")
            self._drawn = []
        elif self._redraws:
            drawn = fitted(thing, self._width() - 1)  # the last column may wrap by itself
            self._out(self._wiped() + "\n".join(drawn))
            self._drawn = drawn
        else:
            self._out(f"{line(thing)}\n")

    def _gap(self) -> list[str]:
        """That something is missing here, once."""
        lost = 0 if self._outlet is None else self._outlet.lost
        missing, self._left_out = lost - self._left_out, lost
        return [f"ursa: {missing} messages are missing here, nobody read them"] if missing else []

    def _out(self, text: str) -> None:
        if self._descriptor is None:
            self._stream.write(text)
            self._stream.flush()
        else:
            coding = getattr(self._stream, "encoding", None) or "utf-8"
            write_all(self._descriptor, text.encode(coding, errors="replace"))

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


class Voice(logging.Handler):
    """What the program notes is said, too, by the same way: never past it to the terminal."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


@contextmanager
def spoken(say: Callable[[str], None]) -> Iterator[None]:
    """Notes of ours are said inside this block."""
    voice, ours = Voice(say), logging.getLogger("ursa")
    ours.addHandler(voice)
    try:
        yield
    finally:
        ours.removeHandler(voice)


def _descriptor(stream: TextIOBase | TextIO) -> int | None:
    """The number by which the kernel knows a stream; None: it does not."""
    try:
        stream.flush()
        return stream.fileno()
    except (OSError, ValueError):
        return None


def _mode(supervisor: Supervisor, told: Told | None) -> str:
    """Of the gate; what a dead one told last is not what the robot does now."""
    if told is None:
        return "starting"
    return "no gate" if supervisor.wards["gate"].ended() else told.mode.value


def _note(supervisor: Supervisor, told: Told | None, rate: float) -> str:
    """What somebody should look at, if anything."""
    live = supervisor.live
    if live.virtual and not clocks.kept(clocks.path_of(live.clock)):
        return GONE  # whatever else there is to do, nothing comes of it before
    if told is not None and told.fault:
        refused = supervisor.diary.refusal
        return f"{told.fault} ({refused})" if refused else told.fault
    beat = supervisor.wards["recorder"].beat
    paused = "" if beat is None else str(beat.said.get("paused", ""))
    if paused:
        return f"NOT RECORDING: {paused}"
    if asked := supervisor.asked:
        return asked
    return notice.words(supervisor.notice) or supervisor.diary.refusal or _busy(supervisor, rate)


def _busy(supervisor: Supervisor, rate: float) -> str:
    """Why nothing seems to happen at first: programs are compiled, and virtual time waits."""
    if rate > 0 or supervisor.progress("learner"):
        return ""
    if not supervisor.rows:
        return "compiling; it begins when that is done"
    return "compiling; time stands still meanwhile" if supervisor.live.virtual else ""
