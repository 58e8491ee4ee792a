"""A gate that tells of a recorded walk, in virtual time: an actor sees no difference."""

from dataclasses import replace

import numpy as np

from ursa.gate.mailbox import Pose, Told
from ursa.gate.modes import Mode
from ursa.gate.wire import SERVO, State, decode_state, encode_state
from ursa.robot.engine import Ticks

TICK = 0.002


def states(ticks: Ticks, packets: bool) -> list[State]:
    """The ticks of one robot as its states; through the bytes of the wire, or as they are."""
    found = []
    for k in range(ticks.joint_angle.shape[1]):
        state = State(
            tick=k,
            quaternion=ticks.quaternion[0, k].copy(),
            gyro=ticks.gyro[0, k].copy(),
            acceleration=ticks.acceleration[0, k].copy(),
            angle=ticks.joint_angle[0, k].copy(),
            speed=ticks.joint_speed[0, k].copy(),
            torque=ticks.torque[0, k].copy(),
            temperature=np.full(12, 30.0),
            mode=np.full(12, SERVO),
            foot_force=np.where(ticks.contact[0, k], 60.0, 0.0),
        )
        found.append(decode_state(encode_state(state)) if packets else state)
    return found


class Puppet:
    """Clock, ear and mouth in one: every control period the next of the recorded steps is told."""

    def __init__(self, steps: list[list[State]]) -> None:
        self._steps, self._at, self._now, self._cycle = steps, 0, 1.0, 0
        self._told: list[Told] = []
        self.wishes: list[np.ndarray] = []
        self.mode, self.pose, self.lag = Mode.RUN, None, 0.0
        self.silent = False
        self._tell(steps[0])

    def now(self) -> float:
        return self._now

    def wait(self, until: float) -> float:
        self._now = max(self._now, until)
        self._at = min(self._at + 1, len(self._steps) - 1)
        if not self.silent:
            self._tell(self._steps[self._at])
        self._now += self.lag
        return self._now

    def alive(self) -> None: ...

    def close(self) -> None: ...

    def newest(self) -> Told | None:
        return self._told[-1]

    def since(self, cycle: int) -> list[Told]:
        return [told for told in self._told if told.cycle > cycle]

    def wish(self, angle, now) -> None:
        self.wishes.append(np.array(angle))

    def at(self, x: float, y: float, yaw: float = 0.0) -> None:
        """Where the pose source says the robot is."""
        self.pose = Pose(x=x, y=y, yaw=yaw, time=self._now)

    def _tell(self, step: list[State]) -> None:
        pose = None if self.pose is None else replace(self.pose, time=self._now)
        for index, state in enumerate(step):
            self._cycle += 1
            when = self._now - (len(step) - 1 - index) * TICK
            self._told.append(
                Told(
                    cycle=self._cycle,
                    now=when,
                    mode=self.mode,
                    since=0.0,
                    state=state,
                    fresh=True,
                    heard=when,
                    target=state.angle,
                    pose=pose,
                )
            )
        del self._told[:-128]
