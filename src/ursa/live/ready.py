"""Ready: whatever would stop a run on a robot is found before anything is started or moved.

The robot is held first, and until the run ends: of two starts at once, in whatever folders, one is
refused before it has sent a packet.
"""

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate.link import Link, address, reserved
from ursa.gate.wire import State
from ursa.live import logout, orphans
from ursa.live.settings import Live
from ursa.shared import clock as clocks
from ursa.shared.place import begun, refuse_remote

LOCK = "lock"  # the same that `ursa train` takes: one run at a time in a folder
SAFETY = 3  # times the room that the rows are expected to take
ANSWER = 2.0  # s for the robot to answer a limp command
TRIALS, SHARE = 100, 0.1  # naps of one cycle; share of them that may be a cycle late
GIGA = 1e9


def held(stack: ExitStack, folder: Path, live: Live, say: Callable[[str], None]) -> Claim:
    """Robot and folder, for this process alone until the stack is left, and all is ready.

    A folder that is not there yet is made last: a refusal leaves nothing behind.
    """
    return tried(stack, folder, live, say) or _claimed(stack, folder)


def tried(stack: ExitStack, folder: Path, live: Live, say: Callable[[str], None]) -> Claim | None:
    """The same, but for a folder that is not there: it is not made, and there is no claim of it."""
    there = folder.exists()
    claim = _claimed(stack, folder) if there else None
    stack.enter_context(closing(reserved(address(live.link), folder)))
    if begun(folder):  # a gate of a run whose supervisor was killed is still laying the robot down
        orphans.leave(folder, live, say)
    check(folder, live, say)
    return claim


def _claimed(stack: ExitStack, folder: Path) -> Claim:
    return stack.enter_context(closing(Claim(folder / LOCK, folder)))


def check(folder: Path, live: Live, say: Callable[[str], None]) -> None:
    """UserError with everything that stands in the way; `say` hears what is only worth knowing."""
    wrong: list[str] = []
    for part in (_local, _memory, _room, _clock, _robot):
        try:
            part(folder, live, say)
        except UserError as error:
            wrong.append(str(error))
    if wrong:
        raise UserError("this robot cannot be run now:\n  " + "\n  ".join(wrong))


def _local(folder: Path, live: Live, say: Callable[[str], None]) -> None:
    refuse_remote(_existing(folder))


def _memory(folder: Path, live: Live, say: Callable[[str], None]) -> None:
    if warning := logout.warning():
        say(warning)


def _room(folder: Path, live: Live, say: Callable[[str], None]) -> None:
    """Room for all rows, three times over, and for checkpoints."""
    need = live.room * GIGA + SAFETY * live.rows * (live.layout.kind.size + 64)
    free = shutil.disk_usage(_existing(folder)).free
    if free < need:
        raise UserError(
            f"{folder}: {free / GIGA:.2f} GB of disk are free, want {need / GIGA:.2f} GB for "
            f"{live.rows:,} rows and the checkpoints: free some, choose another --out or "
            "fewer --steps"
        )


def _clock(folder: Path, live: Live, say: Callable[[str], None]) -> None:
    if live.virtual:
        path = clocks.path_of(live.clock)
        if not path.exists() or not clocks.kept(path):
            raise UserError(
                f"clock {path}: nobody keeps it; start the emulator first: "
                f"ursa robot emulate {live.robot} --clock {live.clock}"
            )
        return
    late = lateness(live.gate_limits().period, TRIALS)
    if late > SHARE:
        say(
            f"this machine is busy: {late:.0%} of {TRIALS} naps of one control cycle ended a "
            "cycle late or more; the gate will hold the robot when that happens. Close other "
            "programs, or allow real-time priority (see docs/robot.md)"
        )


def _robot(folder: Path, live: Live, say: Callable[[str], None]) -> None:
    """A way to the robot, and the robot at its end. It hears limp commands only."""
    limits = live.gate_limits()
    with Link(address(live.link), limits.limp) as link:
        if live.virtual:  # it answers in its own time, which nobody attends yet
            return
        begun = time.monotonic()
        while time.monotonic() - begun < ANSWER:
            link.send(limits.limp)
            time.sleep(limits.period)
            if isinstance(link.receive(), State):
                return
        heard = ", ".join(f"{count} {what}" for what, count in sorted(link.counts.items()))
    raise UserError(
        f"link {live.link}: no robot answered within {ANSWER:g} s ({heard}); is it switched on, "
        "in low-level mode, and the cable in? For an emulator: ursa robot emulate "
        f"{live.robot} --port {address(live.link)[1]}"
    )


def lateness(period: float, trials: int) -> float:
    """The share of naps of one cycle that ended at least a cycle late."""
    late = 0
    with closing(clocks.Wall()) as wall:
        for _ in range(trials):
            due = wall.now() + period
            late += wall.wait(due) - due >= period
    return late / trials


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    folder = folder.absolute()
    return next(each for each in (folder, *folder.parents) if each.exists())
