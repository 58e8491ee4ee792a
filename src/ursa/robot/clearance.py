"""Clearance: how far the lowest point of a whole robot is above the floor.

Feet alone do not say whether a robot is in the air: it may kneel or crawl. Every shape of every
link is asked how far it reaches down (its support function), which needs no simulator.
"""

import numpy as np
from jaxtyping import Float

from ursa.robot.reading import Reading, up_of
from ursa.robot.spec import JOINTS_PER_LEG, RobotSpec, Shape

Array = np.ndarray
Vectors = Float[Array, "3 n"]
OFF_GROUND = 0.005  # m: more than this above the floor counts as in the air


def airborne(reading: Reading) -> Float[Array, " n"]:
    """1 where no part of the robot touches the floor, else 0; by the simulator's truth."""
    assert reading.truth is not None, "only a simulator knows how high a robot is"
    if not reading.spec.legs:
        return np.zeros(reading.count)
    down = reach(reading.spec, reading.joint_angle, reading.quaternion)
    return (reading.truth.position[:, 2] - down > OFF_GROUND).astype(float)


def reach(
    spec: RobotSpec, angle: Float[Array, "n A"], quaternion: Float[Array, "n 4"]
) -> Float[Array, " n"]:
    """How far below the trunk's origin the lowest point of the robot is."""
    down = -np.asarray(up_of(quaternion.T))  # the world's down, seen from the trunk
    assert spec.trunk is not None
    deepest = [_support(shape, down) for shape in spec.trunk.shapes]
    for index, leg in enumerate(spec.legs):
        hip, upper, lower = angle[:, JOINTS_PER_LEG * index :][:, :JOINTS_PER_LEG].T
        at, local = _along(leg.origin, down), down
        for link, turn, axis, onward in zip(
            leg.links,
            (hip, upper, lower),
            (0, 1, 1),
            ((0.0, leg.offset, 0.0), (0.0, 0.0, -leg.upper_length), (0.0, 0.0, -leg.lower_length)),
            strict=True,
        ):
            local = _seen_from(local, turn, axis)
            deepest += [at + _support(shape, local) for shape in link.shapes]
            at = at + _along(onward, local)
        deepest.append(at + leg.foot_radius)
    return np.max(deepest, axis=0)


def _along(point: tuple[float, ...], direction: Vectors) -> Float[Array, " n"]:
    return point[0] * direction[0] + point[1] * direction[1] + point[2] * direction[2]


def _seen_from(direction: Vectors, turn: Float[Array, " n"], axis: int) -> Vectors:
    """A direction in the frame that is turned about x (0) or y (1)."""
    x, y, z = direction
    sin, cos = np.sin(turn), np.cos(turn)
    if axis == 0:
        return np.stack([x, cos * y + sin * z, cos * z - sin * y])
    return np.stack([cos * x - sin * z, y, cos * z + sin * x])


def _support(shape: Shape, direction: Vectors) -> Float[Array, " n"]:
    """How far a shape reaches in a unit direction, from the origin of its link."""
    centre = _along(shape.position, direction)
    if shape.kind == "box":
        return centre + sum(s / 2 * np.abs(d) for s, d in zip(shape.size, direction, strict=True))
    if shape.kind == "sphere":
        return centre + shape.size[0]
    length = np.linalg.norm(shape.axis)
    lean = np.abs(_along(shape.axis, direction)) / length
    radius, half = shape.size[0], shape.size[1] / 2
    round_part = 1.0 if shape.kind == "capsule" else np.sqrt(np.maximum(1 - lean**2, 0.0))
    return centre + half * lean + radius * round_part
