"""World: one A1 on one floor in one PyBullet client, and the only place that calls PyBullet."""

import importlib
import os
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ursa.errors import UserError, install
from ursa.robot.reading import rotation
from ursa.robot.spec import RobotSpec

Array = np.ndarray

FRICTION = 0.8  # effective, foot on floor
GRAVITY = 9.81
LOCK_RATE = 3.0  # rad/s: how fast a seized joint is brought to its angle, so that nothing snaps
LOCK_TORQUE = 500.0  # N m: no load a robot meets moves a seized joint
REAR = {"B": "R", "F": "F"}  # our back legs are the description's rear legs
TRUNK = 13  # numbers of a trunk: position 3, quaternion x y z w, velocity 3, angular velocity 3


class World:
    """One robot on one floor in one Bullet client."""

    def __init__(self, spec: RobotSpec, tick: float) -> None:
        self.bullet = bullet = _bullet()
        self.client = bullet.connect(bullet.DIRECT)
        self.close = weakref.finalize(self, bullet.disconnect, self.client)  # a call ends it early
        self._do("setGravity", 0.0, 0.0, -GRAVITY)
        self._do("setPhysicsEngineParameter", fixedTimeStep=tick, deterministicOverlappingPairs=1)
        self.floor = self._do(
            "createMultiBody", 0.0, self._do("createCollisionShape", bullet.GEOM_PLANE)
        )
        flags = bullet.URDF_USE_INERTIA_FROM_FILE | bullet.URDF_IGNORE_VISUAL_SHAPES
        data = importlib.import_module("pybullet_data").getDataPath()
        at = (0.0, 0.0, spec.rest_height)
        self.robot = self._do("loadURDF", os.path.join(data, "a1", "a1.urdf"), at, flags=flags)
        number = self._do("getNumJoints", self.robot)
        infos = [self._do("getJointInfo", self.robot, index) for index in range(number)]
        joints = {info[1].decode(): info[0] for info in infos}  # joint and its child share a number
        maker = [REAR[name[0]] + name[1:].replace(".", "_") for name in spec.joint_names]
        self.joints = [joints[f"{name}_joint"] for name in maker]
        toes = [joints[f"{REAR[leg.name[0]]}{leg.name[1:]}_toe_fixed"] for leg in spec.legs]
        self.foot_of = {link: foot for foot, link in enumerate(toes)}
        self._settle(spec, number)
        self.start = self._do("saveState")

    def _settle(self, spec: RobotSpec, number: int) -> None:
        """Stance, motors off, friction and damping as the spec has them."""
        smooth = {"linearDamping": 0.0, "angularDamping": 0.0, "restitution": 0.0}
        for link in range(-1, number):
            self._do("changeDynamics", self.robot, link, lateralFriction=FRICTION, **smooth)
        for index, joint in zip(self.joints, spec.joints, strict=True):
            self._do("changeDynamics", self.robot, index, jointDamping=joint.damping)
            self._do("resetJointState", self.robot, index, joint.stance, 0.0)
        self.locked = np.ones(len(self.joints), bool)
        self.lock(np.zeros(len(self.joints), bool), np.zeros(len(self.joints)))
        facts = self._do("getDynamicsInfo", self.robot, -1)
        self.mass, self.inertia = facts[0], np.array(facts[2])
        self.center, (x, y, z, w) = np.array(facts[3]), facts[4]
        self.untilt = np.array([w, -x, -y, -z])
        self.varied: tuple[float, float] | None = None
        self.vary(1.0, 1.0)

    def _do(self, verb: str, *arguments: Any, **options: Any) -> Any:
        return getattr(self.bullet, verb)(*arguments, physicsClientId=self.client, **options)

    def place(self) -> None:
        """Back to the snapshot taken when the world was built: the same bits every time."""
        self._do("restoreState", self.start)

    def shift(self, x: float, y: float) -> None:
        (px, py, pz), turn = self._do("getBasePositionAndOrientation", self.robot)
        velocity = self._do("getBaseVelocity", self.robot)  # moving a body stops it
        self._do("resetBasePositionAndOrientation", self.robot, (px + x, py + y, pz), turn)
        self._do("resetBaseVelocity", self.robot, *velocity)

    def advance(self, torque: Float[Array, " A"], force: Float[Array, "3"] | None) -> None:
        """One tick."""
        p, client = self.bullet, self.client
        p.setJointMotorControlArray(
            self.robot, self.joints, p.TORQUE_CONTROL, forces=torque, physicsClientId=client
        )
        if force is not None:
            at, _ = self._do("getBasePositionAndOrientation", self.robot)
            self._do("applyExternalForce", self.robot, -1, force.tolist(), at, p.WORLD_FRAME)
        p.stepSimulation(physicsClientId=client)

    def read(self, joints: Float[Array, "2 A"], trunk: Float[Array, " T"]) -> None:
        """Write joint angles and speeds and the trunk's numbers into these rows."""
        p, client, robot = self.bullet, self.client, self.robot
        states = p.getJointStates(robot, self.joints, physicsClientId=client)
        joints[0] = [state[0] for state in states]
        joints[1] = [state[1] for state in states]
        position, turn = p.getBasePositionAndOrientation(robot, physicsClientId=client)
        velocity, spin = p.getBaseVelocity(robot, physicsClientId=client)
        trunk[:] = (*position, *turn, *velocity, *spin)

    def weigh(self, pressure: Float[Array, " F"]) -> None:
        """Add the normal forces of the last tick, per foot."""
        for point in self.bullet.getContactPoints(
            self.robot, self.floor, physicsClientId=self.client
        ):
            foot = self.foot_of.get(point[3])
            if foot is not None:
                pressure[foot] += point[9]

    def lock(self, locked: Bool[Array, " A"], angle: Float[Array, " A"]) -> None:
        """Seize these joints; they creep to their angle at LOCK_RATE. The others turn freely."""
        p = self.bullet
        for i in np.flatnonzero(locked | self.locked):
            if locked[i]:
                how = {"controlMode": p.POSITION_CONTROL, "targetPosition": float(angle[i])}
                how |= {"force": LOCK_TORQUE, "maxVelocity": LOCK_RATE, "positionGain": 0.2}
            else:
                how = {"controlMode": p.VELOCITY_CONTROL, "force": 0.0}
            self._do("setJointMotorControl2", self.robot, self.joints[i], **how)
        self.locked = locked.copy()

    def vary(self, friction: float, mass: float) -> None:
        """Floor friction and trunk mass as multiples of the sound ones."""
        if (friction, mass) != self.varied:
            self.varied = (friction, mass)
            self._do("changeDynamics", self.floor, -1, lateralFriction=float(friction))
            inertia = (mass * self.inertia).tolist()
            heavier = {"mass": float(mass * self.mass), "localInertiaDiagonal": inertia}
            self._do("changeDynamics", self.robot, -1, **heavier)

    def save(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "world.bullet"
            self._do("saveBullet", str(file))
            return file.read_bytes()

    def restore(self, data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "world.bullet"
            file.write_bytes(data)
            self._do("restoreState", fileName=str(file))


def frames(trunk: Float[Array, "*b T"], world: World) -> tuple[Array, Array, Array, Array]:
    """Position, quaternion (w x y z), velocity, angular velocity of the trunk's own frame.

    Bullet speaks of the frame of principal inertia, at the centre of mass and slightly tilted.
    """
    quaternion = _product(trunk[..., [6, 3, 4, 5]], world.untilt)
    # from the centre of mass to the origin
    arm = -(rotation(quaternion) * world.center).sum(axis=-1)
    spin = trunk[..., 10:13]
    return trunk[..., 0:3] + arm, quaternion, trunk[..., 7:10] + np.cross(spin, arm), spin


def _product(a: Float[Array, "*b 4"], b: Float[Array, "4"]) -> Float[Array, "*b 4"]:
    """Quaternion product a b (w x y z): first turn by b, then by a."""
    w, x, y, z = np.moveaxis(a, -1, 0)  # no matrix product: its last bit depends on the batch
    return np.stack(
        [
            w * b[0] - x * b[1] - y * b[2] - z * b[3],
            w * b[1] + x * b[0] + y * b[3] - z * b[2],
            w * b[2] - x * b[3] + y * b[0] + z * b[1],
            w * b[3] + x * b[2] - y * b[1] + z * b[0],
        ],
        axis=-1,
    )


def _bullet() -> Any:
    """PyBullet, without the line it prints when it is imported."""
    if module := sys.modules.get("pybullet"):
        return module
    try:
        with _hushed():
            return importlib.import_module("pybullet")
    except ImportError:
        raise UserError(
            f"PyBullet is not installed: {install('bullet')}; from Python 3.12 on "
            "pip install pybullet, which compiles it in ten minutes"
        ) from None


@contextmanager
def _hushed() -> Iterator[None]:
    """Nothing a C library writes to the terminal meanwhile is seen."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    silence = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in kept:
            os.dup2(silence, number)
        yield
    finally:
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)
        os.close(silence)
