"""Reading: what n robots know of themselves, and beside it what only a simulator knows."""

from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Bool, Float

from ursa.robot.spec import RobotSpec

Array = np.ndarray


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What only a simulator knows. For metrics and pictures, never for reward or observation."""

    position: Float[Array, "n 3"]  # of the trunk, world frame
    velocity: Float[Array, "n 3"]  # of the trunk origin, world frame
    foot_height: Float[Array, "n F"]  # of the lowest point of each foot above the floor


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a robot can know, one row per robot. A joints, F feet."""

    spec: RobotSpec
    joint_angle: Float[Array, "n A"]  # rad
    joint_speed: Float[Array, "n A"]  # rad/s
    torque: Float[Array, "n A"]  # N m, mean over the control step
    power: Float[Array, " n"]  # W, mean positive motor power over the control step
    quaternion: Float[Array, "n 4"]  # w x y z, body to world
    gyro: Float[Array, "n 3"]  # rad/s, body frame
    acceleration: Float[Array, "n 3"]  # m/s^2, body frame, gravity included (+g upright at rest)
    contact: Bool[Array, "n F"]  # a foot presses on the floor
    command: Float[Array, "n A"]  # joint target executed last, after filter, delay and damage
    velocity: Float[Array, "n 3"]  # m/s, ESTIMATED from legs and IMU, world frame
    height: Float[Array, " n"]  # m, ESTIMATED height of the trunk over its feet
    truth: Truth | None = None  # None on a real robot

    @property
    def rotation(self) -> Float[Array, "n 3 3"]:
        """Body to world."""
        return rotation(self.quaternion)

    @property
    def count(self) -> int:
        return self.joint_angle.shape[0]

    def merge(self, other: "Reading", which: Bool[Array, " n"]) -> "Reading":
        """This reading with the rows of `other` where `which` is true."""
        mixed = {
            f.name: _rows(getattr(self, f.name), getattr(other, f.name), which)
            for f in fields(self)
            if f.name not in ("spec", "truth")
        }
        truth = self.truth
        if truth is not None and other.truth is not None:
            pairs = {
                f.name: (getattr(truth, f.name), getattr(other.truth, f.name))
                for f in fields(truth)
            }
            truth = Truth(**{name: _rows(a, b, which) for name, (a, b) in pairs.items()})
        return replace(self, **mixed, truth=truth)


def _rows(mine: Array, theirs: Array, which: Array) -> Array:
    return np.where(which.reshape(-1, *[1] * (mine.ndim - 1)), theirs, mine)


def rotation(quaternion: Float[Array, "*b 4"]) -> Float[Array, "*b 3 3"]:
    """Body to world, of quaternions (w, x, y, z); the array axes last."""
    return np.moveaxis(turn_of(np.moveaxis(quaternion, -1, 0)), (0, 1), (-2, -1))


def turn_of(quaternion: Float[Array, "4 *b"]) -> Float[Array, "3 3 *b"]:
    """The same with the array axes first; any length will do, 0 or inf means no rotation."""
    w, x, y, z = quaternion
    sx, sy, sz = _doubled(quaternion)
    xx, yy, zz, xy, xz, yz = x * sx, y * sy, z * sz, x * sy, x * sz, y * sz
    wx, wy, wz = w * sx, w * sy, w * sz
    turn = np.empty((3, 3, *x.shape))
    turn[0, 0], turn[0, 1], turn[0, 2] = 1 - (yy + zz), xy - wz, xz + wy
    turn[1, 0], turn[1, 1], turn[1, 2] = xy + wz, 1 - (xx + zz), yz - wx
    turn[2, 0], turn[2, 1], turn[2, 2] = xz - wy, yz + wx, 1 - (xx + yy)
    return turn


def up_of(quaternion: Float[Array, "4 *b"]) -> Float[Array, "3 *b"]:
    """The world's up as the body sees it: the last row of `turn_of`."""
    w, x, y, _ = quaternion
    sx, sy, sz = _doubled(quaternion)
    return np.stack([x * sz - w * sy, y * sz + w * sx, 1 - (x * sx + y * sy)])


def _doubled(quaternion: Float[Array, "4 *b"]) -> Float[Array, "3 *b"]:
    """x, y, z times 2 / length^2; 0 where the length is 0 or inf."""
    size = (quaternion * quaternion).sum(axis=0)
    double = np.where((size > 1e-12) & (size < np.inf), 2.0 / np.maximum(size, 1e-12), 0.0)
    return double * quaternion[1:]
