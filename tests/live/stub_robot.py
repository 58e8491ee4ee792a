"""A robot of arithmetic on loopback, with the clock of its run: `python -m live.stub_robot ...`.

Answers every command with a state, like the real one, and moves time when all others sleep.
"""

import socket
import sys
import time
from pathlib import Path

from benchmarks.loopback import TICK, Joints

from ursa.gate.wire import decode_command
from ursa.shared.keeper import Keeper


def bound(port):
    """A socket on loopback where the gate will look for its robot."""
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    found.bind(("127.0.0.1", port))
    found.setblocking(False)
    return found


class Robot:
    """Joints that obey, at the end of a wire."""

    def __init__(self, wire):
        self.wire, self._joints, self._heard = wire, Joints(), b""

    @property
    def angle(self):
        return self._joints.angle

    @property
    def command(self):
        """What it was told last."""
        return decode_command(self._heard)

    def answer(self):
        """Take what has arrived; whether anything had."""
        try:
            self._heard, sender = self.wire.recvfrom(2048)
        except BlockingIOError:
            return False
        self.wire.sendto(self._joints.obey(self._heard), sender)
        return True


def main(port, clock):
    robot, keeper = Robot(bound(int(port))), Keeper(Path(clock))
    while True:
        if not keeper.settled():
            continue
        while robot.answer():
            pass
        attending = keeper.attending()
        if len(attending) < 2:  # one is just starting, and needs the processor more than we do
            time.sleep(TICK)
        if attending:
            keeper.advance(keeper.due())


if __name__ == "__main__":
    main(*sys.argv[1:])
