"""`ursa robot stop`: the stop button for whoever has a second terminal."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional

from ursa import claim
from ursa.errors import UserError
from ursa.gate import drivers, handles, mailbox
from ursa.gate.drivers import Driver
from ursa.gate.mailbox import Listener, Orderer, Told
from ursa.gate.modes import Order
from ursa.live import memory, orphans, settings, supervisor
from ursa.live.ready import LOCK
from ursa.shared import place
from ursa.shared.place import Foreign

WAIT = 3.0  # s for the gate to take an order in
LOOK = 0.002
BUTTON = "USE THE ROBOT'S REMOTE (R2) OR ITS POWER BUTTON"
BELOW = ("adapt/*", "agent/adapt/*")  # where commands that use a run's agent drive the robot from


def stop(
    folder: Annotated[Path | None, Positional] = None,
    acknowledge: bool = False,
    end: bool = False,
) -> int:
    """Stop a robot now: motors limp and damped, until somebody acknowledges.

    With a folder: the robot of that run, whoever drives it from there, `ursa robot adapt`, too.
    Without one: every robot that is driven from this computer. The run itself stays: the learner
    goes on with what it has, and the robot stands up again after
    `ursa robot stop FOLDER --acknowledge`. A run of another account is named and cannot be
    stopped from yours: use the robot's remote or its power button. A run whose memory somebody
    removed is told to end, which takes some seconds: if there is no time for that, use the same.

    Args:
        folder: the run, as given to `ursa robot train --out` or `ursa robot adapt`
        acknowledge: somebody looked: unlatch the fault, the robot may stand up again
        end: end the run in order: lie down, put everything on disk, leave
    """
    if acknowledge and end:
        raise UserError("--acknowledge and --end: choose one")
    if folder is None:
        if acknowledge or end:
            raise UserError("which robot? Name its folder: ursa robot stop FOLDER " + (
                "--acknowledge" if acknowledge else "--end"))  # fmt: skip
        return _stop_all()
    try:
        living = driven(folder)
        if not living and not (folder / settings.NAME).exists():
            settings.read(folder)  # says what is wrong; a stop waits for no other check
        if end:
            return _end(folder, living)
    except (Foreign, PermissionError) as error:
        raise UserError(_foreign(folder, error)) from None
    return _order(living or [folder], Order.ACKNOWLEDGE if acknowledge else Order.STOP)


def driven(folder: Path) -> list[Path]:
    """The folder and those below it from which a living process drives a robot."""
    places = [folder, *(path for each in BELOW for path in sorted(folder.glob(each)))]
    found = [each for each in places if _driven(each)]
    running = () if found else _running()
    return found or [each for each in places if _drivers(each, running)]


def _driven(folder: Path) -> bool:
    """Whether a gate lives there, or somebody who will start one."""
    if not (folder / settings.NAME).exists() or not (folder / place.IDENTITY).exists():
        return False
    played = place.begun(folder) and orphans.played(folder, "gate")
    return played or claim.held(folder / LOCK)


def _drivers(folder: Path, running: Sequence[Driver]) -> list[Driver]:
    """Those that drive a robot from there: the robot's lock is found also if it was removed."""
    found = []
    for each in running:
        with suppress(OSError):
            if each.folder is not None and each.folder.samefile(folder):
                found.append(each)
    return found


def _stop_all() -> int:
    """Every robot; those that nobody knows a way to are named last."""
    found = drivers.running()
    if not found:
        raise UserError(_hidden() or "no robot is driven from this computer now")
    wrong = [
        f"{it.robot} is in use by {it.said}, whose folder is not known: use its own stop button"
        for it in found
        if it.folder is None
    ]
    try:
        _order(sorted({it.folder for it in found if it.folder is not None}), Order.STOP)
    except UserError as error:
        wrong.insert(0, str(error))
    if wrong:
        raise UserError("\n  ".join(wrong))
    return 0


def _hidden() -> str:
    """Of gates that hold no lock that we can see: nobody may be told that there are none."""
    return "\n  ".join(
        f"process {pid} is the gate of a robot, started for {folder}, and cannot be told. "
        f"{BUTTON} NOW; or say kill {pid}, which lays the robot down"
        for pid, folder in orphans.gates().items()
    )


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """An order on its way to the gate of a folder."""

    folder: Path
    ears: Listener
    mouth: Orderer
    number: int
    before: Told | None

    @property
    def done(self) -> bool:
        return self.mouth.done(self.number)


def _order(folders: Sequence[Path], order: Order) -> int:
    """Give it to all before waiting for any; UserError for those that did not take it in."""
    code, wrong, spoken = 0, [], []
    with ExitStack() as stack:
        for folder in folders:
            try:
                spoken.append(_speak(stack, folder, order))
            except (Foreign, PermissionError) as error:
                wrong.append(_foreign(folder, error))
            except UserError as error:
                wrong.append(str(error))
        begun = time.monotonic()
        while time.monotonic() - begun <= WAIT and not all(it.done for it in spoken):
            time.sleep(LOOK)
        for it in spoken:
            if it.done:
                code = max(code, _report(it, order))
            else:
                wrong.append(_unheard(it.folder, order, it.before))
    if wrong:
        raise UserError("\n  ".join(wrong))
    return code


def _foreign(folder: Path, error: Foreign | PermissionError) -> str:
    """Whose run it is that we may not reach, and what stops it all the same."""
    owner = error.owner if isinstance(error, Foreign) else claim.owner(folder)
    return (
        f"{folder} is a run of the account {owner}, which this one cannot stop. USE THE ROBOT'S "
        "REMOTE (R2) OR ITS POWER BUTTON NOW; or, where you may: "
        f"sudo -u {owner} ursa robot stop {folder.absolute()}"
    )


def _speak(stack: ExitStack, folder: Path, order: Order) -> Spoken:
    try:
        ears = memory.there(folder) and stack.enter_context(closing(mailbox.Listener(folder)))
    except Foreign:
        raise
    except UserError:  # it is damaged
        ears = None
    if not ears:
        driven = _driven(folder) or _drivers(folder, _running())
        raise UserError((_told_to_end if driven else _unheard)(folder, order))
    before = ears.newest()
    mouth = stack.enter_context(closing(_mouth(folder)))
    return Spoken(folder=folder, ears=ears, mouth=mouth, number=mouth.order(order), before=before)


def _report(it: Spoken, order: Order) -> int:
    """What came of an order that was taken in."""
    told = it.ears.newest()
    assert told is not None
    if order is Order.STOP:
        print(f"stopped: the robot is limp ({told.fault}); to go on: ursa robot stop {it.folder} "
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


def _unheard(folder: Path, order: Order, before: Told | None = None) -> str:
    mode = "nothing yet" if before is None else before.mode.value
    if not _driven(folder):
        others = [f"{it.robot} from {it.folder or 'a folder not known'}" for it in _running()]
        more = f". Driven now: {', '.join(others)}; ursa robot stop without a folder stops all"
        return f"{folder}: nobody runs this robot now (its gate said last: {mode})" + (
            more if others else ""
        )
    return (
        f"{folder}: the gate did not take `{order}` in within {WAIT:g} s (it said last: {mode}); "
        "it obeys as soon as it is back. Use the robot's own stop button now"
    )


def _told_to_end(folder: Path, order: Order | None = None) -> str:
    """What there is to do where somebody drives a robot and there is no memory to tell its gate
    anything: whoever looks after the gate is asked to end, but for an acknowledgement."""
    what = f"{folder}: there is no memory through which its gate could be told"
    pid = handles.holder(folder / LOCK)
    if pid is None or not drivers.drives(pid):
        user, pid = pid, next((each.pid for each in _drivers(folder, _running())), None)
        if pid is None and user is not None:
            return (
                f"{what}; process {user} uses the folder and drives no robot, or not yet: if one "
                f"moves, {BUTTON}, and say it again"
            )
    if order is Order.ACKNOWLEDGE:
        return f"{what}. End it, look at the robot, and start again: ursa robot stop {folder}"
    try:
        if pid is None:
            owner = claim.owner(folder / LOCK)
            return f"{what}, and who of the account {owner} drives it is not known. {BUTTON} NOW"
        os.kill(pid, signal.SIGTERM)
    except OSError as error:
        return f"{what}, and process {pid}, which drives it, cannot be ({error}). {BUTTON} NOW"
    return (
        f"{what} (it was removed, or is only being made). Process {pid}, which drives it, was told "
        f"to end: it lays the robot down, in some seconds. IF IT MUST STOP AT ONCE, {BUTTON}"
    )


def _running() -> tuple[Driver, ...]:
    with suppress(OSError):
        return drivers.running()
    return ()


def _end(folder: Path, living: Sequence[Path]) -> int:
    pid = supervisor.pid_of(folder)
    if pid is None:
        if folder in living and not memory.there(folder):
            raise UserError(_told_to_end(folder))
        if living:
            raise UserError(
                f"{living[0]}: driven by `ursa robot adapt`: press Ctrl-C in its terminal, which "
                f"lays the robot down; to stop it now: ursa robot stop {folder}"
            )
        raise UserError(f"{folder}: nobody runs this robot now")
    os.kill(pid, signal.SIGTERM)
    while supervisor.pid_of(folder) == pid:
        time.sleep(0.05)
    print(f"ended; go on with: ursa robot train --resume {folder}")
    return 0
