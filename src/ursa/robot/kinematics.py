"""Kinematics of legs: where feet and knees are, and how the point moves that a foot stands on.

A leg is hip about x, then upper and lower about y; at zero angles it hangs along -z.
Everything is in the trunk frame, vectorised over leading axes and as precise as the angles
it is given. `Legs` does the work on separate arrays x, y, z of shape (F, *b), which keeps the
innermost loops long; the functions wrap it for one-off use.
"""

import numpy as np
from jaxtyping import Float

from ursa.robot.reading import up_of
from ursa.robot.spec import JOINTS_PER_LEG, RobotSpec

Array = np.ndarray
Point = tuple[Array, Array, Array]  # x, y, z, each (F, *b)


def feet(spec: RobotSpec, angle: Float[Array, "*b A"]) -> Float[Array, "*b F 3"]:
    """Centre of each foot."""
    return _by_leg(Legs(spec, angle).foot())


def soles_below(
    spec: RobotSpec, angle: Float[Array, "n A"], quaternion: Float[Array, "n 4"]
) -> Float[Array, "n F"]:
    """How far below the trunk origin, along the world's vertical, the lowest point of a foot is."""
    legs = Legs(spec, angle)
    (x, y, z), up = legs.foot(), up_of(quaternion.T)
    return (legs.radius - (up[0] * x + up[1] * y + up[2] * z)).T


def foot_velocity(
    spec: RobotSpec,
    angle: Float[Array, "*b A"],
    speed: Float[Array, "*b A"],
    down: Float[Array, "*b 3"],
) -> Float[Array, "*b F 3"]:
    """Velocity against the trunk of the point of the calf that touches the floor.

    That point is a foot radius below the centre of the foot, along `down` (a unit vector). The
    centre itself does not stand still on the floor: a round foot rolls.
    """
    return _by_leg(Legs(spec, angle).sole(speed, np.moveaxis(down, -1, 0))[1])


class Legs:
    """All legs of a robot at some angles: two bones each, in the plane that its hip turns."""

    def __init__(self, spec: RobotSpec, angle: Float[Array, "*b A"]) -> None:
        sizes = spec.leg_sizes.astype(angle.dtype)
        sizes = sizes.reshape(*sizes.shape, *[1] * (angle.ndim - 1))
        *self.origin, self.offset, self.radius = sizes[:5]
        angles = _by_joint(angle)
        sin, cos = np.sin(angles), np.cos(angles)
        self.sin, self.cos = sin[0], cos[0]  # of the hip
        down = -sizes[5:]  # upper, lower
        self.bone_x, self.bone_z = down * sin[1:], down * cos[1:]

    def foot(self) -> Point:
        """Centre of each foot."""
        return self._out(*self._turned(self.bone_x.sum(axis=0), self.bone_z.sum(axis=0)))

    def knee(self) -> Point:
        """Axis of each lower joint: what a kneeling robot rests on."""
        return self._out(*self._turned(self.bone_x[0], self.bone_z[0]))

    def sole(self, speed: Float[Array, "*b A"], down: Float[Array, "3 *b"]) -> tuple[Point, Point]:
        """Place and velocity of the points of `foot_velocity`."""
        hip, *bend = _by_joint(speed)
        dx, dy, dz = self.radius * down[0], self.radius * down[1], self.radius * down[2]
        x, y, z = self._turned(self.bone_x.sum(axis=0), self.bone_z.sum(axis=0))
        x, y, z = x + dx, y + dy, z + dz
        # In the plane of the leg the thigh carries the knee, and the calf carries the rest of
        # the way to the floor: its own length, and the radius along `down` turned into the plane.
        lower_x, lower_z = self.bone_x[1] + dx, self.bone_z[1] + self.cos * dz - self.sin * dy
        ahead = bend[0] * self.bone_z[0] + bend[1] * lower_z
        below = bend[0] * self.bone_x[0] + bend[1] * lower_x
        return self._out(x, y, z), (ahead, self.sin * below - hip * z, hip * y - self.cos * below)

    def _turned(self, x: Array, z: Array) -> Point:
        """A point of the leg's plane, seen from the hip joint in the directions of the trunk."""
        return x, self.cos * self.offset - self.sin * z, self.sin * self.offset + self.cos * z

    def _out(self, x: Array, y: Array, z: Array) -> Point:
        return x + self.origin[0], y + self.origin[1], z + self.origin[2]


def _by_joint(value: Float[Array, "*b A"]) -> Float[Array, "3 F *b"]:
    """Angles or speeds of hip, thigh and calf of every leg; the calf turns with the thigh."""
    parts = value.reshape(*value.shape[:-1], -1, JOINTS_PER_LEG)
    last = parts.ndim - 1
    parts = np.array(parts.transpose(last, last - 1, *range(last - 1)), order="C")
    parts[2] += parts[1]
    return parts


def _by_leg(point: Point) -> Float[Array, "*b F 3"]:
    return np.moveaxis(np.stack(point, axis=-1), 0, -2)
