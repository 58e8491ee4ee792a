"""Orphans: processes of a run whose supervisor was killed. They end by themselves, or are ended."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from ursa.claim import Claim
from ursa.errors import UserError
from ursa.live.settings import ROLES, Live
from ursa.shared import pulse
from ursa.shared.place import shared

PAUSE = 0.05  # s between two looks
PROCESSES = Path("/proc")


def leave(folder: Path, live: Live, say: Callable[[str], None]) -> None:
    """Wait until no process of an earlier start is left; who hangs is killed. UserError: a stranger
    holds a part of the run."""
    begun, told = time.monotonic(), False
    killed: set[int] = set()  # who was: it may take a while to die, and has no words meanwhile
    while found := present(folder):
        if not told:
            say(f"waiting for {', '.join(found)} of an earlier start to end")
            told = True
        if time.monotonic() - begun > live.patience.end:
            for role in found:
                _end(folder, live, role, killed)
        time.sleep(PAUSE)


def present(folder: Path) -> list[str]:
    """Roles that a living process plays in this folder."""
    return [role for role in ROLES if played(folder, role)]


def played(folder: Path, role: str) -> bool:
    """Whether a living process plays a role in this folder."""
    path = shared(folder) / f"pulse.{role}.writer.lock"
    if not path.exists():
        return False
    try:
        Claim(path).close()
    except UserError:
        return True
    return False


def _end(folder: Path, live: Live, role: str, killed: set[int]) -> None:
    """Kill the process that beat last, if it is what we think it is."""
    beat = pulse.last(folder, role)
    if beat is not None and beat.pid in killed:
        return
    if beat is None or not plays(beat.pid, getattr(live.modules, role), folder):
        raise UserError(
            f"{role} of {folder} is played by a process that this run did not start: end it first "
            f"(its number is in {shared(folder) / f'pulse.{role}.writer.lock'})"
        )
    killed.add(beat.pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(beat.pid, signal.SIGKILL)


def plays(pid: int, module: str, folder: Path) -> bool:
    """Whether a process was started as this module for this very folder, by whatever path."""
    process = PROCESSES / str(pid)
    try:
        *words, place, _ = (process / "cmdline").read_bytes().split(b"\0")
        return module.encode() in words and (process / "cwd" / os.fsdecode(place)).samefile(folder)
    except (OSError, ValueError):  # gone, not ours to look at, or started without words
        return False
