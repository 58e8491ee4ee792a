"""Watch: somebody lets a robot do something, and one sees it on a sheet or in a video."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from ursa.errors import UserError, unknown
from ursa.robot import damage as wounds
from ursa.robot import registry
from ursa.robot.body import Body
from ursa.robot.damage import Damage
from ursa.robot.gait import SCRIPTS
from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.show import film, gl, render, words

Array = np.ndarray
Item = TypeVar("Item")
# What the robot knows, and the number of the step -> its action.
Choose = Callable[[Reading, int], Float[Array, "1 A"]]
UPRIGHT = 0.4  # of the trunk's up axis: the tilt below 66 degrees that the tasks call safe


class Role(NamedTuple):
    """Who is seen doing what."""

    name: str  # for the caption
    spec: RobotSpec
    enter: Callable[[], tuple[Body, Choose]]  # the robot, and what it will do from standing
    settle: int = 0  # steps at the start that speeds leave out, where more follow


def scripted(
    robot: str, script: str, *, engine: str = "mujoco", tick: float | None = None, seed: int = 0
) -> Role:
    """A robot that follows a script; `seed` is the chance behind the script random."""
    spec = registry.robot(robot)
    if script not in SCRIPTS:
        raise unknown("script", script, SCRIPTS)
    if not 0 <= seed < 2**63:
        raise UserError(f"seed = {seed}, want a whole number from 0 to 2^63 - 1")

    def enter() -> tuple[Body, Choose]:
        body = registry.body(spec, engine=engine, tick=tick)
        return body, lambda _, step: SCRIPTS[script](spec, step, seed)[np.newaxis]

    return Role(f"{spec.name} {script}", spec, enter)


def show(
    role: Role,
    *,
    seconds: float,
    damage: str,
    damage_at: float,
    out: Path,
    frames: int,
    fps: float | None,
    width: int,
    height: int,
    camera: str,
    plain: bool,
) -> None:
    """Let it happen, draw it and say how far it went; the arguments are those of `ursa watch`."""
    spec = role.spec
    damages = wounds.parse(damage, spec)
    fps = spec.control_rate if fps is None else fps
    _check_numbers(spec, seconds=seconds, damage_at=damage_at, fps=fps, frames=frames)
    if damages and damage_at >= seconds:
        raise UserError(f"damage-at = {damage_at} s, want less than the {seconds:g} s to be seen")
    render.check(spec, width=width, height=height, camera=camera)
    film.check(out)
    gl.backend()
    moving = out.suffix.lower() != ".png"
    last = max(1, round(seconds * spec.control_rate))
    shown = _every(spec.control_rate / fps, last) if moving else _spread(frames, last)
    broken = math.ceil(damage_at * spec.control_rate) if damages else last + 1
    size, harm = {"width": width, "height": height}, words.broken(damages, spec)
    with render.Studio(spec, **size, camera=camera, smooth=not moving) as studio:
        readings = list(track(play(role, last, damages, broken), "moving", last + 1))

        def picture(step: int) -> render.Picture:
            hurt = damages if step >= broken else ()
            drawn = studio.picture(readings[step], damages=hurt)
            far = _distance(readings[: step + 1])
            text = f"{role.name}\n{step * spec.period:.2f} s   {far:.2f} m"
            return drawn if plain else film.captioned(drawn, text, harm if hurt else "")

        film.save(track(map(picture, shown), "drawing", len(shown)), out, fps)
    print(summary(readings, role.settle))
    print(f"-> {out}")


def play(role: Role, steps: int, damages: Sequence[Damage], broken: int) -> Iterator[Reading]:
    """The robot at rest, then after each step; before step number `broken` it is damaged."""
    body, choose = role.enter()
    try:
        reading = body.rest()
        yield reading
        for step in range(steps):
            if step == broken:
                body.damage(damages)
            reading = body.step(choose(reading, step))
            yield reading
    finally:
        body.close()


def summary(readings: Sequence[Reading], settle: int = 0) -> str:
    """What the robot did, in one line of numbers. The first reading is the one at rest.

    Speeds are means along and about the robot itself: one that goes in circles is fast and ends
    where it began. They leave out the first `settle` steps, where more follow.
    """
    after = readings[1:]
    period = after[0].spec.period
    left_out = settle if settle < len(after) else 0
    settled = after[left_out:]
    speed = np.round(np.mean([_speed(it) for it in settled]), 2) + 0.0  # no minus before nothing
    turn = np.round(np.mean([it.gyro[0, 2] for it in settled]), 2) + 0.0
    since = f" (after the first {left_out * period:g} s)" if left_out else ""
    upright = np.mean([it.rotation[0, 2, 2] > UPRIGHT for it in after])
    torque = max(float(np.abs(it.torque[0]).max()) for it in after)
    power = np.mean([it.power[0] for it in after])
    return (
        f"{len(after) * period:.2f} s: {speed:.2f} m/s along its heading, turns {turn:.2f} rad/s"
        f"{since}; {_distance(readings):.2f} m from where it began, "
        f"upright {upright:.0%} of the time, peak torque {torque:.1f} N m, mean power {power:.0f} W"
    )


def _distance(readings: Sequence[Reading]) -> float:
    """Metres over the floor from the first place to the last, as the crow flies."""
    first, last = readings[0].truth, readings[-1].truth
    assert first is not None, "an engine knows where its robot is"
    assert last is not None, "an engine knows where its robot is"
    return float(np.linalg.norm(last.position[0, :2] - first.position[0, :2]))


def _speed(reading: Reading) -> float:
    """m/s over the floor along the trunk, forwards."""
    assert reading.truth is not None, "an engine knows how fast its robot is"
    return float(reading.truth.velocity[0, :2] @ reading.rotation[0, :2, 0])


def _every(stride: float, last: int) -> list[int]:
    """Every so many steps from the start, for a video."""
    return [round(step) for step in np.arange(0, last + 1e-9, stride)]


def _spread(count: int, last: int) -> list[int]:
    """So many steps from start to end, for a sheet; one is the end."""
    return [round(step) for step in np.linspace(0, last, count)] if count > 1 else [last]


def track(items: Iterable[Item], what: str, total: int) -> Iterable[Item]:
    """The same items, with a line that shows progress and the time left while they come."""
    from rich import progress
    from rich.console import Console

    screen = Console(stderr=True)
    quiet = not screen.is_terminal
    return progress.track(items, what, total, console=screen, transient=True, disable=quiet)


def _check_numbers(
    spec: RobotSpec, *, seconds: float, damage_at: float, fps: float, frames: int
) -> None:
    if not 0 < seconds < math.inf:
        raise UserError(f"seconds = {seconds}, want a number > 0")
    if not 0 <= damage_at < math.inf:
        raise UserError(f"damage-at = {damage_at} s, want a number >= 0")
    if not 0 < fps <= spec.control_rate:
        raise UserError(
            f"fps = {fps}, want more than 0 and at most {spec.control_rate:g}: "
            f"{spec.name} is controlled, and read, {spec.control_rate:g} times a second"
        )
    most = max(1, round(seconds * spec.control_rate)) + 1
    if not 1 <= frames <= most:
        raise UserError(f"frames = {frames}, want 1 to {most} for {seconds:g} s")
