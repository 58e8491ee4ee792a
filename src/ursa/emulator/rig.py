"""Rig: an emulated A1 from its motors to its sensors, one tick of 2 ms after another.

Commands in, states out, as values; packets and time are `emulator.py`. Everything is a function of
the seed and of the commands, so the same commands at the same ticks give the same bits.
"""

import math
from collections.abc import Sequence

import numpy as np

from ursa.emulator import charge, heat, motors, noise
from ursa.emulator.chance import Stream
from ursa.emulator.noise import Noise
from ursa.emulator.physics import PERIOD, physics
from ursa.gate.packet import REMOTE_BYTES, TICKS
from ursa.gate.remote import R2
from ursa.gate.wire import Command, State
from ursa.robot.a1 import A1
from ursa.robot.engine import Ticks

Array = np.ndarray
MICROSECONDS = round(PERIOD * 1e6)  # of the robot's tick counter, per tick
FOLDED = (0.0, 1.3, -2.6)  # of each leg: how it lies when it is switched on
SETTLE = 1000  # ticks for lying down before anybody looks
LIFT = 0.35  # m: as high as a hand holds it to turn it over
ROLL = 2 * math.pi / 3  # rad/s: turning it over takes a second and a half


class Rig:
    """One robot, switched on while it lies on its belly."""

    def __init__(
        self, *, engine: str = "mujoco", seed: int = 0, sensors: Noise | None = None, first: int = 0
    ) -> None:
        self.spec = A1
        self.physics = physics(self.spec, engine)
        self.noise = sensors or Noise()
        self.count = 0  # ticks since it was switched on
        self.temperature = heat.cold(self.spec.action_size)
        self.battery = 1.0
        self.diverged = 0  # times that the physics failed and the robot was set down anew
        self.remote = bytes(REMOTE_BYTES)
        self.torque = np.zeros(self.spec.action_size)
        self._first = first
        self._off = np.zeros(self.spec.action_size, bool)
        self._command: Command | None = None
        self._draws = Stream(seed, "sensors", noise.DRAWS, normal=True)
        self._lie_down()
        self.temperature, self.battery = heat.cold(self.spec.action_size), 1.0

    def tick(self, command: Command | None) -> None:
        """Two milliseconds under this command; None is a brake."""
        ticks = self.physics.ticks
        angle, speed = ticks.joint_angle[0, -1], ticks.joint_speed[0, -1]
        self._off = heat.cut_out(self.temperature, self._off)
        strength = charge.strength(self.battery) * ~self._off
        asked = motors.wanted(command, angle, speed)
        self.torque = motors.given(self.spec, asked, speed, strength)
        self._moved(self.physics.advance(self.torque))
        if self.physics.diverged():  # numbers, not a robot: it lies there again, as at the start
            self.diverged += 1
            self.physics.restore()
        self._command = command
        self.count += 1

    def say(self) -> State:
        """What the sensors tell of the last tick; the same however often it is asked."""
        ticks = self.physics.ticks
        state = State(
            tick=(self._first + self.count * MICROSECONDS) % TICKS,
            quaternion=ticks.quaternion[0, -1].copy(),
            gyro=ticks.gyro[0, -1],
            acceleration=np.clip(ticks.acceleration[0, -1], -150.0, 150.0),  # the sensor's end
            angle=ticks.joint_angle[0, -1],
            speed=ticks.joint_speed[0, -1],
            torque=self.torque,
            temperature=np.floor(self.temperature),
            mode=np.where(self._off, 0, motors.mode(self._command)),
            foot_force=self.physics.foot_force(),
            remote=self.remote,
        )
        return noise.noisy(self.noise, state, self._draws.draw(self.count))

    def place(self) -> tuple[float, float, float, float]:
        """x, y, height and yaw: what only an observer outside knows."""
        (x, y, z), quaternion = self.physics.place()
        w, i, j, k = quaternion.tolist()
        yaw = math.atan2(2 * (w * k + i * j), 1 - 2 * (j * j + k * k))
        return float(x), float(y), float(z), yaw

    def up(self) -> float:
        """1 upright, -1 on its back."""
        w, x, y, z = self.physics.place()[1].tolist()
        return 1 - 2 * (x * x + y * y) / (w * w + x * x + y * y + z * z)

    def press(self, pressed: bool) -> None:
        """The stop button of the hand-held remote, which is on."""
        buttons = (R2 if pressed else 0).to_bytes(2, "little")
        self.remote = b"\x55\x51" + buttons + bytes(REMOTE_BYTES - 4)

    def push(self, force: Sequence[float]) -> None:
        """Newtons on the trunk, during the next tick."""
        self.physics.push(np.array(force, float))

    def turn(self, ends: float) -> bool:
        """A hand turns it over by a little; True when the body's up is `ends` (1 or -1)."""
        _, quaternion = self.physics.place()
        if ends * self.up() > 0.98:
            return True
        step = ROLL * PERIOD / 2
        w, x, y, z = quaternion.tolist()
        c, s = math.cos(step), math.sin(step)
        turned = np.array([c * w - s * x, c * x + s * w, c * y + s * z, c * z - s * y])
        self.physics.turn(turned / np.linalg.norm(turned), LIFT)
        return False

    def restart(self) -> None:
        """Switched off and on: its counter begins anew."""
        self._first = -self.count * MICROSECONDS

    def close(self) -> None:
        self.physics.close()

    def _moved(self, ticks: Ticks) -> None:
        speed = ticks.joint_speed[0, -1]
        self.temperature = heat.warmed(self.temperature, self.torque, PERIOD)
        self.battery = charge.drained(self.battery, self.torque, speed, PERIOD)

    def _lie_down(self) -> None:
        """From the engine's stance onto the belly, and at rest there."""
        stance = self.spec.of_joints("stance")
        folded = np.tile(FOLDED, len(self.spec.legs))
        zero = np.zeros_like(stance)
        for count in range(SETTLE):
            share = min(1.0, 2 * count / SETTLE)
            command = Command(
                angle=stance + share * (folded - stance),
                speed=zero,
                torque=zero,
                kp=self.spec.of_joints("kp"),
                kd=self.spec.of_joints("kd"),
            )
            self.tick(command if share < 1 else None)
        self.count = 0
