"""A point that glides on a plane: a robot whose reachable skills are known exactly.

Its action is the velocity it is told to have, in m/s along x and y, and its velocity follows
with a lag of first order, integrated exactly:

    velocity(t) = command + (velocity(0) - command) * exp(-t / 0.1 s)

So its velocity never leaves the square [-1, 1] x [-1, 1], and every velocity in that square is
reached and held by the constant action of the same name: the mean velocities it can keep up are
exactly that square. Learning tests lean on this.

It has no legs and never falls. Its two "joints" are wheels of radius 1 m: `joint_angle` is the
distance rolled since `rest`, on a circle, and `joint_speed` the velocity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Bool, Float

from ursa.robot.body import checked, marked
from ursa.robot.damage import Damage, Injury, fitting, injure, sound
from ursa.robot.number import whole
from ursa.robot.reading import Reading, Truth
from ursa.robot.saved import check_fit, label
from ursa.robot.spec import Joint, RobotSpec

Array = np.ndarray

LAG = 0.1  # s, time constant of the velocity
GRAVITY = 9.81


def wheel(name: str) -> Joint:
    """An axis of the plane: action -1 .. 1 is a velocity of -1 .. 1 m/s."""
    return Joint(
        name=name,
        lower=-np.pi,  # an angle on a circle
        upper=np.pi,
        low=-1.0,
        high=1.0,
        stance=0.0,
        standing=0.0,
        kp=1.0 / LAG,  # N per m/s: the point weighs 1 kg
        kd=0.0,
        torque=2.0 / LAG,  # N, from full speed back to full speed ahead
        speed=1.0,
        armature=0.0,
        damping=0.0,
    )


POINT = RobotSpec(name="point", joints=(wheel("x"), wheel("y")), source="ours, for learning tests")


@dataclass(frozen=True, kw_only=True)
class Glide:
    """Where n points are and how they got there."""

    position: Float[Array, "n 2"]  # m, since the last rest or carry
    angle: Float[Array, "n 2"]  # rad, rolled since the last rest
    velocity: Float[Array, "n 2"]
    command: Float[Array, "n 2"]  # m/s, after damage
    force: Float[Array, "n 2"]  # N, mean over the last step
    power: Float[Array, " n"]  # W, mean positive over the last step


def at_rest(count: int) -> Glide:
    """`count` points at the origin, standing still."""
    sizes = {it.name: (count,) if it.name == "power" else (count, 2) for it in fields(Glide)}
    return Glide(**{name: np.zeros(size) for name, size in sizes.items()})


def glide(now: Glide, command: Float[Array, "n 2"], period: float) -> Glide:
    """The exact solution after `period` seconds of a constant command."""
    fade = np.exp(-period / LAG)
    velocity = command + (now.velocity - command) * fade
    moved = command * period + (now.velocity - command) * LAG * (1.0 - fade)
    # Positive work of a 1 kg point: what it gains after standing still, if it turned round.
    turned = now.velocity * velocity < 0.0
    work = np.maximum(velocity**2 - np.where(turned, 0.0, now.velocity**2), 0.0) / 2.0
    return Glide(
        position=now.position + moved,
        angle=(now.angle + moved + np.pi) % (2.0 * np.pi) - np.pi,
        velocity=velocity,
        command=command,
        force=(velocity - now.velocity) / period,
        power=work.sum(axis=1) / period,
    )


class PointBody:
    """n points. Frozen, limp and locked axes come to a stop; a locked one at once, where it is."""

    exact = True  # a restored body continues bit for bit

    def __init__(self, count: int) -> None:
        whole("count", count, least=1)
        self.spec = POINT
        self.count = count
        self._now = at_rest(count)
        self._injury = sound(count, 2)

    def rest(self, which: Bool[Array, " n"] | None = None) -> Reading:
        """Set points down at the origin, standing still."""
        marks = marked(which, self.count)
        start = at_rest(self.count)
        self._now = Glide(
            **{
                f.name: _rows(getattr(self._now, f.name), getattr(start, f.name), marks)
                for f in fields(Glide)
            }
        )
        return self._reading()

    def carry(self, which: Bool[Array, " n"]) -> Reading:
        """Back to the origin of the plane; the wheels do not turn meanwhile."""
        home = np.zeros((self.count, 2))
        position = _rows(self._now.position, home, marked(which, self.count))
        self._now = replace(self._now, position=position)
        return self._reading()

    def step(self, action: Array) -> Reading:
        """Glide for one control period; the action's shape is checked here."""
        action = checked(action, self)
        deaf = self._injury.frozen | self._injury.locked
        command = np.where(deaf, 0.0, action * self._injury.strength)
        seized = np.where(self._injury.locked, 0.0, self._now.velocity)
        self._now = glide(replace(self._now, velocity=seized), command, self.spec.period)
        return self._reading()

    def damage(self, damages: Sequence[Damage], which: Bool[Array, " n"] | None = None) -> None:
        """From now on these axes are damaged (replaces earlier damage; () repairs)."""
        marks, damages = marked(which, self.count), fitting(damages, self.spec)
        self._injury = injure(self._injury, damages, marks, self._now.angle)

    @property
    def rescued(self) -> Bool[Array, " n"]:
        """A point never diverges."""
        return np.zeros(self.count, bool)

    def save(self) -> dict[str, Array]:
        """Everything, as named arrays that later steps do not change."""
        state = vars(self._now) | {f"injury.{name}": it for name, it in vars(self._injury).items()}
        return {name: it.copy() for name, it in state.items()} | label(self.spec, self.count)

    def restore(self, state: Mapping[str, Array]) -> Reading:
        """Continue from a saved state as if nothing had happened."""
        check_fit(state, self.save())
        self._now = Glide(**{f.name: np.array(state[f.name]) for f in fields(Glide)})
        self._injury = Injury(
            **{f.name: np.array(state[f"injury.{f.name}"]) for f in fields(Injury)}
        )
        return self._reading()

    def close(self) -> None:
        """Nothing to give back."""

    def _reading(self) -> Reading:
        now, n = self._now, self.count
        flat = np.zeros((n, 1))
        return Reading(
            spec=self.spec,
            joint_angle=now.angle.copy(),
            joint_speed=now.velocity.copy(),
            torque=now.force.copy(),
            power=now.power.copy(),
            quaternion=np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),
            gyro=np.zeros((n, 3)),
            acceleration=np.tile([0.0, 0.0, GRAVITY], (n, 1)),
            contact=np.zeros((n, 0), bool),
            command=now.command.copy(),
            velocity=np.hstack([now.velocity, flat]),
            height=np.zeros(n),
            truth=Truth(
                position=np.hstack([now.position, flat]),
                velocity=np.hstack([now.velocity, flat]),
                foot_height=np.zeros((n, 0)),
            ),
        )


def _rows(mine: Array, theirs: Array, which: Bool[Array, " n"]) -> Array:
    return np.where(which.reshape(-1, *[1] * (mine.ndim - 1)), theirs, mine)
