"""Task: what we want of a robot, as three functions of its readings, and the check of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ursa.errors import UserError
from ursa.robot.reading import Reading

Array = np.ndarray
Reward = Callable[[Reading, Reading], Mapping[str, Array]]
Cost = Callable[[Reading], Array]
Posture = Callable[[Reading], Array]


@dataclass(frozen=True, kw_only=True)
class Task:
    """Three functions of what n robots know of themselves; velocity and height are estimates."""

    name: str
    reward: Reward  # (before, after) -> named, weighted terms of shape (n,); their sum is r
    cost: Cost  # reading -> c of shape (n,); a state is safe exactly where c <= 0
    posture: Posture  # reading -> what phi reads, shape (n, P)
    posture_names: tuple[str, ...]  # one per column of the posture
    # Physical range of each column. Postures outside are sensor faults and never become skills;
    # a VAE scales by the range. None: whatever is finite, and no VAE.
    posture_range: tuple[tuple[float, float], ...] | None = None
    tolerance: float = 0.0  # average cost that still counts as C <= 0
    # What phi reads swings with every stride, as velocities do: nothing that was true for an
    # instant can be kept up, so only means over a window become skills (`skill.commit auto`).
    swinging: bool = False

    def __post_init__(self) -> None:
        if not self.posture_names or len(set(self.posture_names)) != len(self.posture_names):
            raise UserError(
                f"task {self.name}: posture_names must be present and unique: {self.posture_names}"
            )
        ranges = self.posture_range
        if ranges is not None and (
            len(ranges) != len(self.posture_names) or any(not low < high for low, high in ranges)
        ):
            raise UserError(
                f"task {self.name}: posture_range = {ranges}; want (low, high) with low < high for "
                f"each of {', '.join(self.posture_names)}"
            )
        if not self.tolerance >= 0:
            raise UserError(f"task {self.name}: tolerance = {self.tolerance}, want >= 0")


@dataclass(frozen=True)
class Judgement:
    """What a task says about one step of n robots."""

    reward: Float[Array, " n"]  # the sum of the terms
    terms: Mapping[str, Float[Array, " n"]]
    cost: Float[Array, " n"]
    safe: Bool[Array, " n"]  # cost <= 0
    posture: Float[Array, "n P"]


def judge(task: Task, before: Reading, after: Reading) -> Judgement:
    """Reward, cost and posture of the step from `before` to `after`."""
    terms = task.reward(before, after)
    cost = task.cost(after)
    reward = sum(terms.values(), np.zeros(after.count))
    return Judgement(reward, terms, cost, cost <= 0.0, task.posture(after))


def check(task: Task, reading: Reading) -> None:
    """Try the three functions on a reading; whatever is wrong is told with the function's name."""
    n = reading.count
    terms = attempt(task.name, "reward", task.reward, reading, reading)
    if not isinstance(terms, Mapping) or not terms:
        raise _wrong(task, "reward", _shown(terms), f"a dict of named terms of shape ({n},)")
    for name, term in terms.items():
        if not isinstance(name, str):
            raise _wrong(task, "reward", f"a term called {name!r}", "terms named by strings")
        _numbers(task, "reward", f'"{name}": ', term, (n,))
    _numbers(task, "cost", "", attempt(task.name, "cost", task.cost, reading), (n,))
    posture = attempt(task.name, "posture", task.posture, reading)
    _numbers(task, "posture", "", posture, (n, len(task.posture_names)))


def attempt(task: str, what: str, function: Callable[..., Any], *readings: Reading) -> Any:
    """The function's result, or its failure as an error that names it."""
    try:
        return function(*readings)
    except Exception as error:  # somebody else's code may fail in any way
        hint = "" if readings[0].truth else " (a task sees what a robot can know: truth is None)"
        raise UserError(
            f"task {task}: {what} function {origin(function)} failed on "
            f"{readings[0].count} x {readings[0].spec.name}: {type(error).__name__}: {error}{hint}"
        ) from error


def origin(function: Any) -> str:
    """module.name of a function, as a person would look for it."""
    function = getattr(function, "func", function)  # the function inside a functools.partial
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}".replace(".<locals>", "")


def _numbers(task: Task, what: str, label: str, value: Any, shape: tuple[int, ...]) -> None:
    named = f" (columns {', '.join(task.posture_names)})" if what == "posture" else ""
    wanted = f"finite floats of shape {shape}{named}, one row per robot"
    fitting = (
        isinstance(value, np.ndarray)
        and np.issubdtype(value.dtype, np.floating)
        and value.shape == shape
    )
    if not fitting:
        raise _wrong(task, what, label + _shown(value), wanted)
    if not np.isfinite(value).all():
        row = int(np.argwhere(~np.isfinite(value))[0][0])
        raise _wrong(task, what, f"{label}{value[row]} for robot {row}", wanted)


def _wrong(task: Task, what: str, got: str, wanted: str) -> UserError:
    function = origin(getattr(task, what))
    return UserError(f"task {task.name}: {what} function {function} returned {got}; want {wanted}")


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    return f"{type(value).__name__} {value!r}"[:80]
