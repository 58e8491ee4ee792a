"""Journal: what a run says of itself. JSON lines, TensorBoard events, one line of progress.

    metrics.jsonl          one JSON object per event: step, time (a label), kind, the metrics
    events.out.tfevents.*  the same numbers for TensorBoard
    seed_5/, seed_6/, ...  the same two per seed, by its number, where several train as one
                           program; the files above then hold the means over seeds

A number that is not finite is written as null, and named in the line's `nonfinite`. A full disk
costs lines, never the run.
"""

import contextlib
import json
import logging
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ursa import durable
from ursa.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

LINES = "metrics.jsonl"
LONGEST = 1 << 20  # bytes of a line that is looked at
RESERVED = {"step", "time", "kind", "nonfinite"}
SETTLED = 10.0  # s after which the pace of a run tells when it ends
WINDOW = 30.0  # s over which the rate is taken: compiling at the start should not spoil the ETA
log = logging.getLogger(__name__)


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """The events of a folder in the order written; a line torn by a kill is left out."""
    path = folder / LINES
    if not path.exists():
        return
    try:
        durable.ordinary(path)
    except ValueError as error:
        raise UserError(f"{path.parent}: {error}: put back the journal of this run") from None
    with open(path, "rb", buffering=LONGEST) as file:
        while line := file.readline(LONGEST):
            try:
                event = json.loads(line) if line.endswith(b"\n") else None
            except (ValueError, RecursionError):
                event = None
            if isinstance(event, dict) and isinstance(event.get("step"), int):
                yield event


class Journal:
    """The events of one run. Write the line of a step before its checkpoint, then resume fits."""

    def __init__(
        self,
        folder: Path,
        *,
        seeds: int = 1,
        first: int = 0,
        resume: int | None = None,
        tensorboard: bool = True,
    ) -> None:
        """Begin anew, or with `resume` continue after that step: what lies beyond it is cut off.

        The seeds are `first`, `first` + 1, and so on.
        """
        if seeds < 1:
            raise UserError(f"journal: seeds = {seeds}, want at least 1")
        self._folders = [folder / f"seed_{first + i}" for i in range(seeds)] if seeds > 1 else []
        self._main = _File(folder, resume, tensorboard)
        self._parts = [_File(part, resume, tensorboard) for part in self._folders]

    def write(self, step: int, metrics: Mapping[str, Any], kind: str = "train") -> None:
        """One event. A value is a number, text, or one number per seed (fetch arrays first)."""
        if taken := RESERVED & metrics.keys():
            raise ValueError(f"journal: {sorted(taken)} are names the journal uses itself")
        seeds = max(1, len(self._parts))
        columns = {name: _per_seed(name, value, seeds) for name, value in metrics.items()}
        now = round(time.time(), 3)
        for index, part in enumerate(self._parts):
            part.write(step, now, kind, {name: values[index] for name, values in columns.items()})
        self._main.write(step, now, kind, {name: _mean(v) for name, v in columns.items()})

    def sync(self) -> None:
        """Make all lines survive a power cut; call it before a checkpoint that follows them."""
        for file in (self._main, *self._parts):
            file.sync()

    def close(self) -> None:
        for file in (self._main, *self._parts):
            file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _per_seed(name: str, value: Any, seeds: int) -> list[Any]:
    """One plain value for each seed."""
    if value is None or isinstance(value, str):
        return [value] * seeds
    array = np.asarray(value)
    if array.shape not in ((), (seeds,)):
        raise ValueError(f"journal: {name} has shape {array.shape}, want () or ({seeds},)")
    return np.broadcast_to(array, (seeds,)).tolist()


def _mean(values: list[Any]) -> Any:
    """The mean over seeds (NaN if one is NaN: nothing is hidden); what is no number stays."""
    if all(value == values[0] for value in values):
        return values[0]
    return sum(values) / len(values)


class _File:
    """The lines and events of one folder."""

    def __init__(self, folder: Path, resume: int | None, tensorboard: bool) -> None:
        self._path = folder / LINES
        with durable.room_for(LINES, folder, 0):
            if resume is not None:
                _cut(self._path, resume)
            elif self._path.exists() and self._path.stat().st_size:
                raise UserError(f"{self._path} exists: resume that run or choose another folder")
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            self._end = os.fstat(self._descriptor).st_size
            self._events = _Events(folder, resume) if tensorboard else None
        self._dropped, self._unsynced = 0, False

    def write(self, step: int, now: float, kind: str, metrics: dict[str, Any]) -> None:
        bad = [name for name, value in metrics.items() if not _finite(value)]
        event = {"step": step, "time": now, "kind": kind, **metrics, **dict.fromkeys(bad)}
        if bad:
            event["nonfinite"] = bad
        data = json.dumps(event, allow_nan=False).encode() + b"\n"
        try:
            if os.write(self._descriptor, data) != len(data):
                raise OSError("the disk took part of a line")
            self._end += len(data)
            if self._events is not None:
                self._events.write(step, now, event)
        except OSError as error:
            with contextlib.suppress(OSError):  # the next line must not be glued to half a one
                os.ftruncate(self._descriptor, self._end)
            self._lose(f"from step {step} on", error)

    def sync(self) -> None:
        if self._unsynced:  # asked again, the kernel would say that all is well
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            self._unsynced = True
            self._lose("of late, perhaps, if the power fails", error)

    def _lose(self, which: str, error: OSError) -> None:
        """Told once: the disk may refuse for hours."""
        self._dropped += 1
        if self._dropped == 1:
            log.warning("%s loses lines %s: %s", self._path, which, error)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._events is not None:
            self._events.close()
            self._events = None


def _finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _cut(path: Path, last: int) -> None:
    """Leave the lines up to a step, whole; done in one rename."""
    if path.exists():
        kept = [json.dumps(event) + "\n" for event in read(path.parent) if event["step"] <= last]
        temporary = path.with_name(f"tmp.{path.name}")
        durable.write(temporary, "".join(kept).encode())
        durable.rename(temporary, path)


class _Events:
    """TensorBoard events, written here and now.

    Not `SummaryWriter`: it hands events to a thread through a bounded queue, and once that thread
    has died of a full disk the next event would wait for ever.
    """

    def __init__(self, folder: Path, resume: int | None) -> None:
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto import event_pb2, summary_pb2

        # protobuf makes these classes when it is imported, which a type checker cannot see
        self._event = event_pb2.Event  # pyright: ignore[reportAttributeAccessIssue]
        self._summary = summary_pb2.Summary  # pyright: ignore[reportAttributeAccessIssue]
        # Its name holds the second and the host; a run resumed at once must not get the same.
        self._writer = EventsWriter(str(folder / "events"), f".{os.getpid()}.{time.time_ns()}")
        if resume is not None:  # TensorBoard then hides what it has from this step on
            start = {"status": "START"}
            self._writer.write_event(self._event(step=resume + 1, session_log=start))

    def write(self, step: int, now: float, event: Mapping[str, Any]) -> None:
        prefix = event["kind"]
        values = [
            self._summary.Value(tag=f"{prefix}/{name}", simple_value=value)
            for name, value in event.items()
            if name not in RESERVED and isinstance(value, int | float)
        ]
        summary = self._summary(value=values)
        self._writer.write_event(self._event(wall_time=now, step=step, summary=summary))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class Progress:
    """One line that tells how far a run is: redrawn on a terminal, repeated at times in a file."""

    def __init__(
        self,
        total: int,
        *,
        device: str = "",
        precision: str = "",
        quiet: bool = False,
        every: float = 5.0,
        console: "Console | None" = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`every`: seconds between lines where there is no terminal."""
        self._total, self._fixed, self._clock, self._live = total, (device, precision), clock, None
        self._marks: deque[tuple[float, int]] = deque()
        self._foreseen = -math.inf  # when the end can be foreseen: at once, unless it pauses
        self._console, self._shown, self._line = None, -math.inf, ""
        if quiet:
            return
        from rich.console import Console
        from rich.live import Live

        self._console = console or Console(stderr=True)
        self._every = 0.2 if self._console.is_terminal else every
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False)

    def update(self, step: int, metrics: Mapping[str, float]) -> None:
        """Tell where the run is; the line appears when its time has come."""
        now = self._clock()
        self._marks.append((now, step))
        while len(self._marks) > 2 and self._marks[1][0] <= now - WINDOW:
            self._marks.popleft()
        if self._console is None:
            return
        self._line = self._said(step, metrics)
        if now - self._shown >= self._every:
            self._shown = now
            self._show()

    def pause(self, why: str) -> None:
        """Say why nothing moves for a while; until `start` nobody knows when it ends."""
        self._foreseen = math.inf
        if self._console is not None:
            self._console.print(why, highlight=False, markup=False, soft_wrap=True)

    def start(self, step: int) -> None:
        """From here on it goes at its own pace: rate and ETA forget what was before."""
        now = self._clock()
        self._marks = deque([(now, step)])
        self._foreseen = now + SETTLED

    @property
    def rate(self) -> float:
        """Steps per second lately; NaN until two updates lie apart."""
        if not self._marks or self._marks[-1][0] <= self._marks[0][0]:
            return math.nan
        (begin, first), (end, last) = self._marks[0], self._marks[-1]
        return (last - first) / (end - begin)

    def _said(self, step: int, metrics: Mapping[str, float]) -> str:
        known = self.rate > 0 and (step >= self._total or self._clock() >= self._foreseen)
        left = (self._total - step) / self.rate if known else math.nan
        parts = [
            f"{100 * step / max(1, self._total):.0f}%",
            f"{step:,}/{self._total:,}",
            f"{self.rate:,.0f} steps/s" if self.rate > 0 else "- steps/s",
            f"ETA {duration(left)}",
            *self._fixed,
            *(f"{name} {value:.3g}" for name, value in metrics.items()),
        ]
        return "  ".join(part for part in parts if part)

    def _show(self) -> None:
        from rich.text import Text

        text, self._line = Text(self._line, no_wrap=True, overflow="ellipsis"), ""
        if self._live is not None:
            self._live.update(text, refresh=True)
        elif self._console is not None:
            self._console.print(text.plain, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> "Progress":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._line:  # the end is always told
            self._show()
        if self._live is not None:
            self._live.stop()


def duration(seconds: float) -> str:
    """Hours, minutes and seconds; a dash when nobody knows.

    >>> duration(3723.4), duration(59), duration(math.nan)
    ('1:02:03', '0:59', '-')
    """
    if not math.isfinite(seconds):
        return "-"
    minutes, second = divmod(max(0, int(seconds)), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02d}:{second:02d}" if hour else f"{minute}:{second:02d}"
