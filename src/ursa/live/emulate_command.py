"""`ursa robot emulate`: an A1 that is not there, behind the packets of one that is."""

import contextlib
import signal
import sys
import time
from dataclasses import replace
from inspect import getdoc
from pathlib import Path
from types import FrameType
from typing import Annotated

import tyro

from ursa.emulator import script as scripts
from ursa.emulator.emulator import FALLEN, Emulator
from ursa.emulator.physics import KINDS
from ursa.emulator.serving import (
    Server,
    Source,
    listening,
    serve_shared,
    serve_wall,
    write_book,
)
from ursa.errors import UserError, unknown
from ursa.gate.link import ROBOT_PORT, Address
from ursa.gate.where import POSE_PORT
from ursa.live.child import SIGNALS, deaf
from ursa.robot.number import number, whole
from ursa.shared.clock import path_of
from ursa.shared.keeper import PATIENCE, Keeper

LOOPBACK = "127.0.0.1"  # no option: an emulator that other machines can reach is a mistake


def emulate(
    robot: Annotated[str, tyro.conf.Positional] = "a1",
    *,
    engine: str = "mujoco",
    port: int = ROBOT_PORT,
    pose_port: int = POSE_PORT,
    faults: Path | None = None,
    hand: float | None = None,
    clock: str = "wall",
    seed: int = 0,
    every: float = 5.0,
    report: Path | None = None,
    patience: float = PATIENCE,
) -> int:
    """Stand in for a robot on its cable: the A1's own UDP packets, a simulated A1 behind them.

    It lies on its belly and waits; whatever speaks the A1's low-level protocol to 127.0.0.1 moves
    its motors: torque-speed line, heat, battery, noisy sensors, a brake when commands stop. It
    checks every command against the robot's limits and counts those outside. A pose source (the
    stand-in for motion capture) tells where in the arena it is. Ctrl-C ends it.

      ursa robot emulate a1                                 in real time
      ursa robot emulate a1 --clock shared:/dev/shm/time    as fast as everybody can
      ursa robot emulate a1 --faults storms.toml --seed 3
      ursa robot emulate a1 --hand 10                       and somebody who picks it up

    A robot that fell onto its side or back is got up by the script of its run after some seconds
    (--get-up of ursa robot train), unless it is limp: then no fault can be acknowledged until it
    lies upright, and without --hand, or [hand] in a script, nobody sets it so. Its line says so.

    In another terminal: ursa robot train --robot a1 --link udp://127.0.0.1:8007 --out runs/a1

    On a shared clock time moves only while all processes of the run sleep: nothing depends on the
    speed of this machine, and the same seed, script and commands give the same robot to the bit.

    A fault script is a TOML file. [link] is the weather at all times (latency, jitter in seconds;
    loss, duplicate, reorder, corrupt as shares), [noise] the sensors', [start] how the robot is
    switched on (tick, battery, celsius), [hand] after = SECONDS sets a fallen robot upright. Each
    [[fault]] has a kind, `at` = seconds (or a list) or `every` = seconds on average, and what its
    kind takes:

    @KINDS@

    Args:
        robot: Which robot: a1 (its packets are the only ones we know).
        engine: Whose physics: mujoco; solid, where its legs cannot pass through each other; or
            pybullet, which no training has seen.
        port: Where the robot listens, on this machine only.
        pose_port: Where poses are sent to, on this machine only; 0 sends none.
        faults: A script of what goes wrong; unset, nothing does.
        hand: Seconds on its side or back after which somebody sets it upright, whatever [hand] in
            the script says; unset, the script decides.
        clock: wall (real time), or shared:PATH to keep a virtual clock there. A folder stands for
            the clock of the run in it.
        seed: Chance behind sensors, weather and faults.
        every: Real seconds between two lines about how it goes; 0 is silence.
        report: A file for the same in full, as JSON, written as often and at the end.
        patience: Real seconds that a living process may be silent before a shared clock goes on
            without it.
    """
    if robot != "a1":
        raise unknown("robot with packets to emulate", robot, ["a1"])
    if engine not in KINDS:
        raise unknown("engine", engine, KINDS)
    whole("port", port, least=0, most=65535)
    whole("pose_port", pose_port, least=0, most=65535)
    whole("seed", seed, least=0, most=2**32 - 1)
    number("every", every, least=0)
    number("patience", patience, above=0)
    if hand is not None:
        number("hand", hand, above=0)
    if report is not None and not report.parent.is_dir():
        raise UserError(f"report {report}: there is no folder {report.parent}")
    script = scripts.read(faults) if faults is not None else scripts.Script()
    script = script if hand is None else replace(script, hand=hand)
    path = None if clock == "wall" else path_of(clock)
    if path is not None and not path.parent.is_dir():
        raise UserError(
            f"clock {clock}: there is no folder {path.parent}; want a file in one that is there "
            "(shared:/dev/shm/time), or the folder of a run"
        )
    poses: Address | None = (LOOPBACK, pose_port) if pose_port else None
    with contextlib.ExitStack() as stack:
        plug = stack.enter_context(contextlib.closing(listening((LOOPBACK, port))))
        if poses is not None:
            _tell_poses(stack, poses)
        keeper = None
        if path is not None:
            keeper = stack.enter_context(contextlib.closing(Keeper(path, patience)))
        start = time.monotonic() if keeper is None else keeper.now()
        emulator = Emulator(engine=engine, seed=seed, script=script, start=start)
        if keeper is None:
            emulator.skip(time.monotonic() - start)  # it took a while to lie down
        server = Server(emulator, plug, poses)
        _served(server, keeper, clock, Teller(emulator, keeper, every, report))
    return 0


def _tell_poses(stack: contextlib.ExitStack, poses: Address) -> None:
    """Where poses go; and that another emulator's go there, too, which no run could tell apart."""
    said = f"poses go to udp://{poses[0]}:{poses[1]} (ursa robot train --pose ...)"
    mark = stack.enter_context(contextlib.closing(Source(poses[1])))
    if not mark.alone:
        said += (
            ", AND SO DO THOSE OF ANOTHER EMULATOR: give this one --pose-port, and its run --pose"
        )
    print(said, flush=True)


def _served(server: Server, keeper: Keeper | None, clock: str, teller: "Teller") -> None:
    host, port = server.local
    # SIGINT, too: a shell that starts us in the background has it ignored, and whoever sends one
    # means it.
    before = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    print(f"an emulated a1 lies at udp://{host}:{port}, clock {clock}; Ctrl-C ends it", flush=True)
    if keeper is not None:
        print("time begins when a gate attends: ursa robot train --clock " + clock, flush=True)
    try:
        if keeper is None:
            serve_wall(server, teller.tell)
        else:
            serve_shared(server, keeper, teller.tell)
    except KeyboardInterrupt:
        teller.last()
    finally:
        with deaf():  # a handler is not taken away from a signal that waits for it
            for number, handler in before.items():
                signal.signal(number, handler)
        server.close()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class Teller:
    """One line every few seconds, and the whole book in a file."""

    def __init__(
        self, emulator: Emulator, keeper: Keeper | None, every: float, report: Path | None
    ) -> None:
        self._emulator, self._every, self._report = emulator, every, report
        self._keeper = keeper
        self._real, self._virtual = time.monotonic(), emulator.now

    def tell(self, now: float) -> None:
        """Say how it goes, if it is time to."""
        real = time.monotonic()
        if self._every and real - self._real >= self._every:
            pace = (now - self._virtual) / (real - self._real)
            self._real, self._virtual = real, now
            busy = self._keeper.awake() if self._keeper is not None and not pace else []
            still = f"time stands still for {' and '.join(busy)}" if busy else ""
            self._say(still or f"{pace:4.1f} x real time")

    def last(self) -> None:
        self._say("ended")

    def _say(self, end: str) -> None:
        print(f"{line(self._emulator)}  {end}", file=sys.stderr, flush=True)
        if self._report is not None:
            write_book(self._report, self._emulator)


def line(emulator: Emulator) -> str:
    """How it goes, in one line."""
    x, y, height, _ = emulator.rig.place()
    audit, up = emulator.audit.counts, emulator.rig.up()
    pose = "upright" if up > 0.7 else "tilted" if up > 0 else "on its back"
    if up <= FALLEN and emulator.script.hand is None:
        pose += (
            " (its run's script gets it up after --get-up seconds unless it is limp; with --hand"
        )
        pose += " 10 somebody sets it upright)"
    faults = {k[6:]: n for k, n in sorted(emulator.counts.items()) if k.startswith("fault ")}
    told = " ".join(f"{kind} {count}" for kind, count in faults.items())
    return (
        f"{emulator.now - emulator.start:8.1f} s  {audit['commands']} commands, "
        f"{audit['violations']} outside the limits  at {x:+.2f} {y:+.2f} m, {pose}, "
        f"{100 * height:.0f} cm  {emulator.rig.temperature.max():.0f} C  "
        f"battery {100 * emulator.rig.battery:.0f} %" + (f"  faults: {told}" if told else "")
    )


emulate.__doc__ = (getdoc(emulate) or "").replace(  # indented alike in every Python
    "@KINDS@", "\n".join(f"  {kind:<9}{text}" for kind, text in scripts.HELP.items())
)
