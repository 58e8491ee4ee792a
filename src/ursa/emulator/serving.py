"""Serving: an emulator on real sockets, in real time or as the keeper of a shared clock."""

import contextlib
import errno
import json
import os
import select
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ursa.emulator.emulator import Emulator
from ursa.errors import UserError
from ursa.gate import where
from ursa.gate.link import LONGEST, Address
from ursa.gate.where import Where
from ursa.shared.keeper import Keeper

POSES = 0.02  # s between two poses
STRIDE = 0.1  # s of virtual time at once, so that an interrupt is soon heard
BEHIND = 0.2  # s that real time may be ahead, then the robot skips some of it
GLANCE = 50  # ms


def listening(local: Address) -> socket.socket:
    """A socket there, or UserError if somebody else has one."""
    plug = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    plug.setblocking(False)
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    try:
        plug.bind(local)
    except OSError as error:
        plug.close()
        raise UserError(
            f"emulator: cannot listen on {local[0]}:{local[1]}: {error.strerror}; is another "
            "emulator running there? --port takes another one"
        ) from None
    return plug


class Source:
    """A mark that this process sends poses to a port of this machine; gone when it is."""

    def __init__(self, port: int) -> None:
        self._socket, self.alone = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), True
        try:
            self._socket.bind(f"\0ursa poses to {port}")  # a name in memory, no file
        except OSError as error:  # where there are no such names nobody can tell
            self.alone = error.errno != errno.EADDRINUSE

    def close(self) -> None:
        self._socket.close()


class Server:
    """The robot's end of the cable, and the camera above the arena."""

    def __init__(
        self, emulator: Emulator, plug: socket.socket, poses: Address | None = None
    ) -> None:
        self.emulator, self.poses = emulator, poses
        self.peer: Address | None = None  # who spoke last: the robot answers there
        self._count, self._next_pose = 0, emulator.start
        self._socket = plug

    @property
    def local(self) -> Address:
        return self._socket.getsockname()

    def exchange(self, now: float, to: float, heard: Iterable[bytes] | None = None) -> None:
        """Take in what was `heard` until now, let it be `to`, and deliver what is due by then."""
        for data in self.heard() if heard is None else heard:
            self.emulator.hear(now, data)
        for data in self.emulator.advance(to):
            self._send(data, self.peer)
        while self.poses is not None and to >= self._next_pose:
            self._next_pose += POSES
            x, y, _, yaw = self.emulator.rig.place()
            self._count += 1
            pose = Where(count=self._count, x=x, y=y, yaw=yaw)
            self._send(where.encode(pose), self.poses)

    def wait(self, seconds: float) -> None:
        """Until a datagram comes, so long at most."""
        select.select([self._socket], [], [], max(0.0, seconds))

    def close(self) -> None:
        self._socket.close()
        self.emulator.close()

    def heard(self) -> list[bytes]:
        """What has arrived and was not returned yet."""
        found = []
        while True:
            try:
                data, self.peer = self._socket.recvfrom(LONGEST)
            except BlockingIOError:
                return found
            except OSError:  # the other side is gone: told for an earlier answer of ours
                continue
            found.append(data)

    def _send(self, data: bytes, to: Address | None) -> None:
        if to is not None:
            with contextlib.suppress(OSError):  # nobody there, or a full buffer: as on a cable
                self._socket.sendto(data, to)


def serve_shared(
    server: Server, keeper: Keeper, report: Callable[[float], None], expects: str = "gate"
) -> None:
    """Keep the clock until interrupted. Time begins when the expected party has come.

    While that party is away (it was killed, it starts anew) time runs no faster than on the wall:
    the others would race through an hour in which no robot moves.
    """
    keeper.idle = lambda: report(keeper.now())
    while expects not in keeper.attending():
        keeper.listen(GLANCE)
        report(keeper.now())
    while True:
        if keeper.settled(GLANCE):
            step_shared(server, keeper, expects)
        report(keeper.now())


def step_shared(server: Server, keeper: Keeper, expects: str = "gate") -> None:
    """Move the clock to the next instant at which somebody is due. All must be asleep."""
    now, due = keeper.now(), keeper.due()
    to = now + STRIDE if due is None else max(now, min(now + STRIDE, due))
    if expects not in keeper.attending():
        to = min(to, now + GLANCE / 1000)
        if keeper.listen(round(1000 * (to - now))) and not keeper.settled(0):
            return  # somebody came: time stands still
    server.exchange(now, to)
    keeper.advance(to)


def serve_wall(server: Server, report: Callable[[float], None]) -> None:
    """In real time, until interrupted.

    What was sent is taken in before a look at the clock: no command is believed to be older than it
    is. It came since the look before began, and its gate may have been a cycle late with it.
    """
    audit = server.emulator.audit
    audit.lag = audit.limits.period
    last = looked = time.monotonic()
    while True:
        begun, heard, now = time.monotonic(), server.heard(), time.monotonic()
        if now - last > BEHIND:
            server.emulator.skip(now - last)
        audit.slack, looked = now - looked, begun
        server.exchange(now, now, heard)
        last = now
        report(now)
        server.wait(0.002 - (time.monotonic() - now))


def book(emulator: Emulator) -> dict:
    """What happened so far, as plain values."""
    x, y, z, yaw = emulator.rig.place()
    return {
        "start": emulator.start,
        "time": round(emulator.now - emulator.start, 6),
        "commands": emulator.audit.counts["commands"],
        "violations": emulator.audit.counts["violations"],
        "said": emulator.audit.said,
        "counts": dict(sorted(emulator.counts.items())),
        "place": {"x": x, "y": y, "height": z, "yaw": yaw, "up": emulator.rig.up()},
        "hottest": float(emulator.rig.temperature.max()),
        "battery": emulator.rig.battery,
        "diverged": emulator.rig.diverged,
    }


def write_book(path: Path, emulator: Emulator) -> None:
    """Put the book into a file: the old one or the new one, never half of one."""
    temporary = path.with_name(f"tmp.{path.name}")
    temporary.write_text(json.dumps(book(emulator), indent=1) + "\n")
    os.replace(temporary, path)
