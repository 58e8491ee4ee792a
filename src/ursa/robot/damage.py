"""Damage: joints that no longer obey, per robot and per joint, switchable while running.

What is broken is written as text: places joined by "+", each with a kind if it is not frozen.

    FL.upper                 one joint, frozen at its nominal angle
    FL                       all joints of a leg
    FR+BL                    two legs
    FL.upper:limp            the motor gives nothing
    FL:weak=0.5              the motors give half
    FL.upper:locked=0.9      the joint is seized at 0.9 rad; without a number, where it is
    undamaged                nothing
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np
from jaxtyping import Bool, Float

from ursa.errors import UserError, unknown
from ursa.robot.engine import Impairment
from ursa.robot.number import number, shown
from ursa.robot.spec import Joint, RobotSpec

Array = np.ndarray

KINDS = ("frozen", "limp", "weak", "locked")
SOUND = "undamaged"


@dataclass(frozen=True, kw_only=True)
class Damage:
    """One joint and what is wrong with it."""

    joint: int  # index in the spec's joint order
    kind: str = "frozen"  # one of KINDS
    value: float | None = None  # weak: share of strength left; locked: rad, None = where it is

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown("kind of damage", self.kind, KINDS)
        if not isinstance(self.joint, int | np.integer):
            raise UserError(
                f"damage of joint {shown(self.joint)}: want its index in the spec's joint order; "
                "parse(text, spec) reads names"
            )
        if self.kind == "locked" and self.value is not None:
            number("locked damage: value", self.value, advice=" (rad), or None: where it is")
        if self.kind == "weak" and not _is_share(self.value):
            raise UserError(
                f"weak damage with {shown(self.value)}: say how much strength is left, from 0 to 1 "
                "(weak=0.5)"
            )
        if self.kind in ("frozen", "limp") and self.value is not None:
            raise UserError(f"{self.kind} damage with {self.value}: {self.kind} takes no number")


@dataclass(frozen=True, kw_only=True)
class Injury:
    """The damage of n robots as arrays. A joints."""

    frozen: Bool[Array, "n A"]  # commands are replaced by the nominal angle
    strength: Float[Array, "n A"]  # 1 sound, 0 limp
    locked: Bool[Array, "n A"]  # seized
    angle: Float[Array, "n A"]  # rad, where the locked ones are seized


def parse(text: str, spec: RobotSpec) -> tuple[Damage, ...]:
    """The damages that `text` names on this robot, in joint order of each place."""
    if text.strip() in ("", SOUND):
        return ()
    places = [_place(place.strip(), spec) for place in text.split("+")]
    return fitting([damage for place in places for damage in place], spec)


def fitting(damages: Sequence[Damage], spec: RobotSpec) -> tuple[Damage, ...]:
    """The same damages, or an error that says which of them this robot cannot have."""
    if isinstance(damages, str):
        raise UserError(
            f'damage "{damages}" is text: give parse("{damages}", spec) of ursa.robot.damage'
        )
    if not isinstance(damages, Sequence) or not all(isinstance(it, Damage) for it in damages):
        raise UserError(f"damages = {damages!r}: want a sequence of Damage; () repairs")
    hurt: set[int] = set()
    for it in damages:
        if not 0 <= it.joint < spec.action_size:
            raise UserError(
                f"damage of joint {it.joint}: the joints of {spec.name} are 0 to "
                f"{spec.action_size - 1} ({', '.join(spec.joint_names)})"
            )
        joint = spec.joints[it.joint]
        if it.joint in hurt:
            raise UserError(f"damage: joint {joint.name} is named twice; name each once")
        if it.kind == "locked" and it.value is not None:
            _within_limits(joint, it.value)
        hurt.add(it.joint)
    return tuple(damages)


def scenarios(name: str) -> dict[str, str]:
    """The damage scenarios of a study, "simulated" or "real": what it is called -> damage text."""
    studies = tomllib.loads(resources.files("ursa.robot").joinpath("scenarios.toml").read_text())
    if name not in studies:
        raise unknown("list of damage scenarios", name, studies)
    return studies[name]


def sound(count: int, joints: int) -> Injury:
    """`count` robots without damage."""
    shape = (count, joints)
    return Injury(
        frozen=np.zeros(shape, bool),
        strength=np.ones(shape),
        locked=np.zeros(shape, bool),
        angle=np.zeros(shape),
    )


def injure(
    injury: Injury,
    damages: Sequence[Damage],
    which: Bool[Array, " n"],
    angle_now: Float[Array, "n A"],
) -> Injury:
    """The marked robots have exactly these damages, the others what they had."""
    joints = injury.strength.shape[1]
    one = sound(1, joints)
    here = np.zeros(one.locked.shape, bool)  # locked wherever the joint happens to be
    for it in damages:
        one.frozen[0, it.joint] = it.kind == "frozen"
        one.locked[0, it.joint] = it.kind == "locked"
        if it.kind == "limp":
            one.strength[0, it.joint] = 0.0
        elif it.kind == "weak":
            one.strength[0, it.joint] = it.value
        elif it.kind == "locked":
            here[0, it.joint] = it.value is None
            one.angle[0, it.joint] = it.value or 0.0
    marked = which.reshape(-1, 1)
    return Injury(
        frozen=np.where(marked, one.frozen, injury.frozen),
        strength=np.where(marked, one.strength, injury.strength),
        locked=np.where(marked, one.locked, injury.locked),
        angle=np.where(marked, np.where(here, angle_now, one.angle), injury.angle),
    )


def impairment(injury: Injury) -> Impairment:
    """What an engine must know of the damage."""
    return Impairment(strength=injury.strength, locked=injury.locked, angle=injury.angle)


def nominal(spec: RobotSpec) -> Float[Array, " A"]:
    """The joint target of action 0: what a frozen joint is told, whatever the policy says."""
    return (spec.of_joints("low") + spec.of_joints("high")) / 2


def obey(injury: Injury, spec: RobotSpec, target: Float[Array, "n k A"]) -> Float[Array, "n k A"]:
    """The targets that reach the motors: nominal for frozen joints, their angle for locked ones."""
    deaf = injury.frozen | injury.locked
    if not deaf.any():
        return target
    instead = np.where(injury.locked, injury.angle, nominal(spec))
    return np.where(deaf[:, None, :], instead[:, None, :], target)


def _place(text: str, spec: RobotSpec) -> list[Damage]:
    """One place with its kind: "FL", "FL.upper:limp", "FL:weak=0.5"."""
    name, _, rest = text.partition(":")
    kind, equals, number = (part.strip() for part in rest.partition("="))
    value = _number(text, number) if equals else None
    joints = _joints(name.strip(), spec)
    return [Damage(joint=joint, kind=kind or "frozen", value=value) for joint in joints]


def _joints(name: str, spec: RobotSpec) -> list[int]:
    """Indices of the joint or of the leg called `name`."""
    leg, dot, part = name.partition(".")
    if leg not in spec.leg_names:
        # Makers call the hind legs rear, we call them back: either name is understood.
        other = {"R": "B", "B": "R"}.get(leg[:1], "") + leg[1:]
        leg = other if other in spec.leg_names else leg
    full = leg + dot + part
    found = [i for i, it in enumerate(spec.joint_names) if it == full or it.startswith(full + ".")]
    if not found:
        raise unknown(f"leg or joint of {spec.name}", name, (*spec.leg_names, *spec.joint_names))
    return found


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise UserError(f'damage "{text}": "{number}" is not a number') from None


def _within_limits(joint: Joint, angle: float) -> None:
    if not joint.lower <= angle <= joint.upper:
        raise UserError(
            f"damage: joint {joint.name} cannot be locked at {angle} rad; "
            f"it turns from {joint.lower:.3f} to {joint.upper:.3f} rad"
        )


def _is_share(value: object) -> bool:
    return isinstance(value, int | float | np.floating) and bool(0.0 <= value <= 1.0)
