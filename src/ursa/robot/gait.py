"""Gait: behaviours by script, as pure functions of robot and time. Nothing here is learnt.

They show a robot, test an estimator or a reward on something that moves, and are the yardstick
a learner has to beat. Each returns the action of one control step.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float

from ursa.errors import UserError
from ursa.robot.motion import action_of
from ursa.robot.spec import RobotSpec

Array = np.ndarray
STREAM = 0x6761_6974  # second half of the key: no other user of the same seed draws these numbers


def stand(spec: RobotSpec) -> Float[Array, " A"]:
    """The action that holds the pose a robot is set down in."""
    return np.clip(action_of(spec, spec.of_joints("stance")), -1.0, 1.0)


def random(spec: RobotSpec, step: int, seed: int = 0) -> Float[Array, " A"]:
    """Any action, each as likely as any other; the same for the same seed and step."""
    bits = np.random.Philox(key=[seed, STREAM], counter=[0, 0, 0, step])
    return np.random.Generator(bits).uniform(-1.0, 1.0, spec.action_size)


def trot(
    spec: RobotSpec,
    step: int,
    *,
    frequency: float = 1.4,
    stride: float = 0.40,
    lift: float = 0.05,
    height: float = 0.62,
    offset: float = -0.04,
    lag: float = 0.6,
    rise: float = 1.0,
) -> Float[Array, " A"]:
    """Forward on diagonal pairs of legs: A1 0.34 m/s, Go2 0.39 m/s through the full motion stack.

    Each foot runs around an ellipse below its thigh joint, lengths in parts of the stretched leg:
    `stride` long, `2 lift` high, `height` below and `offset` ahead of the joint, `frequency` times
    a second, growing from nothing within the first `rise` seconds. The lift comes `lag` radians
    after the swing: loaded legs give way, and without it they are dragged rather than lifted.
    Found by search for speed with little slip on both robots, at half to 1.25 times the usual
    friction and 0.8 to 1.5 times the mass of the trunk.
    """
    if len(spec.legs) != 4:
        raise UserError(f"{spec.name} has {len(spec.legs)} legs: a trot needs four (try random)")
    time = step * spec.period
    swing = 2 * math.pi * frequency * time + _diagonal(spec)
    growth = min(1.0, time / rise) / _gain(spec, frequency)
    ahead = offset - growth * stride / 2 * np.cos(swing)
    below = height - growth * lift * np.sin(swing - lag)
    upper, lower = _reach(spec, ahead, below)
    hip = spec.of_joints("stance")[0::3]
    angle = np.stack([hip, upper, lower], axis=1).reshape(-1)
    return np.clip(action_of(spec, angle), -1.0, 1.0)


def _diagonal(spec: RobotSpec) -> Float[Array, " F"]:
    """The phase of each leg: front right and back left together, the others half a turn later."""
    x, y, _ = np.array([leg.origin for leg in spec.legs]).T
    return np.where(x * y > 0, math.pi, 0.0)


def _gain(spec: RobotSpec, frequency: float) -> float:
    """What the low-pass of the motion stack leaves of a swing at this frequency."""
    if spec.filter_cutoff is None:
        return 1.0
    ratio = math.tan(math.pi * frequency * spec.period)
    ratio /= math.tan(math.pi * spec.filter_cutoff * spec.period)
    return 1.0 / math.sqrt(1.0 + ratio**4)  # second-order Butterworth


def _reach(
    spec: RobotSpec, ahead: Float[Array, " F"], below: Float[Array, " F"]
) -> tuple[Float[Array, " F"], Float[Array, " F"]]:
    """Thigh and calf angles that bring each foot there, in parts of the stretched leg."""
    thigh = np.array([leg.upper_length for leg in spec.legs])
    calf = np.array([leg.lower_length for leg in spec.legs])
    x, z = (thigh + calf) * ahead, (thigh + calf) * below
    cosine = (x * x + z * z - thigh**2 - calf**2) / (2 * thigh * calf)
    bend = np.where(spec.of_joints("stance")[2::3] < 0, -1.0, 1.0)  # which way the knee points
    lower = bend * np.arccos(np.clip(cosine, -1.0, 1.0))
    upper = np.arctan2(-x, z) - np.arctan2(calf * np.sin(lower), thigh + calf * np.cos(lower))
    return upper, lower


SCRIPTS: Mapping[str, Callable[[RobotSpec, int, int], Float[Array, " A"]]] = {
    "stand": lambda spec, step, seed: stand(spec),
    "random": random,
    "trot": lambda spec, step, seed: trot(spec, step),
}
