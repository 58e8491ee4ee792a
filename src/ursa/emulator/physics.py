"""Physics: an engine of the robot room, driven by joint torques alone, one tick at a time.

The engines bring motors of their own, with fixed gains. Here the motors are the wire's, whose gains
change with every command, so the engine's are taken out: in MuJoCo they are limp and the torque
is applied from outside; PyBullet's is asked for the target that makes it give just this torque.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from ursa.errors import unknown
from ursa.robot.engine import Engine, Impairment, Ticks
from ursa.robot.registry import ENGINES, SOLID
from ursa.robot.spec import RobotSpec

Array = np.ndarray
PERIOD = 0.002  # s: one tick, as the A1 speaks
FREE = 6  # degrees of freedom of the trunk, before those of the joints
STOP = (2 * PERIOD, 1.0)  # joints end at metal: as stiff as the tick allows, critically damped


class Physics(ABC):
    """One robot on one floor."""

    turns = False  # a hand can turn it over

    def __init__(self, spec: RobotSpec, engine: Any) -> None:
        self.spec = spec
        self.engine: Any = engine
        self.ticks: Ticks = engine.look()

    @abstractmethod
    def advance(self, torque: Float[Array, " A"]) -> Ticks:
        """One tick under these torques."""

    @abstractmethod
    def foot_force(self) -> Float[Array, " F"]:
        """Newtons on each foot."""

    def turn(self, quaternion: Float[Array, "4"], height: float) -> None:
        """A hand holds the trunk this way, at this height, for one tick."""
        raise NotImplementedError  # refused when the script was read

    def push(self, force: Float[Array, "3"]) -> None:
        """Newtons on the trunk during the next tick."""
        self.engine.push(force[None])

    def place(self) -> tuple[Float[Array, "3"], Float[Array, "4"]]:
        """Where the trunk is, and its quaternion."""
        return self.engine.truth().position[0], self.ticks.quaternion[0, -1].copy()

    def diverged(self) -> bool:
        """Whether the last tick left the numbers."""
        return bool(self.engine.diverged()[0])

    def restore(self) -> None:
        """Set it down standing at the origin."""
        self.engine.place(np.ones(1, bool))
        self.ticks = self.engine.look()

    def close(self) -> None:
        self.engine.close()


class InMuJoCo(Physics):
    """The model built from the spec."""

    turns = True

    def __init__(self, spec: RobotSpec, name: str = "mujoco") -> None:
        engine: Engine = ENGINES[name](spec, 1, 1, tick=PERIOD, clip=False)
        none = np.zeros((1, spec.action_size))
        engine.impair(Impairment(strength=none, locked=none.astype(bool), angle=none))
        super().__init__(spec, engine)
        self.engine.batch.expand("jnt_solref")[:, 1:] = STOP  # after the trunk's free joint
        self._applied = self.engine.batch.bind("qfrc_applied")
        self._qpos, self._qvel = self.engine.batch.bind("qpos"), self.engine.batch.bind("qvel")
        self._target = none[:, None]

    def advance(self, torque: Float[Array, " A"]) -> Ticks:
        self._applied[0, FREE:] = torque
        self.ticks = self.engine.advance(self._target)
        return self.ticks

    def place(self) -> tuple[Float[Array, "3"], Float[Array, "4"]]:
        return self._qpos[0, :3].copy(), self._qpos[0, 3:7].copy()

    def foot_force(self) -> Float[Array, " F"]:
        return self.engine.batch.bind("sensordata")[0, 3:].copy()

    def turn(self, quaternion: Float[Array, "4"], height: float) -> None:
        self._qpos[0, 2:7] = (height, *quaternion)
        self._qvel[0, :FREE] = 0.0


class InBullet(Physics):
    """Unitree's own description, other contacts: a robot whose physics nobody trained on."""

    def __init__(self, spec: RobotSpec) -> None:
        super().__init__(spec, ENGINES["pybullet"](spec, 1, 1, tick=PERIOD, clip=False))
        self._kp, self._kd = spec.of_joints("kp"), spec.of_joints("kd")

    def advance(self, torque: Float[Array, " A"]) -> Ticks:
        angle, speed = self.ticks.joint_angle[0, -1], self.ticks.joint_speed[0, -1]
        target = angle + (torque + self._kd * speed) / self._kp
        self.ticks = self.engine.advance(target[None, None])
        return self.ticks

    def foot_force(self) -> Float[Array, " F"]:
        """The engine tells contacts only: the weight is shared among the feet that stand."""
        contact = self.ticks.contact[0, -1]
        return contact * (self.spec.mass * 9.81 / max(1, int(contact.sum())))


KINDS: Mapping[str, Callable[[RobotSpec], Physics]] = {
    "mujoco": InMuJoCo,
    SOLID: partial(InMuJoCo, name=SOLID),
    "pybullet": InBullet,
}


def physics(spec: RobotSpec, engine: str) -> Physics:
    """One robot in the engine of that name, standing at the origin."""
    if engine not in KINDS:
        raise unknown("engine", engine, KINDS)
    return KINDS[engine](spec)
