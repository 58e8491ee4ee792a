"""Lift: gets up a robot that no policy has just now, by the script that the actor of a run plays.

The same riser says when, and what the script does goes the way of a policy's actions: motion, and a
wish that the gate follows or does not. Damage that is only pretended (`--damage`) is none here, as
it is none when the gate has the robot stand up: both stand in for a hand between two rollouts.
"""

from collections.abc import Callable

from ursa.gate.wired import Wired
from ursa.live.riser import Riser
from ursa.robot import motion
from ursa.robot.motion import MotionConfig, MotionState
from ursa.robot.spec import RobotSpec


class Lift:
    """Watches one robot, and gets it up between two rollouts; a rollout is the policy's alone."""

    def __init__(self, spec: RobotSpec, wait: float) -> None:
        """`wait`: seconds that it lies before the script begins; 0 is never."""
        self._spec, self.riser = spec, Riser(spec, wait)
        self._moved: MotionState | None = None  # None: the script is not at work
        self._since = 0.0
        self.begun: Callable[[int], None] = lambda number: None
        # number, seconds that it took, whether the robot is up
        self.ended: Callable[[int, float, bool], None] = lambda number, seconds, up: None

    @property
    def able(self) -> bool:
        """Whether there is a script, and it may be played."""
        return self.riser.able

    @property
    def busy(self) -> bool:
        """Whether the script is at work."""
        return self._moved is not None

    def watch(self, engine: Wired) -> None:
        """After a control step of a rollout: how long it has lain counts from the fall on."""
        if engine.trouble:
            self.riser.forget()
        else:
            self.riser.watch(engine.state.quaternion)

    def step(self, engine: Wired) -> bool:
        """One control step of the script, if the robot has lain long enough; False: none was made.

        As in a run: whatever the gate does in between, the robot is watched anew after it.
        """
        if engine.trouble or not engine.running:
            self.riser.forget()
            self._over(engine, up=False)
            return False
        action = self.riser(engine.state.quaternion)
        if action is None:
            self._over(engine, up=True)
            return False
        if self._moved is None:
            told = engine.told
            held = None if told is None else told.target
            self._moved = motion.begin((engine.state.angle if held is None else held)[None])
            self._since = engine.clock.now()
            self.begun(self.riser.count)
        self._moved, target = motion.advance(
            self._spec, MotionConfig(), self._moved, action[None], 1
        )
        engine.advance(target)
        return True

    def _over(self, engine: Wired, *, up: bool) -> None:
        if self._moved is not None:
            self._moved = None
            self.ended(self.riser.count, engine.clock.now() - self._since, up)
