"""Engine: the physics under a legged body. MuJoCo and PyBullet are two engines, a wire a third.

An engine knows targets and torques, not actions: the path from action to joint target
(`motion.py`), the estimator and the damage bookkeeping are the same over every engine and
live in `legged.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from ursa.robot.reading import Truth
from ursa.robot.spec import RobotSpec

Array = np.ndarray


@dataclass(frozen=True, kw_only=True)
class Ticks:
    """What the sensors said at each of k physics ticks, oldest first. A joints, F feet."""

    joint_angle: Float[Array, "n k A"]
    joint_speed: Float[Array, "n k A"]
    torque: Float[Array, "n k A"]  # what the motors gave
    quaternion: Float[Array, "n k 4"]  # w x y z
    gyro: Float[Array, "n k 3"]  # body frame
    acceleration: Float[Array, "n k 3"]  # body frame, gravity included
    contact: Bool[Array, "n k F"]


@dataclass(frozen=True, kw_only=True)
class Impairment:
    """What damage does to the motors of n robots; targets are changed elsewhere."""

    strength: Float[Array, "n A"]  # 1 sound, 0 limp: multiplies gains and limits
    locked: Bool[Array, "n A"]  # the joint is seized
    angle: Float[Array, "n A"]  # where, for the locked ones


@runtime_checkable
class Engine(Protocol):
    """Physics of `count` robots of one spec, advanced together."""

    spec: RobotSpec
    count: int
    tick: float  # seconds per physics step

    def place(self, which: Bool[Array, " n"]) -> None:
        """Set robots down standing, at the origin (a person's hand does this)."""
        ...

    def carry(self, which: Bool[Array, " n"]) -> None:
        """Carry robots back over the origin as they are: only the horizontal position changes."""
        ...

    def advance(self, target: Float[Array, "n k A"]) -> Ticks:
        """Run k ticks, one joint target per tick."""
        ...

    def look(self) -> Ticks:
        """The sensors now, as one tick, without letting time pass."""
        ...

    def truth(self) -> Truth: ...

    def diverged(self) -> Bool[Array, " n"]:
        """Robots whose last advance left the numbers: not finite, or warned by the solver."""
        ...

    def impair(self, impairment: Impairment) -> None: ...

    def vary(self, friction: Float[Array, " n"], mass: Float[Array, " n"]) -> None:
        """Multiply floor friction and trunk mass, per robot."""
        ...

    def push(self, force: Float[Array, "n 3"]) -> None:
        """World-frame force on the trunk during the next advance."""
        ...

    def save(self) -> dict[str, Array]: ...

    def restore(self, state: Mapping[str, Array]) -> None: ...

    def close(self) -> None: ...
