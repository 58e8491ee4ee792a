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
    while found := present(folder):
        if not told:
            say(f"waiting for {', '.join(found)} of an earlier start to end")
            told = True
        if time.monotonic() - begun > live.patience.end:
            for role in found:
                _end(folder, live, role)
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


def _end(folder: Path, live: Live, role: str) -> None:
    """Kill the process that beat last, if it is what we think it is."""
    beat = pulse.last(folder, role)
    if beat is None:
        pid = 0
    else:
        pid = beat.pid
    module = getattr(live.modules, role)
    words: list[str] = []
    with contextlib.suppress(OSError):
        words = (PROCESSES / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    if module not in words:
        raise UserError(
            f"{role} of {folder} is played by a process that this run did not start: end it first "
            f"(its number is in {shared(folder) / f'pulse.{role}.writer.lock'})"
        )
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
