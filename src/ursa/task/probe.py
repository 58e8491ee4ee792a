"""A reading made up by hand: robots that stand still, for trying a task without a simulator."""

import numpy as np

from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec

GRAVITY = 9.81


def standing(spec: RobotSpec, count: int = 1) -> Reading:
    """`count` robots at rest in their stance. No truth: tasks must do without."""
    joints, feet = spec.action_size, len(spec.legs)
    stance = np.tile(spec.of_joints("stance"), (count, 1))
    return Reading(
        spec=spec,
        joint_angle=stance,
        joint_speed=np.zeros((count, joints)),
        torque=np.zeros((count, joints)),
        power=np.zeros(count),
        quaternion=np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
        gyro=np.zeros((count, 3)),
        acceleration=np.tile([0.0, 0.0, GRAVITY], (count, 1)),
        contact=np.ones((count, feet), dtype=bool),
        command=stance.copy(),
        velocity=np.zeros((count, 3)),
        height=np.full(count, spec.rest_height),
    )
