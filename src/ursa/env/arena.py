"""Arena: n robots at a task on a round floor, reset-free. Whoever owns the loop is the hand.

The arena says which robots are stuck (`Outcome.stuck`); it moves none by itself. A trainer calls
`help` at once, a Gymnasium user calls `reset`. Every touch of a hand is counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from ursa.config import Config
from ursa.errors import UserError
from ursa.robot import registry as robots
from ursa.robot.body import Body, marked
from ursa.robot.engine import Engine
from ursa.robot.legged import LeggedBody
from ursa.robot.observation import Layout, ObservationConfig, observe
from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.task import registry as tasks
from ursa.task.task import Task, check, judge

Array = np.ndarray
RADIUS = 20.0  # m


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a step of n robots came to."""

    observation: Float32[Array, "n O"]
    reward: Float[Array, " n"]
    terms: Mapping[str, Float[Array, " n"]]  # sum to the reward
    cost: Float[Array, " n"]
    safe: Bool[Array, " n"]  # cost <= 0
    posture: Float[Array, "n P"]  # what phi reads
    # A hand is needed: the robot left the arena, or its physics diverged. The latter has already
    # been set down at rest by its body: its reward here is no consequence of its action.
    stuck: Bool[Array, " n"]
    reading: Reading


class Arena:
    """n robots, one task. A robot is never set upright or moved unless a hand is asked for."""

    def __init__(
        self, body: Body, task: Task, layout: Layout | None = None, radius: float | None = RADIUS
    ) -> None:
        if radius is not None and not radius > 0:
            raise UserError(f"radius = {radius} m, want > 0, or None for a floor without end")
        self.body, self.task, self.count = body, task, body.count
        self.layout = layout or Layout(body.spec)
        self._reach = np.inf if radius is None else radius**2
        self._reading: Reading | None = None
        self._stuck = np.zeros(body.count, bool)
        self._rescued = np.zeros(body.count, bool)  # stuck, but a hand was there already
        self._interventions = np.zeros(body.count, int)

    @property
    def interventions(self) -> Int[Array, " n"]:
        """How often a hand has moved each robot since the arena was built."""
        return self._interventions.copy()

    @property
    def reading(self) -> Reading:
        """What the robots know now."""
        if self._reading is None:
            raise UserError("the arena has not started: call start() (or reset()) first")
        return self._reading

    def start(self) -> Outcome:
        """Set all robots down at rest, and try the task on them; the reward is that of resting."""
        self._interventions += self._stuck & ~self._rescued
        reading = self.body.rest()
        check(self.task, reading)
        self._stuck = self._rescued = np.zeros(self.count, bool)
        return self._outcome(reading, reading)

    def step(self, action: Float[Array, "n A"]) -> Outcome:
        """One control step of every robot, stuck or not."""
        before = self.reading
        reading = self.body.step(action)
        self._rescued = self.body.rescued.copy()
        self._interventions += self._rescued
        self._stuck = self._rescued | self._outside(reading)
        return self._outcome(before, reading)

    def help(self, which: Array) -> Outcome:
        """Carry the marked robots back to the middle, lying or standing as they are.

        A robot that its body has just set down again is in the middle already.
        """
        marks = marked(which, self.reading.count)
        reading = self.body.carry(marks)
        self._interventions += marks & ~self._rescued  # those were counted when it happened
        self._stuck, self._rescued = self._stuck & ~marks, self._rescued & ~marks
        return self._outcome(reading, reading)

    def save(self) -> dict[str, Array]:
        """Everything a restored arena needs to go on, as named arrays."""
        state = {f"body.{name}": value for name, value in self.body.save().items()}
        return state | {
            "stuck": self._stuck.copy(),
            "rescued": self._rescued.copy(),
            "interventions": self._interventions.copy(),
        }

    def restore(self, state: Mapping[str, Array]) -> Outcome:
        """Go on from a saved state as if nothing had happened."""
        body = {
            name.removeprefix("body."): value
            for name, value in state.items()
            if name.startswith("body.")
        }
        reading = self.body.restore(body)
        self._stuck, self._rescued = state["stuck"].copy(), state["rescued"].copy()
        self._interventions = state["interventions"].copy()
        return self._outcome(reading, reading)

    def close(self) -> None:
        self.body.close()

    def _outcome(self, before: Reading, after: Reading) -> Outcome:
        self._reading = after
        judged = judge(self.task, before, after)
        return Outcome(
            observation=observe(self.layout, after),
            reward=judged.reward,
            terms=judged.terms,
            cost=judged.cost,
            safe=judged.safe,
            posture=judged.posture,
            stuck=self._stuck,
            reading=after,
        )

    def _outside(self, reading: Reading) -> Bool[Array, " n"]:
        """Beyond the radius. A robot that does not know where it is, is watched by a person."""
        if reading.truth is None:
            return np.zeros(self.count, bool)
        x, y, _ = reading.truth.position.T
        return x * x + y * y > self._reach


def arena(
    robot: str | RobotSpec = "a1",
    task: str | Task = "forward",
    count: int = 1,
    *,
    radius: float | None = RADIUS,
    observation: ObservationConfig | None = None,
    **options: Any,
) -> Arena:
    """An arena from names; `options` are those of `ursa.robot.registry.body`."""
    spec = robots.robot(robot) if isinstance(robot, str) else robot
    chosen = tasks.task(task, spec) if isinstance(task, str) else task
    layout = Layout(spec, observation or ObservationConfig())
    return Arena(robots.body(spec, count, **options), chosen, layout, radius)


def arena_of(config: Config, count: int, **options: Any) -> Arena:
    """The arena that a run's config describes; `options` replace what it says of the body."""
    spec = robots.robot(config.robot)
    task = tasks.task(config.task, spec, config)
    own = {"radius": config.arena, "engine": config.engine, "tick": config.tick}
    own |= {"settle": config.settle, "seed": config.seed}
    return arena(spec, task, count, **{**own, **options})


def arena_over(engine: Engine, config: Config) -> Arena:
    """The same over an engine of the caller's: a robot behind its gate, which leaves no floor."""
    body = LeggedBody(engine, settle=config.settle)
    return Arena(body, tasks.task(config.task, engine.spec, config), radius=None)
