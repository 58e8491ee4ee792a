"""Agent: a trained policy with the skills it knows, loaded from a run and ready to act."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ursa.agent import act as acting
from ursa.agent.state import Policy, begin
from ursa.behavior import critic
from ursa.config import Config
from ursa.env.arena import Arena, arena_of
from ursa.errors import UserError
from ursa.robot.registry import tick_in
from ursa.run import folder, pretrained, publish, settings
from ursa.run.plan import Plan, plan
from ursa.skill.feature import Feature, phi
from ursa.skill.repertoire import Repertoire

Array = np.ndarray
DRAWS = 1024  # of a baseline, among which its few skills are found


@dataclass(frozen=True)
class Parts:
    """What was published of one seed."""

    plan: Plan
    steps: int  # control steps it had lived
    policy: Policy
    critics: Any | None  # a shipped agent has none
    promised: Float[Array, " n"] | None  # what they said of each skill of the repertoire, at rest
    repertoire: Repertoire | None
    feature: Feature | None


class Agent:
    """Acts for as many robots as it is given; remembers what they lived through until `reset`."""

    def __init__(self, parts: Parts, seed: int) -> None:
        self._parts, self.seed = parts, seed
        self.reset()

    @classmethod
    def load(cls, run: str | Path, seed: int | None = None) -> "Agent":
        """The agent of a run's folder, or a shipped one by its name.

        `seed` chooses one of several, default the first.
        """
        place = folder.published(pretrained.opened(run))
        seeds = folder.seeds(place)
        if not seeds or not (place / folder.CONFIG).exists():
            raise pretrained.without_agent(run)
        config = settings.read(place / folder.CONFIG, whole=False)
        chosen = seed if seed is not None else seeds[0]
        if chosen not in seeds:
            raise no_seed(run, chosen, seeds)
        return cls(_opened(config, place / f"seed_{chosen}"), chosen)

    @property
    def config(self) -> Config:
        """The settings it was trained with."""
        return self._parts.plan.config

    @property
    def steps(self) -> int:
        """Control steps of its seed when it was saved."""
        return self._parts.steps

    @property
    def observation_size(self) -> int:
        """How many numbers of a robot it looks at."""
        return self._parts.plan.sizes.observation

    @property
    def policy(self) -> Policy:
        """The networks that act, as one value."""
        return self._parts.policy

    @property
    def promised(self) -> Float[Array, " n"] | None:
        """(1 - gamma) V at rest of each of `skills`, kept by an agent that lacks critics."""
        return self._parts.promised

    @property
    def repertoire(self) -> Repertoire | None:
        """What it discovered; a baseline discovers nothing."""
        return self._parts.repertoire

    @property
    def skills(self) -> Float[Array, "n D"]:
        """Every skill it knows, one per row; a method's own in the order in which it counts them.

        Those are one-hot: of rows in ascending order the first skill comes last.
        """
        known = self._parts.repertoire
        if known is not None:
            return np.asarray(known.skill[: int(known.filled)])
        draw = self._parts.plan.settings.method.draw
        assert draw is not None, "a method without a repertoire draws its skills"
        return np.unique(np.asarray(draw(jax.random.key(0), DRAWS)), axis=0)[::-1]

    def thin(self, count: int) -> Float[Array, "count D"]:
        """`count` skills that lie far from each other."""
        known = self._parts.repertoire
        if known is None:
            raise UserError(f"{self.config.method} has {len(self.skills)} skills: all of .skills")
        thinned = known.thin(count)
        return np.asarray(thinned.skill[:count])

    def feature(self, posture: ArrayLike) -> Float[Array, "m D"]:
        """The skills that postures, rows of what the task reads, are examples of."""
        if self._parts.feature is None:
            raise UserError(f"{self.config.method} has no feature map: it discovers no skills")
        return np.asarray(phi(self._parts.feature, jnp.asarray(posture, jnp.float32)))

    def act(
        self, observation: ArrayLike, skill: ArrayLike, *, explore: bool = False
    ) -> Float[Array, "*n A"]:
        """The next action in [-1, 1]; one robot (vectors) or several (rows), always the same ones.

        `explore` draws it as in training; otherwise it is what draws come to on average.
        """
        rows, z, single = self._checked(observation, skill)
        if self._carry is None:
            self._carry = _begin(self.policy, len(rows))
        elif len(rows) != len(self._carry.action):
            raise UserError(
                f"{len(rows)} observations, but {len(self._carry.action)} robots until now: "
                "call reset() before acting for others"
            )
        key = jax.random.fold_in(jax.random.key(self.seed), self._count)
        first = jnp.full(len(rows), self._count == 0)
        amount = jnp.asarray(float(explore))
        self._carry, action = _act(self.policy, self._carry, rows, first, z, amount, key)
        self._count += 1
        found = np.asarray(action, float)
        return found[0] if single else found

    def value(self, observation: ArrayLike, skill: ArrayLike) -> Float[Array, "*n"]:
        """(1 - gamma) V: the reward per step it expects from here on, just after waking up."""
        if self._parts.critics is None:
            raise UserError("a shipped agent has no critics: .promised has what they said")
        rows, z, single = self._checked(observation, skill)
        found = np.asarray(_value(self._parts.plan, self.policy, self._parts.critics, rows, z))
        return found.reshape(()) if single else found

    def acting(self) -> dict[str, Any]:
        """The parts that acting and telling skills take, as `publish.write` takes them."""
        own = self.policy
        tree = {"encoder": own.encoder, "rssm": own.rssm, "actor": own.actor}
        return tree | ({} if self._parts.feature is None else {"feature": self._parts.feature})

    def reset(self) -> None:
        """Forget the past: the next observation is the first."""
        self._carry: acting.Carry | None = None
        self._count = 0

    def arena(
        self, count: int = 1, *, engine: str | None = None, tick: float | None = None
    ) -> Arena:
        """Robots as it was trained with, at its task; other physics has a tick of its own."""
        trained = self.config
        engine = trained.engine if engine is None else engine
        own = tick_in(engine, trained.engine, trained.tick)
        return arena_of(trained, count, engine=engine, tick=own if tick is None else tick)

    def _checked(self, observation: ArrayLike, skill: ArrayLike) -> tuple[Any, Any, bool]:
        rows, z = np.asarray(observation, np.float32), np.asarray(skill, np.float32)
        single = rows.ndim == 1
        rows, z = (np.atleast_2d(rows), np.atleast_2d(z)) if single else (rows, z)
        wide = self._parts.plan.sizes.observation, self._parts.plan.settings.method.skill_size
        for name, value, size in (("observation", rows, wide[0]), ("skill", z, wide[1])):
            if value.shape != (len(rows), size):
                raise UserError(
                    f"{name} has shape {value.shape}, want {(len(rows), size)}: "
                    f"{size} numbers for each robot"
                )
            if not np.isfinite(value).all():
                raise UserError(f"{name} holds a number that is not finite")
        return jnp.asarray(rows), jnp.asarray(z), single


def no_seed(run: str | Path, seed: int, seeds: Sequence[int]) -> UserError:
    """The error for a seed that is not among those of a run (return it, do not raise it)."""
    there = f"only seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))}"
    return UserError(f"unknown seed of {run}: {seed}, but it has {there}")


_begin = jax.jit(acting.begin, static_argnums=1)
_act = jax.jit(acting.act)


def _value(plan: Plan, policy: Policy, critics: Any, rows: Any, z: Any) -> Any:
    """V in the first latent state that an observation leads to."""
    carry = _begin(policy, len(rows))
    first, still = jnp.ones(len(rows), bool), jnp.zeros(())
    carry, _ = _act(policy, carry, rows, first, z, still, jax.random.key(0))
    signals = plan.settings.method.signals
    return critic.values(critics, signals, carry.latent.flat()[None], z)["value"][0, :, 0]


def _opened(config: Config, place: Path) -> Parts:
    """Read what `publish` wrote, or `ship`."""
    robots = arena_of(config, 1)
    made = plan(config, robots)
    robots.close()
    like = publish.parts(begin(made.settings, 0), made.law.begin(0))
    file, known = place / folder.AGENT, place / folder.REPERTOIRE
    repertoire = Repertoire.load(known) if known.exists() else None
    if repertoire is not None and publish.shipped(file):
        del like["critics"]
        like[publish.PROMISED] = jnp.zeros(int(repertoire.filled), jnp.float32)
    tree = publish.read(file, like)
    promised = tree.get(publish.PROMISED)
    return Parts(
        plan=made,
        steps=publish.steps(file),
        policy=Policy(tree["encoder"], tree["rssm"], tree["actor"]),
        critics=tree.get("critics"),
        promised=None if promised is None else np.asarray(promised),
        repertoire=repertoire,
        feature=tree.get("feature"),
    )
