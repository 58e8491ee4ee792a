"""A cable on which anything may arrive: good packets among replayed, foreign and damaged ones.

A gate with its real link talks to a robot of arithmetic, in virtual time; only the socket is ours.
The cable knows which packets the robot said and which of them have arrived, so what the gate may
believe is known without a line of the gate's own code.
"""

from collections import Counter, deque
from dataclasses import fields, replace

import numpy as np

from gate.gated import LIMITS, PERIOD, STANDING, at, is_limp, said, violation
from gate.test_wire import resealed
from ursa.gate import gate, wire
from ursa.gate.link import Link
from ursa.gate.modes import Kind, Mode, Order
from ursa.gate.packet import STATE, TICKS
from ursa.gate.wire import Command, State, decode_command, decode_state, encode_state

ROBOT, STRANGER = ("127.0.0.1", 9), ("127.0.0.1", 10)
PRESSED = bytes([0x55, 0x51, 0x10, 0]) + bytes(36)  # the stop button
GAP = 30  # cycles after which a good packet is let through: more than 50 would be a restart
MEMORY = 4000  # packets that can be replayed
WEATHER, CALM = 250, (0.98, 0.8, 0.4, 0.1)  # cycles of one weather; share that is not lost
START = TICKS - 9_000  # the robot's counter wraps on the way
BAD = (
    *("noise", "right length", "cut", "flipped", "wild", "echo"),
    *("replayed", "twice", "stranger", "other robot", "late"),
)
LIE = encode_state(said(0, STANDING + 0.02, remote=PRESSED))
OTHER = encode_state(said(0))
WILD = np.array([np.nan, np.inf, -np.inf, 1e30, -3e38, 1e9], "<f4")


class Socket:
    """What the link thinks is the system's."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[bytes, tuple[str, int]]] = deque()
        self.sent: list[bytes] = []

    def recvfrom(self, _: int) -> tuple[bytes, tuple[str, int]]:
        if not self.waiting:
            raise BlockingIOError
        return self.waiting.popleft()

    def sendto(self, data: bytes, _: tuple[str, int]) -> None:
        self.sent.append(data)

    def fileno(self) -> int:
        return -1

    def close(self) -> None: ...


class Cable:
    """Robot, adversary, link and gate; `cycle` is one turn of all of them."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.bench = at(Mode.RUN)
        self.state, self.now = self.bench.state, self.bench.now
        self.angle, self.speed, self.tick = self.bench.angle, self.bench.speed, START
        self.link = Link(ROBOT, LIMITS.limp)
        self.link._socket.close()
        self.socket = self.link._socket = Socket()
        seen = replace(self.state.seen, state=replace(self.state.seen.state, tick=START))
        self.state = replace(self.state, seen=seen)
        self.wish, self.command = self.bench.wish, LIMITS.limp
        self.said: dict[int, bytes] = {}  # by the robot, at each of its ticks
        self.held: deque[bytes] = deque()  # on their way, to arrive late
        self.newest, self.good = START, 0  # arrived last by the robot's count; cycles since
        self.noise = self.chance.bytes(1 << 16)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def cycle(self) -> None:
        """Something arrives, the gate decides, the robot obeys; what is wrong is noted."""
        self.now += PERIOD
        self.tick += 1
        before = self.newest
        self._arrive()
        if self.counts["cycles"] % 25 == 0:
            goal = STANDING + self.chance.uniform(-0.3, 0.3, 12)
            if self.chance.random() < 0.1:
                goal = self.chance.uniform(-9, 9, 12)
            self.wish = replace(self.wish, angle=goal, sequence=self.wish.sequence + 1)
            self.wish = replace(self.wish, time=self.now)
        last, orders = self.state.pose.target, self._orders()
        heard = self.link.receive()
        self.command, self.state, events = gate.step(
            LIMITS, self.now, heard, self.wish, orders, self.state
        )
        self.link.send(self.command)
        if any(event.kind is Kind.GAP for event in events):
            last = None
        self.wrong += self._belief(self.newest != before) + self._told(last)
        self.wrong += [str(event) for event in events if event.kind in (Kind.ERROR, Kind.STOP)]
        self.counts["cycles"] += 1
        self.counts[f"in {self.state.mode}"] += 1
        self._move()

    # ---- what arrives -------------------------------------------------------------------------

    def _arrive(self) -> None:
        """Up to a dozen datagrams in one cycle; the robot's own among them, or lost."""
        good, chance = self._say(), self.chance
        if self.counts["cycles"] % WEATHER == 0:
            self.calm = chance.choice(CALM)
        kinds = [BAD[kind] for kind in chance.integers(0, len(BAD), chance.integers(0, 13))]
        if chance.random() < self.calm or self.good >= GAP:
            place = int(chance.integers(0, len(kinds) + 1))
            kinds[place:place] = ["good"]
        self.good += 1
        for kind in kinds:
            data, sender = self._made(kind, good)
            self.counts["datagrams"] += 1
            self.counts[kind] += 1
            self.socket.waiting.append((data, sender))
            if sender == ROBOT and self.said.get(self._tick_of(data)) == data:
                tick = self._tick_of(data)
                if 0 < (tick - self.newest) % TICKS < TICKS // 2:
                    self.newest, self.good = tick, 0

    def _say(self) -> bytes:
        state = self.bench.says(tick=self.tick % TICKS, angle=self.angle, speed=self.speed)
        tremble = 1e-3 * np.sin(self.tick + np.arange(3.0))
        data = encode_state(replace(state, gyro=tremble))
        self.said[self.tick % TICKS] = data
        self.said.pop((self.tick - MEMORY) % TICKS, None)
        return data

    def _tick_of(self, data: bytes) -> int:
        return int.from_bytes(data[719:723], "little") if len(data) == STATE.itemsize else -1

    def _made(self, kind: str, good: bytes) -> tuple[bytes, tuple[str, int]]:
        """One datagram of a kind, and who sends it."""
        chance, whole = self.chance, len(good)
        at_ = int(chance.integers(0, len(self.noise) - 1500))
        if kind == "noise":
            return self.noise[at_ : at_ + int(chance.integers(0, 1500))], ROBOT
        if kind == "right length":
            return self.noise[at_ : at_ + whole], ROBOT
        if kind == "cut":
            size = int(chance.integers(0, 2 * whole))
            return (good + good)[: size if size != whole else 0], ROBOT
        if kind == "flipped":
            data, bit = bytearray(good), int(chance.integers(0, 764 * 8))
            data[bit // 8] ^= 1 << bit % 8
            return bytes(data), ROBOT
        if kind == "wild":  # a checksum that is right for it, and the next tick
            return self._spoilt(good), ROBOT
        if kind == "echo":  # the last command comes back
            return self.socket.sent[-1] if self.socket.sent else b"", ROBOT
        if kind == "stranger":  # newer, pressing stop, from another address
            return _at_tick(LIE, self.tick + int(chance.integers(1, 1000))), STRANGER
        if kind == "other robot":  # a good one, a moment ahead of ours
            return _at_tick(OTHER, self.tick + 3), ("10.0.0.7", 9)
        if kind == "late":  # goes out now, what was sent some cycles ago comes in
            self.held.append(good)
            return (self.held.popleft() if len(self.held) > 6 else b""), ROBOT
        if kind == "replayed":
            back = int(chance.integers(1, MEMORY))
            return self.said.get((self.tick - back) % TICKS, b""), ROBOT
        return good if kind == "good" else self.said.get(self.newest, b""), ROBOT

    def _spoilt(self, good: bytes) -> bytes:
        values = np.frombuffer(good, STATE)[0].copy()
        name = ("q", "dq", "gyro", "acceleration", "quaternion")[int(self.chance.integers(5))]
        place = values["motor"][name][:12] if name in ("q", "dq") else values[name]
        place[int(self.chance.integers(len(place)))] = self.chance.choice(WILD)
        values["tick"] = (self.tick + 1) % TICKS
        return resealed(values.tobytes(), 764)

    # ---- what must be true ----------------------------------------------------------------------

    def _belief(self, news: bool) -> list[str]:
        """The gate believes the newest packet of its robot that has arrived, and nothing else."""
        believed, seen = self.state.seen.state, self.state.seen
        if believed.tick != self.newest:
            return [f"believes tick {believed.tick}, {self.newest} is the newest that arrived"]
        if seen.fresh is not news:
            return [f"{'news' if seen.fresh else 'no news'} where the opposite is true"]
        if news and not same(believed, decode_state(self.said[self.newest])):
            return ["believes something that the robot did not say"]
        return []

    def _told(self, last: np.ndarray | None) -> list[str]:
        """What left for the robot keeps the rules, by the true state that the gate knows of."""
        sent = decode_command(self.socket.sent.pop())
        self.socket.sent = [wire.encode_command(self.command)]
        if not isinstance(sent, Command):
            return [f"sent a command that no robot takes: {sent}"]
        truth = self.state.seen.state
        broken = violation(self.command, last, truth, PERIOD)
        off = np.abs(sent.angle - self.command.angle).max()
        if not (is_limp(sent) and is_limp(self.command)) and off > 1e-6:
            return ["what was sent is not what was decided"]
        return [] if broken is None else [broken]

    # ---- the robot ------------------------------------------------------------------------------

    def _orders(self) -> tuple[Order, ...]:
        """The person who puts it back to work, so that there is something to protect."""
        if self.state.mode is Mode.FAULT:
            return (Order.ACKNOWLEDGE,)
        return {Mode.DAMP: (Order.STAND,), Mode.STAND: (Order.RUN,)}.get(self.state.mode, ())

    def _move(self) -> None:
        stiff = self.command.kp > 0
        speed = np.where(stiff, (self.command.angle - self.angle) / 0.02, 0.0)
        self.speed = np.clip(speed, -10, 10)
        self.angle = self.angle + self.speed * PERIOD


def _at_tick(packet: bytes, tick: int) -> bytes:
    return resealed(packet[:719] + (tick % TICKS).to_bytes(4, "little") + packet[723:], 764)


def same(one: State, other: State) -> bool:
    names = [each.name for each in fields(one)]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def stormy(total: int, seed: int) -> Cable:
    """Cycles until so many datagrams arrived, or something went wrong."""
    cable = Cable(seed)
    while cable.counts["datagrams"] < total and not cable.wrong:
        cable.cycle()
    cable.link._claim.close()
    return cable
