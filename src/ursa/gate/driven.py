"""Driven: which robots may be sent the packets of `wire.py`. They are the A1's."""

from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.spec import RobotSpec

UNITS = {"torque": "N m", "speed": "rad/s", "kp": "N m/rad", "kd": "N m s/rad"}


def refuse_other(spec: RobotSpec) -> None:
    """UserError unless all that the gate would allow this robot is good for an A1, too."""
    if spec.joint_names != A1.joint_names:
        wrong = f"its joints are {', '.join(spec.joint_names)}"
    else:
        wrong = "; ".join(_beyond(spec)[:3])
    if wrong:
        raise UserError(
            f"robot {spec.name} cannot be driven, only an A1: the packets on the link are the "
            f"A1's, and {wrong}. Want a1, or a robot of yours with the A1's joints and limits "
            "inside its own; `ursa train` takes any robot, in simulation"
        )


def _beyond(spec: RobotSpec) -> list[str]:
    """What of a robot with the A1's joints lies outside the A1's hard limits."""
    found = []
    for ours, known in zip(spec.joints, A1.joints, strict=True):
        if ours.lower < known.lower or ours.upper > known.upper:
            found.append(
                f"{ours.name} goes from {ours.lower:g} to {ours.upper:g} rad, "
                f"allowed {known.lower:g} to {known.upper:g}"
            )
        for what, unit in UNITS.items():
            value, most = getattr(ours, what), getattr(known, what)
            if value > most:
                found.append(f"{ours.name} has {what} {value:g}, allowed {most:g} {unit}")
        if ours.kd <= 0:
            found.append(f"{ours.name} has kd {ours.kd:g}, want more than 0: nothing would damp it")
    return found
