"""A robot of arithmetic on loopback, for measurements of what is in front of it."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ursa.gate.link import Address
from ursa.gate.packet import COMMAND, STATE, sealed
from ursa.gate.wire import JOINTS, SERVO, State, encode_state

TICK = 0.002  # s between two commands
LYING = np.tile([0.0, 1.2, -2.65], 4)


class Joints:
    """Those of an A1 that lies at first; they go where they are told within some 20 ms.

    No physics, and no order of the legs: all are told the same, so that of the wire is as good.
    """

    def __init__(self) -> None:
        self.angle, self.tick, self.served = LYING.copy(), 0, False  # served: not limp
        at_rest = State(
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
        self._packet = np.frombuffer(bytearray(encode_state(at_rest)), STATE)[0]

    def obey(self, command: bytes) -> bytes:
        """Move for one tick; the state that answers."""
        motor = np.frombuffer(command, COMMAND)[0]["motor"][:JOINTS]
        serves = motor["kp"] > 0
        goal = np.where(serves, motor["q"], self.angle)
        speed = np.clip((goal - self.angle) / 0.02, -10, 10)
        self.tick, self.angle = self.tick + 1, self.angle + speed * TICK
        self.served = bool(serves.any())
        packet = self._packet
        packet["motor"]["q"][:JOINTS], packet["motor"]["dq"][:JOINTS] = self.angle, speed
        packet["tick"], packet["gyro"][0] = self.tick, 1e-3 * (self.tick % 7)  # always news
        return sealed(packet)


class Robot:
    """Where it listens; `answering` makes it answer."""

    def __init__(self) -> None:
        self.wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.wire.bind(("127.0.0.1", 0))

    @property
    def address(self) -> Address:
        return self.wire.getsockname()

    def close(self) -> None:
        self.wire.close()


def answer(wire: socket.socket, limped: Any) -> None:
    """Until the process is ended: take a command, send a state; tell when motors go limp."""
    with suppress(OSError):  # a robot has a computer of its own, and is never late for ours
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(45))
    joints = Joints()
    while True:
        data, sender = wire.recvfrom(2048)
        now, served = time.monotonic(), joints.served
        state = joints.obey(data)
        if served and not joints.served:
            limped.send(now)
        wire.sendto(state, sender)


@contextmanager
def answering(robot: Robot, processes: Any) -> Iterator[Any]:
    """The robot in a process of its own; yields where it tells at which times it went limp."""
    here, there = processes.Pipe()
    process = processes.Process(target=answer, args=(robot.wire, there), daemon=True)
    process.start()
    try:
        yield here
    finally:
        process.terminate()
        process.join()
