"""A robot of arithmetic on loopback, with the clock of its run: `python -m live.stub_robot ...`.

Answers every command with a state, like the real one, and moves time when all others sleep. No
physics: joints go where they are told within some 20 ms.
"""

import socket
import sys
import time
from pathlib import Path

import numpy as np

from ursa.gate.packet import COMMAND, STATE, sealed
from ursa.gate.wire import JOINTS, SERVO, State, decode_command, encode_state
from ursa.shared.keeper import Keeper

TICK = 0.002
LYING = np.tile([0.0, 1.2, -2.65], 4)
AT_REST = State(
    tick=0,
    quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
    gyro=np.zeros(3),
    acceleration=np.array([0.0, 0.0, 9.81]),
    angle=LYING,
    speed=np.zeros(12),
    torque=np.full(12, 3.0),
    temperature=np.full(12, 30.0),
    mode=np.full(12, SERVO),
    foot_force=np.full(4, 30.0),
)


def bound(port):
    """A socket on loopback where the gate will look for its robot."""
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    found.bind(("127.0.0.1", port))
    found.setblocking(False)
    return found


class Robot:
    """Joints that obey. All legs are told the same, so the order of the wire does not matter."""

    def __init__(self, wire):
        self.wire, self.tick, self.angle, self._heard = wire, 0, LYING.copy(), b""
        self._packet = np.frombuffer(bytearray(encode_state(AT_REST)), STATE)[0]

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
        motor = np.frombuffer(self._heard, COMMAND)[0]["motor"][:JOINTS]
        goal = np.where(motor["kp"] > 0, motor["q"], self.angle)
        speed = np.clip((goal - self.angle) / 0.02, -10, 10)
        self.tick, self.angle = self.tick + 1, self.angle + speed * TICK
        packet = self._packet
        packet["motor"]["q"][:JOINTS], packet["motor"]["dq"][:JOINTS] = self.angle, speed
        packet["tick"], packet["gyro"][0] = self.tick, 1e-3 * (self.tick % 7)  # always news
        self.wire.sendto(sealed(packet), sender)
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
