"""Trials: bodies made, driven and compared; the tools that `contract.py` is written with."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields

import numpy as np

from ursa.errors import UserError
from ursa.robot.body import Body
from ursa.robot.reading import Reading

Array = np.ndarray
Maker = Callable[[int], Body]

STEPS = 12


class Broken(Exception):
    """A promise that a body does not keep: what was seen, in words."""


def demand(kept: bool | np.bool_, otherwise: str) -> None:
    """Raise Broken unless the promise is kept."""
    if not kept:
        raise Broken(otherwise)


@contextmanager
def made(make: Maker, *counts: int) -> Iterator[list[Body]]:
    """Bodies for one check, closed afterwards."""
    bodies = [make(count) for count in counts]
    try:
        yield bodies
    finally:
        for body in bodies:
            body.close()


def noise(body: Body, steps: int = STEPS) -> Array:
    """The random actions of every check, (steps, robots, joints), the same each time."""
    shape = (steps, body.count, body.spec.action_size)
    return np.random.default_rng(steps).uniform(-1.0, 1.0, shape)


def drive(body: Body, actions: Array) -> list[Reading]:
    """The readings after each of these actions."""
    return [body.step(action.copy()) for action in actions]


def table(reading: Reading) -> Mapping[str, Array]:
    """The arrays of a reading by name; those of the truth, if any, as "truth.position"."""
    truth = {} if reading.truth is None else vars(reading.truth)
    mine = {f.name: getattr(reading, f.name) for f in fields(reading)}
    return {name: value for name, value in mine.items() if isinstance(value, np.ndarray)} | {
        f"truth.{name}": value for name, value in truth.items()
    }


def equal(
    one: Reading, two: Reading, what: str, rows: list[int] | None = None, loose: float = 0.0
) -> None:
    """Raise Broken unless these rows (None: all) of both readings agree within `loose`."""
    theirs = table(two)
    for name, value in table(one).items():
        for row in range(len(value)) if rows is None else rows:
            mine, other = np.asarray(value[row], float), np.asarray(theirs[name][row], float)
            gap = np.abs(mine - other).max(initial=0.0)
            demand(gap <= loose, f"{what}: {name} of robot {row} differs by {gap:.3g}")


def follow(
    ones: list[Reading],
    twos: list[Reading],
    rows: list[int] | None = None,
    what: str = "",
    loose: float = 0.0,
) -> None:
    """`equal` for two equally long series of readings."""
    for step, (one, two) in enumerate(zip(ones, twos, strict=True)):
        equal(one, two, f"{what}step {step}", rows, loose)


def moments(body: Body) -> Iterator[tuple[str, Reading]]:
    """Readings of all origins: set down, stepped, carried, restored."""
    yield "after rest", body.rest()
    for step, action in enumerate(noise(body)):
        yield f"after step {step}", body.step(action)
    yield "after carry", body.carry(only(0, body.count))
    yield "after restore", body.restore(body.save())


def only(robot: int, count: int) -> Array:
    """One robot marked."""
    return np.arange(count) == robot


def refusal(
    body: Body, action: Array, what: str, errors: tuple[type[Exception], ...] = (UserError,)
) -> str:
    """What the body says when it refuses this action."""
    try:
        body.step(action)
    except errors as error:
        return str(error)
    raise Broken(f"{what} was accepted; want a UserError")
