"""Get up: from back or side onto the feet, by a script that looks where up is. Pure functions.

The postures are the robot's own (`RobotSpec.roll`), written for the side it lies on and mirrored
for the other. As soon as the trunk is half-way up the last of them takes over, with the legs under
it; then it stands. A round that fails is followed by another, on the side it lies on by then.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ursa.robot import gait
from ursa.robot.motion import action_of
from ursa.robot.spec import Posture, RobotSpec

Array = np.ndarray
HALF_WAY = 0.3  # of the body's up: from here on the legs are better under the trunk
STOOD = 1.0  # s; then it is up
PAUSE = 0.5  # s between two rounds, to come to rest


@dataclass(frozen=True, kw_only=True)
class Rise:
    """How far a robot is with getting up, in control steps."""

    step: int = -1  # of this round; -1: it begins
    left: bool = False  # lies on its left side rather than its right
    landed: int = 0  # since it came half-way up; 0: it is not

    def done(self, spec: RobotSpec) -> bool:
        """Whether it stands."""
        return self.landed * spec.period > spec.roll[-1].time + STOOD


def advance(spec: RobotSpec, rise: Rise, up: Float[Array, " 3"]) -> tuple[Rise, Float[Array, " A"]]:
    """One control step: what the robot does next. `up` is the world's, as the body sees it."""
    *rolling, landing = spec.roll
    if up[2] > HALF_WAY:
        landed = rise.landed + 1
        stands = landed * spec.period > landing.time
        return Rise(landed=landed), gait.stand(spec) if stands else _legs(spec, landing, True)
    ends = np.cumsum([posture.time for posture in rolling])
    step, left = rise.step + 1, rise.left
    if step == 0 or step * spec.period >= ends[-1] + PAUSE:
        step, left = 0, bool(up[1] < 0)
    stage = int(np.searchsorted(ends, (step + 0.5) * spec.period))
    rests = stage == len(rolling)
    action = gait.stand(spec) if rests else _legs(spec, rolling[stage], left)
    return Rise(step=step, left=left), action


def _legs(spec: RobotSpec, posture: Posture, left: bool) -> Float[Array, " A"]:
    """The action for a posture of a robot that lies on its left or its right."""
    legs = []
    for leg in spec.legs:
        side = leg.origin[1] > 0
        hip, upper, lower = posture.below if side == left else posture.above
        legs += [hip if side else -hip, upper, lower]
    return np.clip(action_of(spec, np.array(legs)), -1.0, 1.0)
