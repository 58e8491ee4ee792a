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


class Robot:
    """Answers each command; joints go where they are told within some 20 ms."""

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
    calm = State(
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
    with suppress(OSError):  # a robot has a computer of its own, and is never late for ours
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(45))
    packet = np.frombuffer(bytearray(encode_state(calm)), STATE)[0]
    angle, tick, served = LYING.copy(), 0, False
    while True:
        data, sender = wire.recvfrom(2048)
        now = time.monotonic()
        motor = np.frombuffer(data, COMMAND)[0]["motor"][:JOINTS]
        serves = bool((motor["kp"] > 0).any())
        if served and not serves:
            limped.send(now)
        served = serves
        speed = np.clip((np.where(motor["kp"] > 0, motor["q"], angle) - angle) / 0.02, -10, 10)
        tick, angle = tick + 1, angle + speed * TICK
        packet["motor"]["q"][:JOINTS], packet["motor"]["dq"][:JOINTS] = angle, speed
        packet["tick"], packet["gyro"][0] = tick, 1e-3 * (tick % 7)  # always news
        wire.sendto(sealed(packet), sender)


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
