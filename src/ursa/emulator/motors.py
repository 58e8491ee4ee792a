"""Motors: what the twelve motors make of a command. The innermost loop, one physics tick long.

torque = tau + kp (q - angle) + kd (dq - speed), within the peak and under the line on which the
torque falls to nothing at the no-load speed. Nothing else: no filter, no clip of the target.

ASSUMPTION, never seen on a robot: when no command comes for `SILENCE` seconds, and when told the
mode BRAKE, the motors short their coils, which damps every joint by `BRAKED`. The maker's guide is
quoted to say that low-level motors brake electrically when the connection is lost; how soon and
how hard is our guess, to be measured with the robot on a stand.
"""

import numpy as np
from jaxtyping import Float

from ursa.gate.wire import BRAKE, POSITION_OFF, SERVO, Command
from ursa.robot.spec import RobotSpec

Array = np.ndarray
SILENCE = 0.1  # s
BRAKED = 3.0  # N m s/rad
SPEED_OFF = 16000.0  # as dq: the motor's speed loop is off


def wanted(
    command: Command | None, angle: Float[Array, " A"], speed: Float[Array, " A"]
) -> Float[Array, " A"]:
    """What the loops ask for; None or the mode BRAKE is a brake."""
    if command is None or not command.servo:
        return -BRAKED * speed
    ahead = np.where(np.abs(command.angle) >= POSITION_OFF * 0.99, 0.0, command.angle - angle)
    faster = np.where(np.abs(command.speed) >= SPEED_OFF, 0.0, command.speed - speed)
    return command.torque + command.kp * ahead + command.kd * faster


def given(
    spec: RobotSpec,
    asked: Float[Array, " A"],
    speed: Float[Array, " A"],
    strength: Float[Array, " A"] | float = 1.0,
) -> Float[Array, " A"]:
    """What comes out at the joint."""
    peak, relative = spec.of_joints("torque"), speed / spec.of_joints("speed")
    high = np.minimum(np.maximum(peak * (1.0 - relative), -peak), peak)
    low = np.minimum(np.maximum(-peak * (1.0 + relative), -peak), peak)
    return strength * np.minimum(np.maximum(asked, low), high)


def mode(command: Command | None) -> int:
    """What each motor reports that it does."""
    return SERVO if command is not None and command.servo else BRAKE
