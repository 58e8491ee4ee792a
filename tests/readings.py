"""Readings made by hand, and readings of every kind, for tests of what is computed from them."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
from hypothesis.extra.numpy import arrays

from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.task import probe

IDENTITY = (1.0, 0.0, 0.0, 0.0)


def standing(spec: RobotSpec, n: int = 1, **changes) -> Reading:
    """n robots at rest in their stance. A change may be one row: it then holds for all n."""
    reading = probe.standing(spec, n)
    for name, value in changes.items():
        old = getattr(reading, name)
        if old is None:  # the truth
            reading = replace(reading, **{name: value})
            continue
        new = np.broadcast_to(np.asarray(value, dtype=old.dtype), old.shape).copy()
        reading = replace(reading, **{name: new})
    return reading


def turned(axis: str, angle: float) -> np.ndarray:
    """The quaternion of a rotation by `angle` about a body axis."""
    quaternion = np.zeros(4)
    quaternion[0], quaternion[1 + "xyz".index(axis)] = np.cos(angle / 2), np.sin(angle / 2)
    return quaternion


@st.composite
def readings(draw, spec: RobotSpec, n: int = 3, largest: float = float(np.finfo(np.float32).max)):
    """Readings with every number up to `largest` in size, and every attitude."""
    base = probe.standing(spec, n)

    def numbers(like: np.ndarray) -> np.ndarray:
        bound = float(np.float32(largest))
        kind = st.floats(-bound, bound, width=32)
        return draw(arrays(np.float32, like.shape, elements=kind)).astype(float)

    names = ("joint_angle", "joint_speed", "torque", "gyro", "velocity", "height")
    changes = {name: numbers(getattr(base, name)) for name in names}
    attitude = draw(arrays(float, (n, 4), elements=st.floats(-1, 1)))
    size = np.linalg.norm(attitude, axis=1, keepdims=True)
    quaternion = np.where(size > 1e-3, attitude / np.maximum(size, 1e-3), IDENTITY)
    return replace(base, **changes, quaternion=quaternion)
