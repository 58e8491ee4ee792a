"""Body: n robots that take actions and give readings. The border to everything that learns."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from ursa.errors import UserError
from ursa.robot.damage import Damage
from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec

Array = np.ndarray


@runtime_checkable
class Body(Protocol):
    """n robots of one spec. Nothing teleports: only `rest` and `carry` move a robot by hand."""

    spec: RobotSpec
    count: int

    def rest(self, which: Bool[Array, " n"] | None = None) -> Reading:
        """Set robots down at rest at the origin (all, or those marked)."""
        ...

    def carry(self, which: Bool[Array, " n"]) -> Reading:
        """Carry the marked robots back over the origin, joints and tilt as they are."""
        ...

    def step(self, action: Float[Array, "n A"]) -> Reading:
        """One control step. Actions in [-1, 1] (beyond is clipped); NaN is refused."""
        ...

    def damage(self, damages: Sequence[Damage], which: Bool[Array, " n"] | None = None) -> None:
        """From now on these joints are damaged (replaces earlier damage; () repairs)."""
        ...

    @property
    def rescued(self) -> Bool[Array, " n"]:
        """Robots whose physics diverged in the last step and were set down again."""
        ...

    def save(self) -> dict[str, Array]:
        """The whole physical and control state, as named arrays."""
        ...

    def restore(self, state: Mapping[str, Array]) -> Reading:
        """Continue from a saved state as if nothing had happened."""
        ...

    def close(self) -> None: ...


def checked(action: Array, body: Body) -> Float[Array, "n A"]:
    """The action clipped to [-1, 1], or an error that names robot and joint; nothing moves."""
    action = np.asarray(action, dtype=float)
    wanted = (body.count, body.spec.action_size)
    if action.shape != wanted:
        raise UserError(
            f"action has shape {action.shape}; {body.count} x {body.spec.name} need {wanted} "
            "(robots, joints). Nothing moved."
        )
    if not np.isfinite(action).all():
        robot, joint = np.argwhere(~np.isfinite(action))[0]
        raise UserError(
            f"action of robot {robot}, joint {body.spec.joint_names[joint]} is "
            f"{action[robot, joint]}; actions are finite numbers in [-1, 1]. Nothing moved."
        )
    return np.clip(action, -1.0, 1.0)


def marked(which: Array | None, count: int) -> Bool[Array, " n"]:
    """The marks of `count` robots (None: all), or an error; numbers are not taken for marks."""
    marks = np.ones(count, bool) if which is None else np.asarray(which)
    if marks.shape != (count,) or marks.dtype != bool:
        raise UserError(
            f"which robots: an array of {marks.dtype}, shape {marks.shape}; want {count} booleans, "
            "one per robot (None marks all). Nothing moved."
        )
    return marks
