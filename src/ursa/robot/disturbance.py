"""Disturbance: sensor noise, delays, friction, mass and pushes. All off by default.

Chance is counter-based: the draw of a control step depends on seed and step number alone, so a
restored body meets the same noise again.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ursa.errors import UserError
from ursa.robot.engine import Ticks
from ursa.robot.number import number, numbers

Array = np.ndarray
NOISES = ("angle_noise", "speed_noise", "gyro_noise", "acceleration_noise")
LARGEST_SEED = 2**64 - 1


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """How much the world differs from the ideal. Standard deviations, ranges and seconds."""

    angle_noise: float = 0.0  # rad
    speed_noise: float = 0.0  # rad/s
    gyro_noise: float = 0.0  # rad/s
    acceleration_noise: float = 0.0  # m/s^2
    latency: float = 0.0  # s from command to motor
    jitter: float = 0.0  # s, up to this much more, drawn every control step
    friction: tuple[float, float] = (1.0, 1.0)  # factor range, drawn once per robot
    mass: tuple[float, float] = (1.0, 1.0)  # trunk mass factor range, drawn once per robot
    push: float = 0.0  # N, horizontal force held for one control step
    push_interval: float = 5.0  # s between pushes on average

    def __post_init__(self) -> None:
        for name in (*NOISES, "latency", "jitter", "push"):
            number(f"disturbance.{name}", getattr(self, name), least=0)
        number("disturbance.push_interval", self.push_interval, above=0)
        for name in ("friction", "mass"):
            numbers(f"disturbance.{name}", getattr(self, name), 2)
            low, high = getattr(self, name)
            if not 0 < low <= high:
                raise UserError(f"disturbance.{name} = ({low}, {high}), want 0 < low <= high")

    @property
    def noisy(self) -> bool:
        return any(getattr(self, name) for name in NOISES)

    @property
    def quiet(self) -> bool:
        """Nothing is drawn and nothing delayed while the robot moves."""
        return not (self.noisy or self.latency or self.jitter or self.push)

    @property
    def varied(self) -> bool:
        return self.friction != (1.0, 1.0) or self.mass != (1.0, 1.0)


def delay(name: str, seconds: float, tick: float) -> int:
    """A delay in whole ticks; one that would be rounded away is refused."""
    ticks = round(seconds / tick)
    if seconds > 0 and ticks == 0:
        raise UserError(
            f"disturbance.{name} = {seconds} s is lost in a physics tick of {tick} s: want 0 or "
            f"at least {tick} s, or a finer tick"
        )
    return ticks


def chance(seed: int, step: int) -> np.random.Generator:
    """The stream of one control step. The step is the high word: a stream grows in the low one."""
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, step]))


def disturbed(ticks: Ticks, disturbance: Disturbance, rng: np.random.Generator) -> Ticks:
    """The same ticks as noisy sensors would give them."""

    def noise(clean: Array, deviation: float) -> Array:
        return clean + deviation * rng.standard_normal(clean.shape)

    return replace(
        ticks,
        joint_angle=noise(ticks.joint_angle, disturbance.angle_noise),
        joint_speed=noise(ticks.joint_speed, disturbance.speed_noise),
        gyro=noise(ticks.gyro, disturbance.gyro_noise),
        acceleration=noise(ticks.acceleration, disturbance.acceleration_noise),
    )


def pushes(
    disturbance: Disturbance, count: int, period: float, rng: np.random.Generator
) -> Float[Array, "n 3"]:
    """Horizontal forces: most steps nobody pushes."""
    hit = rng.random(count) < period / disturbance.push_interval
    angle = rng.uniform(-np.pi, np.pi, count)
    size = np.where(hit, disturbance.push, 0.0)
    return np.stack([size * np.cos(angle), size * np.sin(angle), np.zeros(count)], axis=1)
