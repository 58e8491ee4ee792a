"""The pieces rewards and costs are made of: pure functions of what a robot can know (App. D).

Every term is finite for every finite reading, a robot at rest included: nothing is divided by a
speed. Velocity and height are the robot's estimates; the simulator's truth is never looked at.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ursa.errors import UserError
from ursa.robot.reading import Reading
from ursa.robot.spec import JOINTS_PER_LEG, RobotSpec

Array = np.ndarray
GATE = 0.7  # a posture term above this is good; for r_upr it is a tilt under 66.4 degrees
EFFORT = 0.001  # weight of r_speed + r_work + r_smooth


def upright(reading: Reading) -> Float[Array, " n"]:
    """r_upr = (R[2,2] + 1) / 2: 1 on the feet, 0.5 on the side, 0 on the back."""
    _, x, y, _ = reading.quaternion.T
    return 1.0 - (x * x + y * y)


def forward_speed(reading: Reading) -> Float[Array, " n"]:
    """v . h with h the horizontal part of the body x axis, not renormalised (m/s)."""
    w, x, y, z = reading.quaternion.T
    v = reading.velocity
    return v[:, 0] * (1.0 - 2.0 * (y * y + z * z)) + v[:, 1] * (2.0 * (x * y + w * z))


def lateral_speed(reading: Reading) -> Float[Array, " n"]:
    """v . l with l the horizontal part of the body y axis (m/s, positive to the left)."""
    w, x, y, z = reading.quaternion.T
    v = reading.velocity
    return v[:, 0] * (2.0 * (x * y - w * z)) + v[:, 1] * (1.0 - 2.0 * (x * x + z * z))


def yaw_rate(reading: Reading) -> Float[Array, " n"]:
    """Turning about the body z axis, from the gyroscope (rad/s, positive to the left)."""
    return reading.gyro[:, 2]


def joint_speed(reading: Reading) -> Float[Array, " n"]:
    """r_speed: the squared norm of the joint speeds."""
    return _squared(reading.joint_speed)


def work(before: Reading, after: Reading) -> Float[Array, " n"]:
    """r_work: |torque . (change of joint angle)| over the step."""
    moved = after.joint_angle - before.joint_angle
    return np.abs(np.einsum("na,na->n", after.torque, moved))


def smoothness(before: Reading, after: Reading) -> Float[Array, " n"]:
    """r_smooth: the squared norm of the change of torque."""
    return _squared(after.torque - before.torque)


@dataclass(frozen=True, eq=False)
class Pose:
    """The standing pose of one robot, in action units (-1 .. 1 over the action's range)."""

    middle: Float[Array, " A"]  # rad, the angle of action 0
    half: Float[Array, " A"]  # rad, half the action's range
    standing: Float[Array, " A"]  # the perfect pose, in action units
    widest: Float[Array, " A"]  # the largest deviation from it inside the range


def pose(spec: RobotSpec) -> Pose:
    """Work out the standing pose once, when a task is built."""
    if not spec.legs:
        raise UserError(
            f"robot {spec.name} has no legs, so no hip, upper and lower joints to judge; "
            "choose a task without posture terms, such as point"
        )
    low, high = spec.of_joints("low"), spec.of_joints("high")
    middle, half = (low + high) / 2, (high - low) / 2
    # A standing pose beyond the action's range counts as its end, as measured angles do.
    standing = np.clip((spec.of_joints("standing") - middle) / half, -1.0, 1.0)
    return Pose(middle, half, standing, 1.0 + np.abs(standing))


def legs(reading: Reading, pose: Pose) -> Float[Array, "3 n"]:
    """r_hip, r_upper, r_lower without gates: 1 in the standing pose, 0 as far off as can be."""
    unit = (reading.joint_angle - pose.middle) / pose.half
    np.clip(unit, -1.0, 1.0, out=unit)
    deviation = np.abs(unit - pose.standing) / pose.widest
    by_leg = deviation.reshape(reading.count, -1, JOINTS_PER_LEG)
    return 1.0 - by_leg.mean(axis=1).T


def gated(
    upright: Float[Array, " n"], legs: Float[Array, "3 n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"], Float[Array, " n"]]:
    """r_hip, r_upper, r_lower one after the other: each counts only when the one before is good."""
    hip = legs[0] * (upright > GATE)
    upper = legs[1] * (hip > GATE)
    lower = legs[2] * (upper > GATE)
    return hip, upper, lower


def effort(before: Reading, after: Reading) -> dict[str, Float[Array, " n"]]:
    """The three penalties both tasks share, weighted: speed, work, smooth."""
    return {
        "speed": -EFFORT * joint_speed(after),
        "work": -EFFORT * work(before, after),
        "smooth": -EFFORT * smoothness(before, after),
    }


def _squared(vector: Float[Array, "n A"]) -> Float[Array, " n"]:
    return np.einsum("na,na->n", vector, vector)
