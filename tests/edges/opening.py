"""Opening: every kind of file that URSA reads, through the function that reads it for users.

Each opener returns what the user is told; AssertionError if the file was believed.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from edges import hostile
from log.logs import LAYOUT
from ursa import checkpoint, journal, segments
from ursa.emulator import script
from ursa.errors import UserError
from ursa.evaluate import results
from ursa.live import settings as live_settings
from ursa.log import store
from ursa.run import folder as runs
from ursa.run import publish, settings
from ursa.skill.repertoire import Repertoire

MEMORY = 200 << 20  # bytes that opening a file may take
SECONDS = 2.0  # of the processor
HANGS = 20  # seconds after which a read that waits for ever is broken off


def refused(act: Callable[[], object]) -> str:
    """The error in words that opening gives."""
    try:
        act()
    except UserError as error:
        return str(error)
    raise AssertionError("it was believed")


def config(folder: Path) -> str:
    return refused(lambda: settings.read(folder / "config.json"))


def agent(folder: Path) -> str:
    return refused(lambda: publish.read(folder / "agent.safetensors", hostile.AGENT))


def repertoire(folder: Path) -> str:
    return refused(lambda: Repertoire.load(folder / "repertoire.npz"))


def saved(folder: Path) -> str:
    def there(meta: dict) -> None:
        segments.verify(folder / "rows", meta.get("segments", [{}]))

    return refused(lambda: checkpoint.load(folder / "checkpoints", hostile.STATE, there))


def result(folder: Path) -> str:
    return refused(lambda: results.load(folder / "seed_0.json"))


def lines(folder: Path) -> str:
    """A journal is read line by line, and what is no line is passed over."""
    assert list(journal.read(folder)) == [], "it was believed"
    return "metrics.jsonl: no line of it counts"


def starts(folder: Path) -> str:
    """It only explains a run; a damaged one is begun anew."""
    assert runs.note(folder, "cpu", ["ursa"]) == []
    return "environment.json: begun anew"


def log(folder: Path) -> str:
    _, faults = store.audit(folder, LAYOUT)
    assert faults, "it was believed"
    return str(faults[0])


def live(folder: Path) -> str:
    return refused(lambda: live_settings.read(folder))


def faults(folder: Path) -> str:
    return refused(lambda: script.read(folder / "faults.toml"))


OPENERS: dict[str, Callable[[Path], str]] = {
    "config.json": config,
    "agent.safetensors": agent,
    "repertoire.npz": repertoire,
    "seed_0.json": result,
    "metrics.jsonl": lines,
    "environment.json": starts,
    "steps-000001.db": log,
    "steps-000001.ack": log,
    "live.json": live,
    "faults.toml": faults,
}


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """What a block took: bytes of memory at its highest, seconds of the processor."""
    taken: dict[str, float] = {}

    def broken(*_: object) -> None:
        raise TimeoutError(f"still reading after {HANGS} s")

    before = signal.signal(signal.SIGALRM, broken)
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark begins anew
    base, begun = _memory("VmRSS"), time.process_time()
    signal.alarm(HANGS)
    try:
        yield taken
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        taken["memory"] = _memory("VmHWM") - base
        taken["seconds"] = time.process_time() - begun


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise KeyError(name)
