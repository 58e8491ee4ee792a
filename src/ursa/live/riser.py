"""Riser: gets up, by the script of its robot, what has lain on its back or side for a while.

The policy has the first word: until then it may learn to get up by itself.
"""

import numpy as np
from jaxtyping import Float

from ursa.live.homeward import upright
from ursa.robot import getup
from ursa.robot.reading import up_of
from ursa.robot.spec import RobotSpec

Array = np.ndarray


class Riser:
    """Watches one robot, a call for every control step."""

    def __init__(self, spec: RobotSpec, wait: float) -> None:
        """`wait`: seconds that it lies before the script begins; 0 is never."""
        self._spec, self._wait = spec, wait if spec.roll else 0.0
        self.count = 0  # times that the script began
        self.forget()

    def forget(self) -> None:
        """Somebody else moved the robot, or it was limp: begin to watch anew."""
        self._lain, self._rise = 0, None

    @property
    def able(self) -> bool:
        """Whether there is a script, and it may be played."""
        return self._wait > 0

    @property
    def rising(self) -> bool:
        """Whether the script has begun and is not over."""
        return self._rise is not None

    @property
    def left(self) -> float:
        """Seconds that it still lies before the script begins."""
        return max(0.0, self._wait - self._lain * self._spec.period)

    def watch(self, quaternion: Float[Array, " 4"]) -> None:
        """A step in which somebody else has the robot, whatever becomes of it."""
        self._lain = 0 if upright(quaternion) else self._lain + 1

    def __call__(self, quaternion: Float[Array, " 4"]) -> Float[Array, " A"] | None:
        """What the robot does now to get up; None: it does as it likes."""
        if self._rise is None:
            self.watch(quaternion)
            if not self.able or self._lain * self._spec.period <= self._wait:
                return None
            self._rise = getup.Rise()
            self.count += 1
        up = up_of(np.asarray(quaternion)[:, None])[:, 0]
        self._rise, action = getup.advance(self._spec, self._rise, up)
        if not self._rise.done(self._spec):
            return action
        self.forget()
        return None
