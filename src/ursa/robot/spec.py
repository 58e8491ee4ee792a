"""RobotSpec: everything URSA knows about a robot before it moves, as one frozen value.

A third robot is one such value in somebody else's package (see `registry.py`); the
MuJoCo model, the leg kinematics, the action map and the observation are built from it.
Lengths in metres, angles in radians, masses in kilograms, torques in newton metres.
Frames are x forward, y left, z up; a leg hangs along -z when its angles are zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ursa.errors import UserError
from ursa.robot.number import number, numbers

Vector = tuple[float, float, float]
JOINTS_PER_LEG = 3  # hip (abduction), upper (thigh), lower (calf)


@dataclass(frozen=True, kw_only=True)
class Joint:
    """One actuated hinge: its range, its motor, and what the action means for it."""

    name: str  # "FL.upper": leg, dot, joint
    lower: float  # hard limits
    upper: float
    low: float  # target at action -1
    high: float  # target at action +1
    stance: float  # angle when set down at rest
    standing: float  # angle the posture rewards call perfect
    kp: float  # N m / rad
    kd: float  # N m s / rad
    torque: float  # peak motor torque
    speed: float  # no-load speed, rad/s: the motor gives no positive work beyond it
    armature: float = 0.01  # rotor inertia seen at the joint, kg m^2
    damping: float = 0.1  # passive joint friction, N m s / rad

    def __post_init__(self) -> None:
        here = f"joint {self.name}:"
        for what in ("lower", "upper", "low", "high", "stance", "standing"):
            number(f"{here} {what}", getattr(self, what))
        for what in ("kp", "torque", "speed"):
            number(f"{here} {what}", getattr(self, what), above=0)
        for what in ("kd", "armature", "damping"):
            number(f"{here} {what}", getattr(self, what), least=0)
        ordered = self.lower <= self.low < self.high <= self.upper
        if not ordered:
            raise UserError(
                f"joint {self.name}: action range [{self.low}, {self.high}] must lie inside "
                f"the hard limits [{self.lower}, {self.upper}]; correct low/high or lower/upper"
            )
        for what in ("stance", "standing"):
            if not self.lower <= getattr(self, what) <= self.upper:
                raise UserError(
                    f"joint {self.name}: {what} = {getattr(self, what)} lies outside the hard "
                    f"limits [{self.lower}, {self.upper}]"
                )


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A primitive a link touches the floor with."""

    kind: str  # "box" | "cylinder" | "capsule" | "sphere"
    size: tuple[float, ...]  # box: full x y z; cylinder, capsule: radius, length; sphere: radius
    position: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)  # direction of a cylinder or capsule; boxes are not turned

    def __post_init__(self) -> None:
        wanted = {"box": 3, "cylinder": 2, "capsule": 2, "sphere": 1}
        if self.kind not in wanted:
            raise UserError(f"shape {self.kind!r}: valid kinds are {', '.join(wanted)}")
        numbers(f"{self.kind}: size", self.size, wanted[self.kind])
        if min(self.size) <= 0:
            raise UserError(f"{self.kind}: size = {self.size}, want every number > 0")
        numbers(f"{self.kind}: position", self.position, 3)
        numbers(f"{self.kind}: axis", self.axis, 3)
        if not any(self.axis):
            raise UserError(f"{self.kind}: axis = {self.axis}, want a direction")


@dataclass(frozen=True, kw_only=True)
class Link:
    """A rigid part: mass, centre of mass in its joint's frame, inertia about that centre."""

    mass: float
    center: Vector
    inertia: tuple[float, float, float, float, float, float]  # xx yy zz xy xz yz
    shapes: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        number("link: mass", self.mass, above=0)
        numbers("link: center", self.center, 3)
        numbers("link: inertia (xx yy zz xy xz yz)", self.inertia, 6)
        xx, yy, zz, xy, xz, yz = self.inertia
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if np.linalg.eigvalsh(tensor)[0] <= 0:
            raise UserError(f"link: inertia {self.inertia} (xx yy zz xy xz yz) is not positive")

    def mirrored(self, x: int = 1, y: int = 1) -> "Link":
        """The same part on the other side: x, y are +1 (keep) or -1 (mirror)."""
        (cx, cy, cz), (xx, yy, zz, xy, xz, yz) = self.center, self.inertia
        shapes = tuple(
            Shape(
                kind=s.kind,
                size=s.size,
                position=(x * s.position[0], y * s.position[1], s.position[2]),
                axis=(x * s.axis[0], y * s.axis[1], s.axis[2]),
            )
            for s in self.shapes
        )
        inertia = (xx, yy, zz, x * y * xy, x * xz, y * yz)
        return Link(mass=self.mass, center=(x * cx, y * cy, cz), inertia=inertia, shapes=shapes)


@dataclass(frozen=True, kw_only=True)
class Leg:
    """Three joints in a row: hip about x, upper and lower about y, then a round foot."""

    name: str  # "FL"
    origin: Vector  # hip joint in the trunk frame
    offset: float  # from hip joint to upper joint along y; positive on the left
    upper_length: float
    lower_length: float
    foot_radius: float
    foot_mass: float
    links: tuple[Link, Link, Link]  # hip, upper, lower

    def __post_init__(self) -> None:
        numbers(f"leg {self.name}: origin", self.origin, 3)
        number(f"leg {self.name}: offset", self.offset)
        number(f"leg {self.name}: foot_mass", self.foot_mass, least=0)
        for what in ("upper_length", "lower_length", "foot_radius"):
            number(f"leg {self.name}: {what}", getattr(self, what), above=0)
        if len(self.links) != JOINTS_PER_LEG:
            raise UserError(f"leg {self.name}: {len(self.links)} links, want hip, upper, lower")


@dataclass(frozen=True, kw_only=True)
class Posture:
    """A moment of rolling over: hip (outward is positive), upper, lower of the legs of a side."""

    below: Vector  # legs of the side the robot lies on, or is nearer to lying on
    above: Vector
    time: float  # s

    def __post_init__(self) -> None:
        numbers("posture: below", self.below, JOINTS_PER_LEG)
        numbers("posture: above", self.above, JOINTS_PER_LEG)
        number("posture: time", self.time, above=0)


@dataclass(frozen=True, kw_only=True)
class RobotSpec:
    """A robot. Joints come leg by leg: joints[3 * leg + (0 hip, 1 upper, 2 lower)]."""

    name: str
    joints: tuple[Joint, ...]
    legs: tuple[Leg, ...] = ()
    trunk: Link | None = None
    rest_height: float = 0.0  # trunk height when set down at rest
    control_rate: float = 20.0  # Hz (paper, Table 1)
    tick_clip: float | None = None  # target kept within this of the measured angle, every tick
    filter_cutoff: float | None = None  # Hz, low-pass on joint targets
    foot_force: float = 20.0  # N: more than this on a foot counts as contact
    roll: tuple[Posture, ...] = ()  # onto its feet: at least one, and the one it lands in
    source: str = field(default="", compare=False)  # where the numbers come from

    def __post_init__(self) -> None:
        names = [joint.name for joint in self.joints]
        if not names or len(set(names)) != len(names):
            raise UserError(f"robot {self.name}: joint names must be present and unique: {names}")
        if self.legs:
            wanted = [f"{leg.name}.{part}" for leg in self.legs for part in LEG_PARTS]
            if names != wanted:
                raise UserError(
                    f"robot {self.name}: joints must come leg by leg as {wanted}, got {names}"
                )
            if self.trunk is None:
                raise UserError(f"robot {self.name}: a robot with legs needs a trunk link")
        if len(self.roll) == 1 or (self.roll and not self.legs):
            raise UserError(
                f"robot {self.name}: roll has {len(self.roll)} postures, it has {len(self.legs)} "
                "legs; want legs, postures that turn it over, then the one it lands in; or none"
            )
        here = f"robot {self.name}:"
        number(f"{here} control_rate", self.control_rate, above=0)
        number(f"{here} foot_force", self.foot_force, least=0)
        number(f"{here} rest_height", self.rest_height, least=0)
        if self.legs:
            number(f"{here} rest_height", self.rest_height, above=0)
        for what in ("tick_clip", "filter_cutoff"):
            if getattr(self, what) is not None:
                number(f"{here} {what}", getattr(self, what), above=0, advice="; None is off")

    def of_joints(self, what: str) -> Float[np.ndarray, " A"]:
        """One number per joint, in joint order: `spec.of_joints("torque")`."""
        if what not in self._columns:
            self._columns[what] = _kept([getattr(joint, what) for joint in self.joints])
        return self._columns[what].copy()

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        return {}

    @cached_property
    def action_range(self) -> tuple[Float[np.ndarray, " A"], Float[np.ndarray, " A"]]:
        """Middle and half width of the angles that actions -1 to 1 stand for."""
        low, high = self.of_joints("low"), self.of_joints("high")
        return _kept((low + high) / 2), _kept((high - low) / 2)

    @cached_property
    def leg_sizes(self) -> Float[np.ndarray, "7 F"]:
        """Per leg: x, y, z of the hip joint, offset, radius of the foot, both bones."""
        sizes = [
            (*leg.origin, leg.offset, leg.foot_radius, leg.upper_length, leg.lower_length)
            for leg in self.legs
        ]
        return _kept(np.array(sizes).reshape(-1, 7).T)

    @cached_property
    def mass(self) -> float:
        """Total mass."""
        trunk = self.trunk.mass if self.trunk else 0.0
        return trunk + sum(g.foot_mass + sum(k.mass for k in g.links) for g in self.legs)

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    @property
    def leg_names(self) -> tuple[str, ...]:
        return tuple(leg.name for leg in self.legs)

    @property
    def action_size(self) -> int:
        return len(self.joints)

    @property
    def period(self) -> float:
        """Seconds between two actions."""
        return 1.0 / self.control_rate

    def columns(self, part: str) -> Sequence[int]:
        """Joint indices of one part over all legs: part is 'hip', 'upper' or 'lower'."""
        return [i for i, name in enumerate(self.joint_names) if name.endswith("." + part)]


def _kept(numbers) -> np.ndarray:
    """An array that is worked out once and handed to many: nobody may write to it."""
    array = np.array(numbers)
    array.flags.writeable = False
    return array


LEG_PARTS = ("hip", "upper", "lower")
