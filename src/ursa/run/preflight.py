"""Preflight: whatever would stop a run is found before anything starts or is written. No JAX."""

from collections.abc import Callable
from typing import TypeVar

from ursa.config import Config, complaints
from ursa.errors import UserError, listed, unknown
from ursa.machine import host_memory as host_memory  # what a run may take
from ursa.robot import registry as robots
from ursa.robot.observation import Layout
from ursa.robot.registry import ENGINES
from ursa.task import registry as tasks
from ursa.types import Sizes

METHODS = ("ursa", "daydreamer", "dominic")
Found = TypeVar("Found")


def check(config: Config) -> Sizes:
    """The sizes of a run's rows, or one error that lists everything wrong with its config."""
    wrong = complaints(config)

    def tried(act: Callable[[], Found]) -> Found | None:
        try:
            return act()
        except UserError as error:
            wrong.append(str(error))
            return None

    if config.method not in METHODS:
        wrong.append(str(unknown("method", config.method, METHODS)))
    if config.engine not in ENGINES:
        wrong.append(str(unknown("engine", config.engine, ENGINES)))
    spec = tried(lambda: robots.robot(config.robot))
    task = None if spec is None else tried(lambda: tasks.task(config.task, spec, config))
    if spec is not None and config.engine in ENGINES:
        own = {"engine": config.engine, "tick": config.tick, "settle": config.settle}
        tried(lambda: robots.body(spec, **own).close())
    if spec is None and config.task not in tasks.tasks():
        wrong.append(str(unknown("task", config.task, tasks.tasks())))
    learnt = config.method == "ursa" and config.skill.feature == "vae"
    if task is not None and learnt and task.posture_range is None:
        wrong.append(
            f"task {task.name} gives no posture_range, which a VAE needs to scale postures; "
            "add it to the task or use --skill.feature identity"
        )
    if wrong or spec is None or task is None:
        raise UserError("this run cannot start:\n  " + listed(wrong))
    return Sizes(
        observation=Layout(spec).size,
        action=spec.action_size,
        posture=len(task.posture_names),
    )


def replay_bytes(config: Config, sizes: Sizes) -> int:
    """Memory of the replay of all seeds; it holds no more than the run has steps."""
    steps = min(config.train.replay_size, config.train.steps)
    return config.seeds * steps * sizes.bytes


def check_memory(config: Config, sizes: Sizes, free: float | None) -> None:
    """Refuse a run whose replay cannot be held; `free` None: nobody knows, so it may try."""
    wanted = replay_bytes(config, sizes)
    if free is not None and wanted > free:
        raise UserError(
            f"the replay of {config.seeds} x {min(config.train.replay_size, config.train.steps):,}"
            f" steps takes {wanted / 1e9:.2f} GB, but {free / 1e9:.2f} GB of memory are free: "
            "lower --train.replay-size or --seeds, or close other programs"
        )
