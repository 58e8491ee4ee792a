"""Plan: a config put together. Every word becomes a value or a function here, and nowhere later."""

import logging
from dataclasses import dataclass
from functools import cache

import jax

from ursa.agent.method import Method
from ursa.agent.state import Settings
from ursa.agent.ursa import ursa
from ursa.baselines.daydreamer import daydreamer
from ursa.baselines.dominic import dominic
from ursa.config import Config, check
from ursa.env.arena import Arena, arena_of
from ursa.errors import UserError, unknown
from ursa.run.corridor import Law, law
from ursa.skill import rule
from ursa.skill.rule import Insert
from ursa.task.task import Task
from ursa.types import Sizes

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """What shapes the programs of a run. Hashable."""

    config: Config
    settings: Settings
    law: Law
    sizes: Sizes

    @property
    def columns(self) -> int:
        """Control steps of one robot in the whole run."""
        return self.config.train.steps // self.config.train.robots

    @property
    def prefill(self) -> int:
        """Columns before the first update."""
        return -(-self.config.train.prefill // self.config.train.robots)

    @property
    def capacity(self) -> int:
        """Columns in the replay."""
        return min(self.config.train.replay_size // self.config.train.robots, self.columns)

    @property
    def refresh(self) -> int:
        """Columns between two refreshes of the skill corridor."""
        return max(1, self.config.skill.refresh_period // self.config.train.robots)

    @property
    def stride(self) -> int:
        """Columns from one update to the next; the rows between wait for the last of them."""
        return max(1, self.config.train.steps_per_update // self.config.train.robots)

    @property
    def updates_each(self) -> int:
        """Updates of a column that has any."""
        return max(1, self.config.train.robots // self.config.train.steps_per_update)

    def updates_at(self, column: int) -> int:
        """How many updates follow the arrival of this column."""
        if column < self.prefill or column % self.stride:
            return 0
        return self.updates_each


def backend() -> tuple[str, str, int]:
    """Device, precision of products, and how far scans are unrolled there."""
    device = jax.devices()[0]
    fast = device.platform != "cpu"
    return device.device_kind, "bfloat16" if fast else "float32", 16 if fast else 1


@cache
def insertion() -> Insert:
    """How rows enter the repertoire: one kernel on a GPU that can run it, else the plain rule."""
    if jax.devices()[0].platform != "gpu":
        return rule.insert
    from ursa.skill import kernel  # here, because only a GPU needs what it imports

    try:
        kernel.tried()
    except Exception as error:  # whatever a driver or compiler has against it
        log.warning("insertions without a kernel, 3 ms a step more: %s", str(error)[:200])
        return rule.insert
    return kernel.insert


def body_count(config: Config) -> int:
    """Robots of all seeds together."""
    return config.seeds * config.train.robots


def build(config: Config) -> tuple[Plan, Arena]:
    """The plan and the robots, or one error that lists what is wrong."""
    check(config)
    place = arena_of(config, body_count(config))
    return plan(config, place), place


def plan(config: Config, place: Arena) -> Plan:
    """Everything static about a run on these robots."""
    task = place.task
    sizes = Sizes(
        observation=place.layout.size,
        action=place.body.spec.action_size,
        posture=len(task.posture_names),
    )
    train = config.train
    updates = max(1, (train.steps - train.prefill) // train.steps_per_update)
    method = method_of(config, task, sizes)
    _, precision, unroll = backend()
    settings = Settings(
        method=method,
        sizes=sizes,
        world=config.world,
        behavior=config.behavior,
        optimizer=config.optimizer,
        total_updates=updates,
        precision=precision,
        unroll=train.unroll or unroll,
    )
    skills = law(method, config.skill, train.robots, task, updates, insertion())
    return Plan(config, settings, skills, sizes)


def method_of(config: Config, task: Task, sizes: Sizes) -> Method:
    """The method by its name."""
    learnt = config.skill.feature == "vae"
    if config.method == "ursa" and learnt and task.posture_range is None:
        raise UserError(
            f"task {task.name} gives no posture_range, which a VAE needs to scale postures; "
            "add it to the task or use --skill.feature identity"
        )
    makers = {
        "ursa": lambda: ursa(
            config.behavior, config.skill.skill_size if learnt else sizes.posture, task.tolerance
        ),
        "daydreamer": lambda: daydreamer(config.behavior, task.tolerance),
        "dominic": lambda: dominic(config.behavior, config.dominic, sizes.posture, task.tolerance),
    }
    if config.method not in makers:
        raise unknown("method", config.method, makers)
    return makers[config.method]()
