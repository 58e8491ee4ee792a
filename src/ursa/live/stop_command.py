"""`ursa robot stop`: the stop button for whoever has a second terminal."""

import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional

from ursa.errors import UserError
from ursa.gate import mailbox
from ursa.gate.modes import Order
from ursa.live import settings, supervisor

WAIT = 3.0  # s for the gate to take an order in
LOOK = 0.002


def stop(
    folder: Annotated[Path, Positional],
    acknowledge: bool = False,
    end: bool = False,
) -> int:
    """Stop the robot of a run now: motors limp and damped, until somebody acknowledges.

    The run itself stays: the learner goes on with what it has, and the robot stands up again after
    `ursa robot stop FOLDER --acknowledge`.

    Args:
        folder: the run, as given to `ursa robot train --out`
        acknowledge: somebody looked: unlatch the fault, the robot may stand up again
        end: end the run in order: lie down, put everything on disk, leave
    """
    if acknowledge and end:
        raise UserError("--acknowledge and --end: choose one")
    if not (folder / settings.NAME).exists():  # a stop waits for no check of what is in there
        settings.read(folder)
    if end:
        return _end(folder)
    order = Order.ACKNOWLEDGE if acknowledge else Order.STOP
    with closing(mailbox.Listener(folder)) as ears:
        before = ears.newest()
        with closing(_mouth(folder)) as mouth:
            number, begun = mouth.order(order), time.monotonic()
            while not mouth.done(number):
                if time.monotonic() - begun > WAIT:
                    raise UserError(_unheard(folder, order, before))
                time.sleep(LOOK)
        told = ears.newest()
    assert told is not None
    if order is Order.STOP:
        print(f"stopped: the robot is limp ({told.fault}); to go on: ursa robot stop {folder} "
              "--acknowledge")  # fmt: skip
        return 0
    if told.fault:
        print(f"not acknowledged, it is still there: {told.fault}")
        return 1
    print("acknowledged: the robot will stand up again; keep clear")
    return 0


def _mouth(folder: Path) -> mailbox.Orderer:
    """The operators' mouth; somebody else may be using it for a moment."""
    begun = time.monotonic()
    while True:
        try:
            return mailbox.Orderer(folder, "operator")
        except UserError:
            if time.monotonic() - begun > WAIT:
                raise
        time.sleep(LOOK)


def _unheard(folder: Path, order: Order, before: mailbox.Told | None) -> str:
    running = supervisor.pid_of(folder) is not None
    mode = "nothing yet" if before is None else before.mode.value
    if not running:
        return f"{folder}: nobody runs this robot now (its gate said last: {mode})"
    return (
        f"{folder}: the gate did not take `{order}` in within {WAIT:g} s (it said last: {mode}); "
        "it obeys as soon as it is back. Use the robot's own stop button now"
    )


def _end(folder: Path) -> int:
    pid = supervisor.pid_of(folder)
    if pid is None:
        raise UserError(f"{folder}: nobody runs this robot now")
    os.kill(pid, signal.SIGTERM)
    while supervisor.pid_of(folder) == pid:
        time.sleep(0.05)
    print(f"ended; go on with: ursa robot train --resume {folder}")
    return 0
