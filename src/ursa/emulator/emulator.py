"""Emulator: a rig behind the A1's two packets, in given time. Datagrams in, datagrams out.

No socket and no clock in here (`serving.py` has both): `hear` takes what arrived, `advance` lets
time pass and returns what the robot sent meanwhile, each with its instant. Like the robot it
answers every command packet with one state packet, and says nothing unasked.
"""

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ursa.emulator.audit import Audit
from ursa.emulator.motors import SILENCE
from ursa.emulator.physics import PERIOD
from ursa.emulator.rig import Rig
from ursa.emulator.script import Happening, Script, happenings
from ursa.emulator.weather import Way, Weather
from ursa.errors import UserError
from ursa.gate.limits import Limits, limits_of
from ursa.gate.packet import STATE, TICKS, sealed
from ursa.gate.wire import Command, Refused, State, decode_command, encode_state

NEVER = math.inf
EXACT = 1e-9  # s: an instant is known no better
FALLEN = 0.5  # cosine of the tilt beyond which it lies
HAND = 3.0  # s that a hand takes at most


class Emulator:
    """One emulated A1 and its cable. `now` is on whatever clock the caller keeps."""

    def __init__(
        self,
        *,
        engine: str = "mujoco",
        seed: int = 0,
        script: Script | None = None,
        start: float,
        limits: Limits | None = None,
    ) -> None:
        """`limits`: by which its gate is judged; unless told, the widest that a gate can have."""
        self.script = script or Script()
        begin = self.script.start
        # Unless told, the robot was on before: its counter begins anywhere.
        first = seed * 7919 % TICKS if begin.tick is None else int(begin.tick) % TICKS
        self.rig = Rig(engine=engine, seed=seed, sensors=self.script.noise, first=first)
        self.rig.battery = begin.battery
        self.rig.temperature[:] = begin.celsius
        _fitting(self.script, self.rig)
        self.audit = Audit(limits or limits_of(self.rig.spec), spread=_longest(self.script))
        self.counts: Counter[str] = Counter()
        self.start, self.now = start, start
        self._ticks = 0
        self._heard = -NEVER
        self._command: Command | None = None  # what the motors follow; None: they brake
        self._to, self._from = Way(seed, "to the robot"), Way(seed, "from the robot")
        # Datagrams under way, by the instant of their arrival and then by number.
        self._arriving: list[tuple[float, int, bytes]] = []
        self._leaving: list[tuple[float, int, bytes]] = []
        self._number, self._newest = itertools.count(), -1
        self._coming: Iterator[Happening] = happenings(self.script, seed)
        self._next = next(self._coming, None)
        self._until: dict[str, tuple[float, Happening]] = {}  # what is under way, and how long
        self._frozen: State | None = None
        self._upright = start  # when it last was

    # ---- datagrams and time -------------------------------------------------------------------

    def hear(self, now: float, data: bytes) -> None:
        """A datagram was sent to the robot now."""
        self.counts["datagrams"] += 1
        if self._on("pull") or self._on("restart"):
            self.counts["unheard"] += 1
            return
        for time, arrived in self._to.carry(self.weather, now, data):
            heapq.heappush(self._arriving, (time, next(self._number), arrived))

    def advance(self, to: float) -> list[bytes]:
        """Let it be `to`; what has reached the other side since the last call, in order."""
        while True:
            tick = self.start + (self._ticks + 1) * PERIOD
            arrival = self._arriving[0][0] if self._arriving else NEVER
            # A packet that is there when the tick begins is obeyed in it.
            if arrival <= min(to, tick) + EXACT:
                self.now = max(self.now, arrival)
                _, number, data = heapq.heappop(self._arriving)
                self._answer(number, data)
            elif tick <= to + EXACT:
                self.now = max(self.now, tick)
                self._tick()
            else:
                break
        self.now = max(self.now, to)
        sent = []
        while self._leaving and self._leaving[0][0] <= to + EXACT:
            data = heapq.heappop(self._leaving)[2]
            if not self._on("pull"):
                sent.append(data)
        return sent

    @property
    def weather(self) -> Weather:
        """The link's, with a storm if there is one."""
        if self._on("storm"):
            return self.script.link.worse(self._until["storm"][1].values["link"])
        return self.script.link

    # ---- the robot ----------------------------------------------------------------------------

    def _answer(self, number: int, data: bytes) -> None:
        """A datagram arrived; a good one is obeyed from the next tick on, and answered."""
        if self._on("pull") or self._on("restart") or self.rig.battery <= 0:
            self.counts["unheard"] += 1
            return
        command = decode_command(data)
        if isinstance(command, Refused):
            self.counts[f"bad {command.reason}"] += 1
            return
        self._heard, self._command = self.now, command
        # One that was overtaken on the way says nothing about how the gate moves its targets.
        self.audit.hear(self.now, command, overtaken=number < self._newest)
        self._newest = max(self._newest, number)
        state, data = self._said()
        if state is not None:
            self.audit.tell(self.now, state)
        self.counts["answers"] += 1
        for time, leaves in self._from.carry(self.weather, self.now, data):
            heapq.heappush(self._leaving, (time, next(self._number), leaves))

    def _said(self) -> tuple[State | None, bytes]:
        state = self.rig.say()
        if self._on("freeze"):
            still = self._frozen = self._frozen or state
            state = replace(still, tick=state.tick, mode=state.mode, remote=state.remote)
        else:
            self._frozen = None
        if self._on("nan"):
            broken = self._until["nan"][1].values["sensor"]
            return None, _broken(encode_state(state), broken)
        return state, encode_state(state)

    def _tick(self) -> None:
        self._faults()
        command = self._command
        if self.now - self._heard > SILENCE and command is not None:
            self.counts["silences"] += 1
            self._command = command = None
        self.rig.tick(command)
        self._ticks += 1

    # ---- what goes wrong ----------------------------------------------------------------------

    def _faults(self) -> None:
        time = self.now - self.start
        while self._next is not None and self._next.time <= time:
            self._begin(self._next)
            self._next = next(self._coming, None)
        if self._on("push"):
            happening = self._until["push"][1]
            side, force = 2 * math.pi * happening.luck, happening.values["newtons"]
            self.rig.push((force * math.cos(side), force * math.sin(side), 0.0))
        for kind, up in (("flip", -1.0), ("upright", 1.0)):
            if self._on(kind) and self.rig.turn(up):
                del self._until[kind]
        if self._on("hot"):
            self._heat(self._until["hot"][1])
        self.rig.press(self._on("stop"))
        self._lend_a_hand()

    def _begin(self, happening: Happening) -> None:
        kind = happening.kind
        self.counts[f"fault {kind}"] += 1
        if kind == "battery":
            self.rig.battery = float(happening.values["share"])
            return
        seconds = HAND if kind in ("flip", "upright") else happening.seconds
        if kind == "hot":
            seconds = 120.0
        if kind == "restart":
            self._command, self._heard = None, -NEVER
            self.audit.silent()
            self.rig.restart()
        self._until[kind] = self.now + seconds, happening

    def _lend_a_hand(self) -> None:
        """Who lies on the side or the back for too long is set upright, if the script says so."""
        if self.script.hand is None:
            return
        if self.rig.up() > FALLEN:
            self._upright = self.now
        elif self.now - self._upright > self.script.hand and not self._on("upright"):
            self.counts["hands"] += 1
            happening = Happening(time=self.now, kind="upright", seconds=HAND, values={}, luck=0.0)
            self._until["upright"] = self.now + HAND, happening

    def _heat(self, happening: Happening) -> None:
        joint = self.rig.spec.joint_names.index(happening.values["joint"])
        goal, rate = happening.values["celsius"], happening.values["rate"]
        if self.rig.temperature[joint] < goal:
            self.rig.temperature[joint] += rate * PERIOD
        else:
            del self._until["hot"]

    def _on(self, kind: str) -> bool:
        return kind in self._until and self.now < self._until[kind][0]

    def skip(self, seconds: float) -> None:
        """Time that the robot does not get: this machine was not there to compute it."""
        self.counts["skipped"] += 1
        self.start += seconds
        self.now += seconds

    def close(self) -> None:
        self.rig.close()


def _broken(data: bytes, sensor: str) -> bytes:
    """The packet with NaN in one sensor, and a right checksum: the robot means it."""
    packet = np.frombuffer(data, STATE).copy()[0]
    if sensor in ("angle", "speed"):
        packet["motor"][{"angle": "q", "speed": "dq"}[sensor]][0] = np.nan
    else:
        packet[sensor][0] = np.nan
    return sealed(packet)


def _longest(script: Script) -> float:
    storms = [it.values["link"].longest for it in script.faults if it.kind == "storm"]
    return max([script.link.longest, *storms])


def _fitting(script: Script, rig: Rig) -> None:
    for fault in script.faults:
        if fault.kind in ("flip", "upright") and not rig.physics.turns:
            raise UserError(f"fault {fault.kind}: no hand reaches into this engine; use mujoco")
    if script.hand is not None and not rig.physics.turns:
        raise UserError(
            f"hand after {script.hand:g} s: no hand reaches into this engine; use mujoco"
        )
