"""Reading: what n robots know of themselves after a control step, and what only a simulator knows."""

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
    """Rotation matrices of unit quaternions (w, x, y, z)."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
