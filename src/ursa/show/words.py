"""Words: what is broken, as a person says it, for captions."""

from collections.abc import Sequence
from itertools import groupby

from ursa.robot.damage import Damage
from ursa.robot.spec import RobotSpec

Place = tuple[str, str, float | None]  # leg, kind, value


def broken(damages: Sequence[Damage], spec: RobotSpec) -> str:
    """Damages in words: "hind left leg frozen", "front right and hind left legs limp"."""
    if not damages:
        return "undamaged"
    told: dict[str, list[str]] = {}
    for (leg, kind, value), group in groupby(damages, lambda it: _place(it, spec)):
        joints = [spec.joint_names[it.joint] for it in group]
        told.setdefault(_kind(kind, value), []).append(_limb(leg, joints, spec))
    return ", ".join(f"{_joined(limbs)} {kind}" for kind, limbs in told.items())


def leg(name: str, spec: RobotSpec) -> str:
    """A leg by its corner of the trunk, "hind left"; by its name where that is no one leg."""
    corners = {it.name: _corner(*it.origin[:2]) for it in spec.legs}
    corner = corners.get(name, "")
    return corner if corner and list(corners.values()).count(corner) == 1 else name


def _place(damage: Damage, spec: RobotSpec) -> Place:
    return spec.joint_names[damage.joint].partition(".")[0], damage.kind, damage.value


def _limb(name: str, joints: Sequence[str], spec: RobotSpec) -> str:
    """A whole leg, or the joints of it that are meant."""
    every = [it for it in spec.joint_names if it.partition(".")[0] == name]
    whole, parts = leg(name, spec), [it.partition(".")[2] for it in joints]
    if name not in spec.leg_names:
        return _joined(joints)
    if set(joints) == set(every):
        return f"{whole} leg"
    return f"{whole} {_joined(parts)} joint{'s' * (len(parts) > 1)}"


def _kind(kind: str, value: float | None) -> str:
    if value is None:
        return kind
    return f"{value:.0%} strong" if kind == "weak" else f"{kind} at {value:g} rad"


def _corner(forward: float, left: float) -> str:
    if not forward or not left:
        return ""
    return f"{'front' if forward > 0 else 'hind'} {'left' if left > 0 else 'right'}"


def _joined(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"; what all end with is said once, "FR and BL legs"."""
    ends = {name.rpartition(" ")[2] for name in names}
    if len(names) > 1 and ends in ({"leg"}, {"joint"}):
        heads = [name.rpartition(" ")[0] for name in names]
        return f"{_joined(heads)} {ends.pop()}s"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
