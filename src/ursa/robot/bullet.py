"""BulletEngine: the Unitree A1 in PyBullet, physics that no training sees.

The robot is the description in PyBullet's own data package, not our model of it: another
solver, other contacts, and no rotor inertia (Bullet knows none). Motors, gains and friction are
those of the spec, so that what differs is the physics. Bullet multiplies the friction of the
two bodies in touch: every link has 0.8, the floor 1, hence 0.8 as in MuJoCo.
One client per robot: Bullet's worlds share nothing, and each is saved and restored bit by bit.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from ursa.errors import UserError
from ursa.robot.bullet_world import GRAVITY, TRUNK, World, frames
from ursa.robot.engine import Impairment, Ticks
from ursa.robot.kinematics import soles_below
from ursa.robot.motion import tick_clip
from ursa.robot.number import whole
from ursa.robot.reading import Truth, rotation
from ursa.robot.spec import RobotSpec
from ursa.robot.tick import check_tick

Array = np.ndarray

LONGEST_TICK = 0.0025  # s: beyond, motors worked out between ticks chatter (5 ms: twice no-load)
ROOM = 1 << 17  # bytes of a saved world, whatever is in touch: every save has the same shape
LOST = 50.0  # m/s: a trunk this fast has left physics


class BulletEngine:
    """`count` A1 robots, each alone in its world. See `engine.Engine` for the verbs."""

    exact = True  # a restored state continues with the same bits

    def __init__(
        self, spec: RobotSpec, count: int = 1, *, tick: float = 0.002, clip: bool = True
    ) -> None:
        if spec.name != "a1":
            raise UserError(
                f'PyBullet ships a description of the a1 only, not of "{spec.name}"; '
                "use the MuJoCo engine, which builds its model from the spec"
            )
        whole("count", count, least=1)
        check_tick(spec, tick, LONGEST_TICK, {0.002: "fast", 0.001: "as the paper's code base"})
        self.spec, self.count, self.tick, self.clip = spec, count, tick, clip
        self._gains = {it: spec.of_joints(it) for it in ("kp", "kd", "torque", "speed")}
        shape = (count, spec.action_size)
        self._impairment = Impairment(
            strength=np.ones(shape), locked=np.zeros(shape, bool), angle=np.zeros(shape)
        )
        self._friction, self._mass = np.ones(count), np.ones(count)
        self._force = np.zeros((count, 3))
        self._diverged = np.zeros(count, bool)
        self._worlds = [World(spec, tick) for _ in range(count)]
        self._joints = np.zeros((count, 2, spec.action_size))  # angles, speeds
        self._trunk = np.zeros((count, TRUNK))
        # what `look` repeats of the last tick
        self._torque, self._acceleration = np.zeros(shape), np.zeros((count, 3))
        self._pressure = np.zeros((count, len(spec.legs)))
        self.place(np.ones(count, bool))

    # ---- hands --------------------------------------------------------------------------------

    def place(self, which: Bool[Array, " n"]) -> None:
        for i in np.flatnonzero(which).tolist():
            if self._diverged[i]:  # NaN has spread through Bullet's tables: build the world anew
                self._worlds[i].close()
                self._worlds[i] = World(self.spec, self.tick)
            self._worlds[i].place()
            self._configure(i)
            self._worlds[i].read(self._joints[i], self._trunk[i])
            self._torque[i], self._pressure[i] = 0.0, 0.0
            self._acceleration[i] = (0.0, 0.0, GRAVITY)
            self._diverged[i] = False

    def carry(self, which: Bool[Array, " n"]) -> None:
        here = self.truth().position
        for i in np.flatnonzero(which):
            self._worlds[i].shift(-here[i, 0], -here[i, 1])
            self._worlds[i].read(self._joints[i], self._trunk[i])

    def push(self, force: Float[Array, "n 3"]) -> None:
        self._force = np.array(force, dtype=float)

    # ---- time ---------------------------------------------------------------------------------

    def advance(self, target: Float[Array, "n k A"]) -> Ticks:
        count, ticks, size = target.shape
        joints = np.empty((ticks, count, 2, size))
        trunk = np.empty((ticks + 1, count, TRUNK))
        torque = np.empty((ticks, count, size))
        pressure = np.zeros((ticks, count, len(self.spec.legs)))
        trunk[0] = self._trunk
        pushed = np.linalg.norm(self._force, axis=1) > 0.0
        for t in range(ticks):
            torque[t] = self._motors(target[:, t])
            for i, world in enumerate(self._worlds):
                world.advance(torque[t, i], self._force[i] if pushed[i] else None)
                world.read(self._joints[i], trunk[t + 1, i])
                world.weigh(pressure[t, i])
            joints[t] = self._joints
        self._force = np.zeros((count, 3))
        self._trunk = trunk[-1].copy()
        sane = np.isfinite(joints).all(axis=(0, 2, 3)) & np.isfinite(trunk).all(axis=(0, 2))
        self._diverged = ~(sane & (np.abs(self._trunk[:, 7:10]).max(axis=1) < LOST))
        seen = self._ticks(joints, trunk, torque, pressure)
        self._torque, self._pressure = torque[-1].copy(), pressure[-1].copy()
        self._acceleration = seen.acceleration[:, -1].copy()
        return seen

    def look(self) -> Ticks:
        trunk = np.stack([self._trunk, self._trunk])
        now = (self._joints[None], trunk, self._torque[None], self._pressure[None])
        return replace(self._ticks(*now), acceleration=self._acceleration[:, None].copy())

    def _motors(self, target: Float[Array, "n A"]) -> Float[Array, "n A"]:
        """PD torque within the peak and under the torque-speed line."""
        angle, speed = self._joints[:, 0], self._joints[:, 1]
        if self.clip:
            target = tick_clip(target, angle, self.spec)
        peak, relative = self._gains["torque"], speed / self._gains["speed"]
        wanted = self._gains["kp"] * (target - angle) - self._gains["kd"] * speed
        high = np.clip(peak * (1.0 - relative), -peak, peak)
        low = np.clip(-peak * (1.0 + relative), -peak, peak)
        return self._impairment.strength * np.clip(wanted, low, high)

    def _ticks(self, joints: Array, trunk: Array, torque: Array, pressure: Array) -> Ticks:
        """State at the end of each tick, forces during it. Time leads in, robots lead out."""
        _, quaternion, velocity, spin = frames(trunk, self._worlds[0])
        turn = rotation(quaternion[1:])  # body to world
        pull = np.diff(velocity, axis=0) / self.tick + (0.0, 0.0, GRAVITY)

        def robots_first(value: Array) -> Array:
            return value.swapaxes(0, 1).copy()

        return Ticks(
            joint_angle=robots_first(joints[:, :, 0]),
            joint_speed=robots_first(joints[:, :, 1]),
            torque=robots_first(torque),
            quaternion=robots_first(quaternion[1:]),
            gyro=robots_first(np.einsum("knij,kni->knj", turn, spin[1:])),
            acceleration=robots_first(np.einsum("knij,kni->knj", turn, pull)),
            contact=robots_first(pressure > self.spec.foot_force),
        )

    def truth(self) -> Truth:
        position, quaternion, velocity, _ = frames(self._trunk, self._worlds[0])
        below = soles_below(self.spec, self._joints[:, 0], quaternion)
        return Truth(position=position, velocity=velocity, foot_height=position[:, 2:3] - below)

    def diverged(self) -> Bool[Array, " n"]:
        return self._diverged.copy()

    # ---- damage and variation -----------------------------------------------------------------

    def impair(self, impairment: Impairment) -> None:
        self._impairment = impairment
        for i in range(self.count):
            self._configure(i)

    def vary(self, friction: Float[Array, " n"], mass: Float[Array, " n"]) -> None:
        self._friction, self._mass = np.array(friction, float), np.array(mass, float)
        for i in range(self.count):
            self._configure(i)

    def _configure(self, i: int) -> None:
        self._worlds[i].vary(self._friction[i], self._mass[i])
        self._worlds[i].lock(self._impairment.locked[i], self._impairment.angle[i])

    # ---- state --------------------------------------------------------------------------------

    def save(self) -> dict[str, Array]:
        worlds = [np.frombuffer(world.save(), np.uint8) for world in self._worlds]
        size = np.array([len(it) for it in worlds])
        room = ROOM * -(-size.max() // ROOM)  # up to the next multiple
        padded = np.zeros((self.count, room), np.uint8)
        for row, it in zip(padded, worlds, strict=True):
            row[: len(it)] = it
        return {
            "world": padded,
            "world_size": size,
            "torque": self._torque.copy(),
            "acceleration": self._acceleration.copy(),
            "pressure": self._pressure.copy(),
            "strength": self._impairment.strength.copy(),
            "locked": self._impairment.locked.copy(),
            "lock_angle": self._impairment.angle.copy(),
            "friction": self._friction.copy(),
            "mass": self._mass.copy(),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        if state["strength"].shape != self._impairment.strength.shape:
            raise UserError(
                f"saved motors have shape {state['strength'].shape}, this body needs "
                f"{self._impairment.strength.shape}: restore into the same robot and count"
            )
        self._impairment = Impairment(
            strength=state["strength"].copy(),
            locked=state["locked"].copy(),
            angle=state["lock_angle"].copy(),
        )
        self._friction, self._mass = state["friction"].copy(), state["mass"].copy()
        self._force = np.zeros((self.count, 3))
        self.place(self._diverged.copy())  # a broken world cannot be restored into
        self._torque = state["torque"].copy()
        self._acceleration = state["acceleration"].copy()
        self._pressure = state["pressure"].copy()
        for i, world in enumerate(self._worlds):
            world.restore(state["world"][i, : state["world_size"][i]].tobytes())
            self._configure(i)
            world.read(self._joints[i], self._trunk[i])

    def close(self) -> None:
        for world in self._worlds:
            world.close()
        self._worlds = []
