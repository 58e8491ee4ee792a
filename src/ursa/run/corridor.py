"""The skill corridor as the learner keeps it: a fold over rows, handed to the agent as `Skills`.

Two laws share one shape. URSA discovers: rows become repertoire, the KDE on it draws skills, the
feature map is fitted to it. A baseline is given its skills and keeps nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ursa.agent.method import Method, Skills
from ursa.config import SkillConfig
from ursa.skill import commit, kde, table
from ursa.skill.feature import Autoencoder, Feature, autoencoder, fit_step, identity, phi
from ursa.skill.repertoire import Repertoire
from ursa.skill.rule import Insert, extend, insert
from ursa.skill.schedule import due
from ursa.task.task import Task
from ursa.types import Batch, Row

SAMPLERS = {"kde": kde.draw, "box": kde.box}


@runtime_checkable
class Law(Protocol):
    """Where skills come from. Hashable; static in every program."""

    def begin(self, seed: int) -> Any: ...

    def take(self, state: Any, row: Row) -> Any:
        """Fold one control step of n robots into the state."""
        ...

    def fit(self, state: Any, updates: Int[Array, ""], key: Key[Array, ""]) -> Any:
        """One step of the feature map, if it is due."""
        ...

    def refresh(self, state: Any) -> Any:
        """Encode everything again and measure spread, neighbours and threshold."""
        ...

    def draw(self, state: Any, key: Key[Array, ""], count: int) -> Float[Array, "n D"]: ...

    def skills(self, state: Any, key: Key[Array, ""], count: int) -> Skills: ...

    def held(self, skills: Skills, batch: Batch, key: Key[Array, ""]) -> Skills:
        """The same, where some dreams are asked to stay as they begin; they begin in the batch."""
        ...

    def metrics(self, state: Any) -> dict[str, Array]: ...


class Discovered(eqx.Module):
    """What URSA knows about skills."""

    repertoire: Repertoire
    feature: Feature
    window: Any  # of the commit rule


@dataclass(frozen=True)
class Discovery:
    """URSA's law: skills from the kernel density on the repertoire."""

    config: SkillConfig
    robots: int
    ranges: tuple[tuple[float, float], ...] | None  # of the posture's columns
    posture_size: int
    total_updates: int
    swinging: bool = False  # as the task says
    insert: Insert = insert  # or the same as a kernel, where there is a GPU

    @property
    def skill_size(self) -> int:
        return self.config.skill_size if self.config.feature == "vae" else self.posture_size

    @property
    def rule(self) -> commit.Commit:
        """How rows become candidates."""
        rules = {"instant": commit.instant, "window": lambda: commit.window(self.config.window)}
        rules["auto"] = rules["window" if self.swinging else "instant"]
        return rules[self.config.commit]()

    def begin(self, seed: int) -> Discovered:
        config = self.config
        low, high = bounds(self.ranges, self.posture_size)
        repertoire = Repertoire.empty(
            config.repertoire_size,
            self.posture_size,
            self.skill_size,
            lower=low,
            upper=high,
            metric=config.metric,
            distinct_skills=config.distinct_skills,
        )
        rng = np.random.default_rng([seed, 0xFEA7])
        kind = Autoencoder(
            beta=config.vae_beta, batch=config.vae_batch, learning_rate=config.vae_learning_rate
        )
        makers: dict[str, Callable[[], Feature]] = {
            "identity": identity,
            "vae": lambda: autoencoder(
                rng, config.skill_size, low, high, units=config.vae_units, kind=kind
            ),
        }
        window = self.rule.begin(self.robots, self.posture_size)
        return Discovered(repertoire, makers[config.feature](), window)

    def take(self, state: Discovered, row: Row) -> Discovered:
        window, postures, flags = self.rule.advance(state.window, row.posture, row.safe, row.first)
        skills = phi(state.feature, postures)
        repertoire = extend(state.repertoire, postures, skills, flags, self.insert)
        return Discovered(repertoire, state.feature, window)

    def fit(self, state: Discovered, updates: Int[Array, ""], key: Key[Array, ""]) -> Discovered:
        if self.config.feature != "vae":
            return state
        rows = min(self.config.vae_rows, self.config.repertoire_size)
        now = due(updates, self.total_updates, rows, self.config)

        def learn(feature: Feature) -> Feature:
            fitted, _ = fit_step(feature, state.repertoire, key)
            enough = state.repertoire.filled >= rows
            return jax.tree.map(lambda new, old: jnp.where(enough, new, old), fitted, feature)

        feature = jax.lax.cond(now, learn, lambda feature: feature, state.feature)
        return Discovered(state.repertoire, feature, state.window)

    def refresh(self, state: Discovered) -> Discovered:
        repertoire = table.reencode(state.repertoire, lambda postures: phi(state.feature, postures))
        return Discovered(repertoire, state.feature, state.window)

    def draw(self, state: Discovered, key: Key[Array, ""], count: int) -> Float[Array, "n D"]:
        return SAMPLERS[self.config.sampler](state.repertoire, key, count)

    def skills(self, state: Discovered, key: Key[Array, ""], count: int) -> Skills:
        fixed = self.config.fixed_delta
        delta = jnp.asarray(fixed, jnp.float32) if fixed else state.repertoire.delta
        return Skills(
            z=self.draw(state, key, count),
            delta=delta,
            whiten=state.repertoire.ruler,
            phi=jax.tree_util.Partial(phi, state.feature),
        )

    def held(self, skills: Skills, batch: Batch, key: Key[Array, ""]) -> Skills:
        if not self.config.hold:
            return skills
        here = skills.phi(batch.posture.reshape(-1, self.posture_size))
        stay = jax.random.bernoulli(key, self.config.hold, batch.safe.shape) & batch.safe
        return eqx.tree_at(lambda it: it.z, skills, jnp.where(stay.reshape(-1, 1), here, skills.z))

    def metrics(self, state: Discovered) -> dict[str, Array]:
        entropy = kde.entropy(state.repertoire)
        deviation = jnp.sqrt(jnp.square(state.repertoire.spread.factor).sum(-1))  # per dimension
        return {
            "repertoire/filled": state.repertoire.filled.astype(jnp.float32),
            "repertoire/rejected": state.repertoire.rejected.astype(jnp.float32),
            "repertoire/entropy": entropy.estimate,
            "repertoire/entropy_bound": entropy.bound,
            "repertoire/delta": state.repertoire.delta,
            "repertoire/spread": deviation.mean(),
        }


@dataclass(frozen=True)
class Given:
    """A baseline's law: skills by its own rule, features standardised postures."""

    method: Method
    ranges: tuple[tuple[float, float], ...] | None
    posture_size: int

    def begin(self, seed: int) -> tuple[()]:
        return ()

    def take(self, state: tuple[()], row: Row) -> tuple[()]:
        return state

    def fit(self, state: tuple[()], updates: Array, key: Array) -> tuple[()]:
        return state

    def refresh(self, state: tuple[()]) -> tuple[()]:
        return state

    def draw(self, state: tuple[()], key: Key[Array, ""], count: int) -> Float[Array, "n D"]:
        assert self.method.draw is not None, "this method discovers its skills"
        return self.method.draw(key, count)

    def skills(self, state: tuple[()], key: Key[Array, ""], count: int) -> Skills:
        low, high = (jnp.asarray(b, jnp.float32) for b in scale(self.ranges, self.posture_size))
        return Skills(
            z=self.draw(state, key, count),
            delta=jnp.zeros(()),
            whiten=jnp.eye(0),
            phi=jax.tree_util.Partial(standardised, (low + high) / 2, (high - low) / 12**0.5),
        )

    def held(self, skills: Skills, batch: Batch, key: Key[Array, ""]) -> Skills:
        return skills

    def metrics(self, state: tuple[()]) -> dict[str, Array]:
        return {}


def standardised(
    center: Float[Array, " P"], scale: Float[Array, " P"], posture: Float[Array, "*b P"]
) -> Float[Array, "*b P"]:
    """Postures in units of the deviation they would have if uniform over their range."""
    shape = posture.shape
    return (posture - jnp.broadcast_to(center, shape)) / jnp.broadcast_to(scale, shape)


def bounds(
    ranges: tuple[tuple[float, float], ...] | None, size: int
) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """Lowest and highest posture that may become a skill."""
    if ranges is None:
        return np.full(size, -np.inf, np.float32), np.full(size, np.inf, np.float32)
    low, high = np.asarray(ranges, np.float32).T
    return low, high


def scale(
    ranges: tuple[tuple[float, float], ...] | None, size: int
) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """The same where a finite number is needed: a unit interval without a range."""
    low, high = bounds(ranges, size)
    return np.where(np.isfinite(low), low, -0.5), np.where(np.isfinite(high), high, 0.5)


def law(
    method: Method,
    config: SkillConfig,
    robots: int,
    task: Task,
    updates: int,
    insert: Insert = insert,
) -> Law:
    """The law that fits a method."""
    size = len(task.posture_names)
    if method.draw is None:
        return Discovery(config, robots, task.posture_range, size, updates, task.swinging, insert)
    return Given(method, task.posture_range, size)
