"""Where: the robot's place in its arena, as a pose source outside the robot tells it.

One datagram per pose, 48 bytes, little-endian: "URSAPOSE", a counter, x, y, yaw (metres and
radians, the origin in the middle of the arena, x forward at yaw 0), and a CRC-32. The emulator
sends it; a lab sends the same from its motion capture or its ceiling camera. Pure loopback unless
told otherwise, never waits, and a datagram in doubt is dropped and counted.
"""

import math
import socket
import struct
import zlib
from collections import Counter
from dataclasses import dataclass

from ursa.errors import UserError
from ursa.gate.link import Address

MAGIC = b"URSAPOSE"
FORM = struct.Struct("<8sQdddII")  # magic, counter, x, y, yaw, unused, CRC of all before it
POSE_PORT = 8017  # where the receiver listens by default
FARTHEST = 1e4  # metres from the middle: no arena is as large
MOST = 64  # datagrams looked at in one call: a flood must not hold up the loop


@dataclass(frozen=True, kw_only=True)
class Where:
    """A place on the floor, and which way the robot looks."""

    count: int  # grows with every pose
    x: float  # m
    y: float  # m
    yaw: float  # rad, counter-clockwise, 0 along x


def encode(where: Where) -> bytes:
    """The 48 bytes of a pose."""
    data = FORM.pack(MAGIC, where.count % 2**64, where.x, where.y, where.yaw, 0, 0)
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


def decode(data: bytes) -> Where | None:
    """The pose, or None if the datagram is not one or cannot be true."""
    if len(data) != FORM.size or data[:8] != MAGIC:
        return None
    _, count, x, y, yaw, _, crc = FORM.unpack(data)
    if crc != zlib.crc32(data[:-4]) or not all(math.isfinite(each) for each in (x, y, yaw)):
        return None
    if max(abs(x), abs(y)) > FARTHEST or abs(yaw) > 4 * math.pi:
        return None
    return Where(count=count, x=x, y=y, yaw=yaw)


class Receiver:
    """Listens for poses; one `receive` per control cycle."""

    def __init__(self, local: Address) -> None:
        self.counts: Counter[str] = Counter()
        self._last = -1
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.bind(local)
        except OSError as error:
            self._socket.close()
            raise UserError(
                f"pose source: cannot listen on {local[0]}:{local[1]}: {error.strerror}; is "
                "another run using it, and does this machine have that address?"
            ) from None

    @property
    def local(self) -> Address:
        return self._socket.getsockname()

    def receive(self) -> Where | None:
        """The newest pose since the last call, or None. Never waits and never raises."""
        best: Where | None = None
        for _ in range(MOST):
            try:
                data, _ = self._socket.recvfrom(FORM.size + 1)
            except OSError:  # nothing there, or no network: either way no pose
                break
            where = decode(data)
            if where is None:
                self.counts["bad"] += 1
            elif best is None or where.count > best.count:
                best = where
        if best is None:
            return None
        # A smaller counter is a source that was started anew, unless it is only a little late.
        if best.count <= self._last and self._last - best.count < 1000:
            self.counts["old"] += 1
            return None
        self.counts["received"] += 1
        self._last = best.count
        return best

    def close(self) -> None:
        self._socket.close()
