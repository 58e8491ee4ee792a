"""Tick: the physics step, a whole part of the control period and no longer than is trusted."""

import math
from collections.abc import Mapping

from ursa.errors import UserError
from ursa.robot.number import number
from ursa.robot.spec import RobotSpec

SHORTEST = 0.0005  # s: finer costs time and shows nothing
EXACT = 1e-6  # of a tick: a period is divided as well as ten digits can say


def check_tick(spec: RobotSpec, tick: float, longest: float, advised: Mapping[float, str]) -> None:
    """Refuse a tick that is too short, longer than `longest`, or no part of the control period.

    `advised` maps ticks worth having to what they are good for; the answer names the nearest
    that divide the period of this robot.
    """
    if spec.period < SHORTEST:
        raise UserError(
            f"robot {spec.name}: control_rate = {spec.control_rate} Hz leaves {spec.period:.3g} s "
            f"for a step of physics, want at least {SHORTEST} s; lower control_rate to "
            f"{1 / SHORTEST:g} Hz or less"
        )
    part = {part_of(spec.period, it): use for it, use in advised.items()}
    use = " or ".join(f"{it:.10g} ({use})" for it, use in part.items())
    number("tick", tick, advice=f" of seconds; use {use}")
    if not SHORTEST <= tick <= longest or not _divides(tick, spec.period):
        raise UserError(
            f"tick = {tick} s: want a part of the control period of {spec.period:.10g} s, at least "
            f"{SHORTEST} s and at most {longest} s; use {use}"
        )


def part_of(period: float, longest: float) -> float:
    """The longest whole part of a period that is no longer than this."""
    return period / math.ceil(period / longest - EXACT)


def _divides(tick: float, period: float) -> bool:
    return abs(period / tick - round(period / tick)) <= EXACT
