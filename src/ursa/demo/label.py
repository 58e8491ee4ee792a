"""Labels: what stands in the corners of a robot's picture."""

import textwrap
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ursa.evaluate.rollout import Rollouts

Array = np.ndarray
WIDE = 22  # letters of a line
MINUS = "\N{MINUS SIGN}"  # as wide as a plus


@dataclass(frozen=True)
class Label:
    """Lines above and below the robot."""

    above: str
    below: str = ""


def of_skill(
    number: int, z: Float[Array, " D"], found: Rollouts, row: int, *, velocity: bool
) -> Label:
    """A skill by its number, and how fast it is."""
    return Label(f"skill {number}", pace(z, found, row, velocity=velocity))


def of_damage(what: str, who: str, pace: str, found: Rollouts, row: int) -> Label:
    """What is broken, which skill is held, and what comes of it."""
    lines = [*textwrap.wrap(what, WIDE), who]
    return Label("\n".join(lines), f"return {found.ret[row]:.0f}\n{pace}")


def pace(z: Float[Array, " D"], found: Rollouts, row: int, *, velocity: bool) -> str:
    """Forward speed; where skills are velocities, speed and turn as asked for and as achieved."""
    speed, turn = found.speed[row], found.yaw_rate[row]
    if not velocity:
        return f"{number(speed)} m/s"
    return (
        f"{number(z[0], sign=True)} → {number(speed, sign=True)} m/s\n"
        f"{number(z[1], 1, sign=True)} → {number(turn, 1, sign=True)} rad/s"
    )


def number(value: float, digits: int = 2, *, sign: bool = False) -> str:
    """A number with a minus that can be seen, and none before nothing."""
    rounded = round(float(value), digits) + 0.0
    return (f"{rounded:+.{digits}f}" if sign else f"{rounded:.{digits}f}").replace("-", MINUS)
