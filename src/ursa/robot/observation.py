"""Observation: a reading as one flat vector for a network; what stands where is data.

Only what a robot can know, scaled so that ordinary motion is of order one. Tilt is the
direction of gravity, not Euler angles, so that nothing wraps when a robot rolls on its back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float32

from ursa.errors import unknown
from ursa.robot.motion import action_of
from ursa.robot.reading import Reading, turn_of
from ursa.robot.spec import RobotSpec

Array = np.ndarray

GYRO = 4.0  # rad/s that read 1: a brisk turn
VELOCITY = 0.5  # m/s that read 1: a good trot
HEIGHT = 0.1  # m above the resting height that read 1
SPEED = 0.5  # share of a joint's no-load speed that reads 1
BOUND = 10.0  # nothing reads more: one wild number must not hurt a network


@dataclass(frozen=True, kw_only=True)
class ObservationConfig:
    """Which optional channels there are."""

    velocity: bool = True  # estimated
    height: bool = True  # estimated; legged robots only
    last_command: bool = False  # joint target executed last


@dataclass(frozen=True)
class Layout:
    """Which columns of an observation hold what: `observation[:, layout["joint_angle"]]`."""

    spec: RobotSpec
    config: ObservationConfig = field(default_factory=ObservationConfig)

    def __getitem__(self, channel: str) -> slice:
        if channel not in self.slices:
            raise unknown("observation channel", channel, self.slices)
        return self.slices[channel]

    @cached_property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The channels in order, each with the names of its columns."""
        axes, joints = ("x", "y", "z"), self.spec.joint_names
        legged = bool(self.spec.legs)  # a point does not tilt
        channels = {
            "gravity": axes if legged else (),
            "gyro": axes if legged else (),
            "velocity": axes if self.config.velocity else (),
            "height": ("",) if legged and self.config.height else (),
            "joint_angle": joints,
            "joint_speed": joints,
            "last_command": joints if self.config.last_command else (),
        }
        return {name: columns for name, columns in channels.items() if columns}

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each channel stands."""
        slices, start = {}, 0
        for name, columns in self.columns.items():
            slices[name] = slice(start, start + len(columns))
            start += len(columns)
        return slices

    @cached_property
    def size(self) -> int:
        return sum(len(columns) for columns in self.columns.values())


def observe(layout: Layout, reading: Reading) -> Float32[Array, "n O"]:
    """The observation of every robot; finite if the reading is."""
    out = np.empty((reading.count, layout.size))
    with np.errstate(over="ignore"):  # what overflows ends at the bound
        turn = turn_of(reading.quaternion.T)
        for channel, columns in layout.slices.items():
            out[:, columns] = VALUES[channel](layout.spec, reading, turn)
    np.maximum(out, -BOUND, out=out)
    return np.minimum(out, BOUND, out=out).astype(np.float32)


def names(layout: Layout) -> tuple[str, ...]:
    """One name per column: "gravity.x", "height", "joint_speed.FL.upper"."""
    return tuple(
        f"{channel}.{column}" if column else channel
        for channel, columns in layout.columns.items()
        for column in columns
    )


def _gravity(spec: RobotSpec, reading: Reading, turn: Array) -> Array:
    return -turn[2].T  # the world's down, seen from the trunk


def _gyro(spec: RobotSpec, reading: Reading, turn: Array) -> Array:
    return reading.gyro / GYRO


def _velocity(spec: RobotSpec, reading: Reading, turn: Array) -> Array:
    world = np.minimum(np.maximum(reading.velocity, -1e6), 1e6)  # so that the sum is finite
    return (turn * world.T[:, None]).sum(axis=0).T / VELOCITY


def _height(spec: RobotSpec, reading: Reading, turn: Array) -> Array:
    return ((reading.height - spec.rest_height) / HEIGHT)[:, None]


def _joint_angle(spec: RobotSpec, reading: Reading, turn: Array) -> Array:
    return action_of(spec, reading.joint_angle)


def _joint_speed(spec: RobotSpec, reading: Reading, turn: Array) -> Array:
    return reading.joint_speed / (SPEED * spec.of_joints("speed"))


def _last_command(spec: RobotSpec, reading: Reading, turn: Array) -> Array:
    return action_of(spec, reading.command)


# What each channel reads, from the robot, its reading and its rotation (3, 3, n), body to world.
VALUES: Mapping[str, Callable[[RobotSpec, Reading, Array], Array]] = {
    "gravity": _gravity,
    "gyro": _gyro,
    "velocity": _velocity,
    "height": _height,
    "joint_angle": _joint_angle,
    "joint_speed": _joint_speed,
    "last_command": _last_command,
}
