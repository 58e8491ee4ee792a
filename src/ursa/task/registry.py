"""Which tasks there are, by name: built in, declared by another package, or three functions.

A task of your own is a module with three functions (see `Task` for their contract):

    def reward(before, after): return {"jump": 10.0 * after.velocity[:, 2]}
    def cost(reading): return 0.1 - reading.height
    def posture(reading): return reading.joint_angle
    posture_names = (...)  # optional, one name per column

Name it as "package.module", or give it a name with one line in your pyproject.toml:

    [project.entry-points."ursa.tasks"]
    jump = "my_package.jump"

Instead of a module it may also be a Task, or a function from RobotSpec to Task ("module:NAME").
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from types import ModuleType

import numpy as np

from ursa.config import Config
from ursa.errors import UserError
from ursa.robot.plugin import addressed, called, here, load, plugins
from ursa.robot.spec import RobotSpec
from ursa.task.forward import forward
from ursa.task.point import point
from ursa.task.probe import standing
from ursa.task.task import Posture, Task, attempt, check
from ursa.task.velocity import velocity

GROUP = "ursa.tasks"
BUILTIN = ("forward", "velocity", "point")
FUNCTIONS = ("reward", "cost", "posture")
ROBOTS = 5  # how many a new task is tried on: a number that no other axis has


def tasks() -> tuple[str, ...]:
    """The names of all tasks; nothing is loaded."""
    return tuple(dict.fromkeys((*BUILTIN, *plugins("task", GROUP))))


def task(name: str, spec: RobotSpec, config: Config | None = None) -> Task:
    """The task of that name for this robot, tried once on robots that stand still.

    `config` holds the choices of the tasks that have some; None: those of the paper or ours.
    """
    own = _builtin(config or Config())
    value = addressed("task", name) if _module(name) else load("task", GROUP, own, name)
    if isinstance(value, ModuleType):
        value = _three_functions(name, value, spec)
    elif callable(value):
        value = called("task", name, value, spec)
    if not isinstance(value, Task):
        raise UserError(
            f'task "{name}" is a {type(value).__name__}; want a Task, a function from RobotSpec '
            f"to Task, or a module with the functions {', '.join(FUNCTIONS)}"
        )
    check(value, standing(spec, ROBOTS))
    return value


def _builtin(config: Config) -> Mapping[str, Callable[[], Callable[[RobotSpec], Task]]]:
    return {
        "forward": lambda: partial(forward, config=config.forward),
        "velocity": lambda: partial(velocity, config=config.velocity),
        "point": lambda: point,
    }


def _module(name: str) -> bool:
    """Whether a name that nobody registered can only mean a module: "package.module", "mytask"."""
    if name in BUILTIN or ":" in name or name in tasks():
        return False
    with here():
        return "." in name or (name.isidentifier() and find_spec(name) is not None)


def _three_functions(name: str, module: ModuleType, spec: RobotSpec) -> Task:
    missing = [it for it in FUNCTIONS if not callable(getattr(module, it, None))]
    if missing:
        raise UserError(
            f'task "{name}": module {module.__name__} lacks {", ".join(missing)}; a task is the '
            "functions reward(before, after), cost(reading) and posture(reading)"
        )
    names = getattr(module, "posture_names", None) or _numbered(name, module.posture, spec)
    return Task(
        name=name,
        reward=module.reward,
        cost=module.cost,
        posture=module.posture,
        posture_names=tuple(names),
        posture_range=getattr(module, "posture_range", None),
        tolerance=getattr(module, "tolerance", 0.0),
    )


def _numbered(name: str, posture: Posture, spec: RobotSpec) -> tuple[str, ...]:
    """x0, x1, ...: as many as the function has columns (one if it has none: `check` will tell)."""
    shape = np.shape(attempt(name, "posture", posture, standing(spec, ROBOTS)))
    return tuple(f"x{i}" for i in range(shape[1] if len(shape) == 2 else 1))
