"""Orphans: processes of a run whose supervisor was killed. They end by themselves, or are ended.

A gate among them lays the robot down, which takes some seconds. One that hangs does not, and the
robot may stand on its last target: it is ended as soon as a supervisor would have done it.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate import farewell
from ursa.gate import link as linking
from ursa.live.settings import ROLES, Live, Modules, watched
from ursa.shared import pulse
from ursa.shared.place import shared
from ursa.shared.sleepers import Sleepers

PAUSE = 0.05  # s between two looks
LYING_DOWN = 10.0  # s, twice what a gate that lives takes to lay its robot down and leave
PROCESSES = Path("/proc")


def leave(folder: Path, live: Live, say: Callable[[str], None]) -> None:
    """Wait until no process of an earlier start is left; who hangs is killed, and a robot whose
    gate was is told to go limp there and then. UserError: a stranger holds a part of the run."""
    begun, told, owed = time.monotonic(), False, False
    killed: set[int] = set()  # who was: it may take a while to die, and has no words meanwhile
    with closing(_Gate(folder, live)) as gate:
        while (found := present(folder)) or owed:
            if not told:
                say(f"waiting for {', '.join(found)} of an earlier start to end")
                told = True
            if owed and "gate" not in found:
                owed = False
                limp = farewell.send(linking.address(live.link), live.gate_limits())
                say(f"a gate of an earlier start hung and was killed: {limp}")
            late, lost = time.monotonic() - begun > live.patience.end, gate.lost()
            for role in found:
                if late or (role == "gate" and lost):
                    ended = _end(folder, live, role, killed)
                    owed |= ended and role == "gate"
                    if late and not ended:
                        raise _stranger(folder, role)
            time.sleep(PAUSE)


class _Gate:
    """The gate of an earlier start, which lays its robot down, or hangs."""

    def __init__(self, folder: Path, live: Live) -> None:
        self._folder, self._patience = folder, watched(live).patience.gate
        self._sleepers = Sleepers(live.clock)
        self._asleep = self._sleepers.of("gate")
        self._number: int | None = None  # of its last beat
        self._begun = self._heard = time.monotonic()

    def lost(self) -> bool:
        """Whether it shows no life for as long as a supervisor would bear, or takes too long. Who
        waits for a clock that stands still is not lost."""
        now, beat = time.monotonic(), pulse.last(self._folder, "gate")
        if self._asleep():
            self._begun = self._heard = now
        elif beat is not None and beat.number != self._number:
            self._number, self._heard = beat.number, now
        return now - self._heard > self._patience or now - self._begun > LYING_DOWN

    def close(self) -> None:
        self._sleepers.close()


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


def _end(folder: Path, live: Live, role: str, killed: set[int]) -> bool:
    """Kill the process that beat last, if it is what we think it is; whether it is."""
    beat = pulse.last(folder, role)
    if beat is not None and beat.pid in killed:
        return True
    if beat is None or not plays(beat.pid, getattr(live.modules, role), folder):
        return False
    killed.add(beat.pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(beat.pid, signal.SIGKILL)
    return True


def _stranger(folder: Path, role: str) -> UserError:
    return UserError(
        f"{role} of {folder} is played by a process that this run did not start: end it first "
        f"(its number is in {shared(folder) / f'pulse.{role}.writer.lock'})"
    )


def gates() -> dict[int, str]:
    """Gates that live on this computer, whoever's, by number; each with the folder as its command
    has it. Unlike locks, the words of a process are there for everybody, and nobody removes them.
    """
    found = {}
    for path in PROCESSES.glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError, ValueError):  # gone, or started without words
            *_, module, place, _ = path.read_bytes().split(b"\0")
            if module == Modules.gate.encode():
                found[int(path.parent.name)] = os.fsdecode(place)
    return found


def plays(pid: int, module: str, folder: Path) -> bool:
    """Whether a process was started as this module for this very folder, by whatever path."""
    process = PROCESSES / str(pid)
    try:
        *words, place, _ = (process / "cmdline").read_bytes().split(b"\0")
        return module.encode() in words and (process / "cwd" / os.fsdecode(place)).samefile(folder)
    except (OSError, ValueError):  # gone, not ours to look at, or started without words
        return False
