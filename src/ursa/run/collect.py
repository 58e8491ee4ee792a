"""Algorithm 1: robots step, and what they live through becomes rows. The host's side of a run."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float

from ursa.env.arena import Arena, Outcome
from ursa.types import Row

Array = np.ndarray


class Collector:
    """The robots of all seeds in one arena, and the row that waits to be learnt from."""

    def __init__(self, arena: Arena, seeds: int, robots: int, skill_period: int, seed: int) -> None:
        self.arena, self.shape, self.seed = arena, (seeds, robots), seed
        self._period = skill_period
        # Robots change skills in turn, not all at once: the replay sees every age of a skill.
        self._offset = (np.arange(robots) * skill_period) // robots
        outcome = arena.start()
        still = np.zeros((arena.count, arena.body.spec.action_size))
        self.row = self._row(outcome, still, np.ones(arena.count, bool))
        self.outcome = outcome
        self._helped = np.zeros(arena.count, bool)

    def renew(self, column: int) -> Bool[Array, "s n"]:
        """Robots that get a new skill now."""
        due = (column + self._offset) % self._period == 0
        return np.broadcast_to(due, self.shape) | self.row.first

    def random(self, column: int) -> Float[Array, "m A"]:
        """Uniform actions for the prefill: of each seed a function of it and of the column."""
        seeds, robots = self.shape
        size = (robots, self.arena.body.spec.action_size)
        keys = ([self.seed + seed, 0xAC7, column] for seed in range(seeds))
        return np.concatenate([np.random.default_rng(it).uniform(-1.0, 1.0, size) for it in keys])

    def step(self, action: Float[Array, "m A"]) -> Outcome:
        """One control step; robots that need a hand get it at once."""
        outcome = self.arena.step(action)
        first = self._helped | self.arena.body.rescued
        self.row = self._row(outcome, action, first)
        self._helped = outcome.stuck & ~self.arena.body.rescued
        if outcome.stuck.any():
            self.arena.help(outcome.stuck)
        self.outcome = outcome
        return outcome

    def _row(self, outcome: Outcome, action: Array, first: Array) -> Row:
        def shaped(value: Array) -> Array:
            return value.reshape(*self.shape, *value.shape[1:])

        def narrow(value: Array) -> Array:
            return shaped(np.asarray(value, np.float32))

        return Row(
            observation=narrow(outcome.observation),
            action=narrow(np.clip(action, -1, 1)),
            reward=narrow(outcome.reward),
            cost=narrow(outcome.cost),
            posture=narrow(outcome.posture),
            safe=shaped(np.asarray(outcome.safe, bool)),
            first=shaped(first.copy()),
        )

    def save(self) -> dict[str, Array]:
        """Robots, the waiting row and who was helped, as named arrays."""
        state = {f"arena.{name}": value for name, value in self.arena.save().items()}
        state |= {f"row.{name}": value for name, value in vars(self.row).items()}
        return state | {"helped": self._helped.copy()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on as if nothing had happened."""

        def part(name: str) -> dict[str, Array]:
            start = name + "."
            return {k[len(start) :]: np.asarray(v) for k, v in state.items() if k.startswith(start)}

        self.outcome = self.arena.restore(part("arena"))
        self.row = Row(**part("row"))
        self._helped = np.asarray(state["helped"]).copy()
