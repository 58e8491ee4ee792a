"""Estimator: trunk velocity and height from what a robot can know: IMU, leg angles, foot contacts.

A foot on the floor says how the trunk moves: v = -R (omega x p + J qd), with p the point of the
foot that stands on the floor. The accelerometer says how v changes. Within a control step the
accelerometer carries the velocity from tick to tick, and the feet correct it once, by as much
as it is in doubt: leg odometry while feet stand, integration in flight. A foot that slips
disagrees with the others and with the accelerometer and counts for less. A robot that lies on its
trunk can paw the floor with feet that slip and never disagree with anything but the accelerometer:
`settle` makes it sure that it rests while no foot touches, so that feet that touch now and then are
doubted. Feet that touch half of the time or more are believed all the same.

Inside, axes x y z come first: vectors are (3, n, k), matrices (3, 3, n, k), feet (F, n, k).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ursa.robot.engine import Ticks
from ursa.robot.kinematics import Legs, Point
from ursa.robot.reading import turn_of
from ursa.robot.spec import RobotSpec

Array = np.ndarray
GRAVITY = 9.81

# Our choices, by a sweep over standing, trotting, slipping and flailing A1s in MuJoCo, with exact
# sensors and with an IMU off by 0.15 m/s^2 and one degree.
TRUST = 0.06  # s: how long the accelerometer is believed against one standing foot
SLIP = 0.1  # m/s: a foot that disagrees by this much counts half
LEAK = 0.3  # s: time in which a robot that lies on anything but its feet is taken to stop
FASTEST = 3.0  # m/s: no estimate is faster
LONGEST_DOUBT = 1.0  # s
LOOK = 0.006  # s: how often within a control step the feet are looked at (10 ms: 1.5 mm/s worse)


@dataclass(frozen=True, kw_only=True)
class EstimatorState:
    """What n robots remember between two control steps."""

    velocity: Float[Array, "n 3"]  # m/s, world frame
    height: Float[Array, " n"]  # m
    doubt: Float[Array, " n"]  # s of integration that no foot has checked yet


def begin(n: int) -> EstimatorState:
    """Robots at rest, of unknown height, that will believe the first foot that touches."""
    doubt = np.full(n, LONGEST_DOUBT)
    return EstimatorState(velocity=np.zeros((n, 3)), height=np.zeros(n), doubt=doubt)


def restart(state: EstimatorState, which: Bool[Array, " n"]) -> EstimatorState:
    """`begin` for the marked robots; the others go on."""
    begun = begin(len(which))
    return EstimatorState(
        velocity=np.where(which[:, None], begun.velocity, state.velocity),
        height=np.where(which, begun.height, state.height),
        doubt=np.where(which, begun.doubt, state.doubt),
    )


def update(
    spec: RobotSpec, tick: float, state: EstimatorState, ticks: Ticks, *, settle: float = 0.0
) -> tuple[EstimatorState, Float[Array, "n 3"], Float[Array, " n"]]:
    """Velocity (world frame) and height after one control step; `tick` is in seconds.

    `settle`: the seconds of lying after which a robot's doubt has fallen to 1/e; 0: it never does.
    Always finite: a robot whose sensors said something that is no number keeps its last
    estimate and doubts it.
    """
    with np.errstate(all="ignore"):
        turn = turn_of(_first(ticks.quaternion))
        force = _first(ticks.acceleration)
        push = (turn * force).sum(axis=1)  # turned into the world frame
        push[2] -= GRAVITY
        path = state.velocity.T[:, :, None] + np.cumsum(tick * push, axis=-1)
        doubt = np.minimum(state.doubt + tick * path.shape[-1], LONGEST_DOUBT)

        stride = max(1, round(LOOK / tick))
        look = slice((path.shape[-1] - 1) % stride, None, stride)  # the last tick is one of them
        contact, looked = _first(ticks.contact), turn[..., look].astype(np.float32)
        gap, height = _feet(spec, looked, path[..., look], ticks, look, contact[..., -1])
        correction, gain = _corrected(gap, contact[..., look], looked, doubt * (tick * stride))
        lying = _lying(force, contact)
        velocity = (path[..., -1] + correction) * np.exp(lying * (-tick / LEAK))
        speed = np.sqrt((velocity * velocity).sum(axis=0))
        velocity = (velocity * (FASTEST / np.maximum(speed, FASTEST))).T

    doubt = doubt * (1.0 - gain)
    if settle:
        doubt = doubt * np.exp(lying * (-tick / settle))
    sound = np.isfinite(velocity).all(axis=1) & np.isfinite(height)
    if not sound.all():
        velocity = np.where(sound[:, None], velocity, state.velocity)
        height = np.where(sound, height, state.height)
        doubt = np.where(sound, doubt, LONGEST_DOUBT)
    return EstimatorState(velocity=velocity, height=height, doubt=doubt), velocity, height


def _feet(
    spec: RobotSpec, turn: Array, path: Array, ticks: Ticks, look: slice, contact: Array
) -> tuple[Array, Array]:
    """Trunk velocity as each foot has it minus as integrated (3, F, n, k), trunk frame; height (n).

    In single precision: this is most of the work, and a micrometre per second is plenty.
    """
    legs = Legs(spec, ticks.joint_angle[:, look].astype(np.float32))
    speed = ticks.joint_speed[:, look].astype(np.float32)
    (x, y, z), (vx, vy, vz) = legs.sole(speed, -turn[2])
    wx, wy, wz = _first(ticks.gyro[:, look]).astype(np.float32)
    bx, by, bz = (turn * path.astype(np.float32)[:, None]).sum(axis=0)
    gap = np.empty((3, *x.shape), np.float32)
    gap[0] = wz * y - wy * z - vx - bx
    gap[1] = wx * z - wz * x - vy - by
    gap[2] = wy * x - wx * y - vz - bz

    up = turn[2, :, :, -1]
    return gap, _height(spec, up, _below(up, (x, y, z)), _below(up, legs.knee()), contact)


def _corrected(gap: Array, contact: Array, turn: Array, weighing: Array) -> tuple[Array, Array]:
    """What to add to the integrated velocity (3, n), and the share of doubt it removes (n).

    A Kalman filter whose unit of variance is what the accelerometer gathers in a second: doubt
    grows by a second per second, a foot that stands for t seconds measures with TRUST^2 / t.
    `weighing` is doubt times the seconds that one looked-at tick stands for.
    """

    def weighed(near: Array) -> tuple[Array, Array]:
        weight = contact / (1.0 + (near * near).sum(axis=0) / np.float32(SLIP**2))
        total = weight.sum(axis=2).sum(axis=0)  # in this order: the bits do not depend on n
        evidence = weighing * total
        gain = evidence / (evidence + TRUST**2)
        said = (turn * (weight * gap).sum(axis=1)).sum(axis=3).sum(axis=1)  # world, over all ticks
        return said * (gain / np.maximum(total, 1e-9)).astype(np.float32), gain

    # Weigh the feet by the integrated velocity, then by the corrected one.
    correction, _ = weighed(gap)
    return weighed(gap - (turn * correction[:, None, :, None]).sum(axis=0)[:, None])


def _lying(force: Array, contact: Array) -> Float[Array, " n"]:
    """Ticks that something bore the robot, and no foot did.

    None in flight, where the accelerometer reads 0. If it reads g, the robot lies on its
    trunk or knees: integration would drift away, and such a robot soon stops.
    """
    borne = np.minimum(np.sqrt((force * force).sum(axis=0)) / GRAVITY, 1.0)
    return (borne * ~contact.any(axis=0)).sum(axis=-1)


def _height(spec: RobotSpec, up: Array, sole: Array, knee: Array, contact: Array) -> Array:
    """Of the trunk origin over a flat floor: over the feet in contact, else the lowest part.

    `sole` and `knee` (F, n) are how far below the trunk origin those are.
    """
    count = contact.sum(axis=0)
    standing = (sole * contact).sum(axis=0) / np.maximum(count, 1)
    lowest = np.maximum(sole, knee).max(axis=0)
    return np.maximum(np.where(count > 0, standing, lowest), trunk_reach(spec, up)).astype(float)


def trunk_reach(spec: RobotSpec, up: Float[Array, "3 n"]) -> Float[Array, " n"]:
    """How far the trunk's shapes reach below its origin: what a robot on its back lies on."""
    assert spec.trunk is not None
    reach = np.zeros(up.shape[1])
    for shape in spec.trunk.shapes:
        radius, length = shape.size[0], shape.size[-1]
        if shape.kind == "box":
            below = np.array(shape.size) / 2 @ np.abs(up)
        elif shape.kind == "sphere":
            below = radius
        else:
            along = np.abs(np.array(shape.axis) @ up)
            round_end = radius * np.sqrt(np.maximum(1.0 - along**2, 0.0))
            below = along * (length / 2) + (radius if shape.kind == "capsule" else round_end)
        reach = np.maximum(reach, below - np.array(shape.position) @ up)
    return reach


def _first(field: Array) -> Array:
    """(n, k, components) -> (components, n, k)."""
    return np.ascontiguousarray(field.transpose(2, 0, 1))


def _below(up: Array, point: Point) -> Array:
    """How far below the trunk origin points are at the last tick (F, n)."""
    x, y, z = point
    return -(up[0] * x[..., -1] + up[1] * y[..., -1] + up[2] * z[..., -1])
