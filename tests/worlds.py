"""Toy worlds with known answers, and the few compiled learners that all tests share.

The slider: three coordinates that forget half of themselves each step and are pushed by two
actions, x' = 0.5 x + PUSH a. It is seen whole, so what comes next is known exactly.
"""

from dataclasses import replace
from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ursa import replay  # noqa: F401  registers Batch with JAX
from ursa.agent import act
from ursa.agent.learn import learn
from ursa.agent.method import Method, Skills, View
from ursa.agent.state import AgentState, Settings, begin, policy
from ursa.agent.ursa import ursa
from ursa.baselines.daydreamer import daydreamer
from ursa.baselines.dominic import dominic
from ursa.config import DominicConfig, OptimizerConfig
from ursa.presets import tiny
from ursa.types import Batch, Sizes

# The learners of this suite run for a second; a program compiled without effort serves as well.
quick = partial(
    jax.jit,
    compiler_options={
        "xla_backend_optimization_level": 0,
        "xla_llvm_disable_expensive_passes": True,
    },
)

SIZES = Sizes(observation=5, action=2, posture=3)  # all different: a wrong axis cannot fit
SKILL = 2  # URSA's features are the first two coordinates
KEPT = 0.5
PUSH = np.array([[0.8, 0.0], [0.0, 0.8], [0.4, -0.4]])  # what each action does to each coordinate
SEQUENCES, LENGTH = 4, 8
STARTS = SEQUENCES * LENGTH


def slider(sequences: int = SEQUENCES, length: int = LENGTH, seed: int = 0) -> Batch:
    """Lived sequences under random actions. Reward is x0, cost x1 - 0.5, posture x."""
    rng = np.random.default_rng(seed)
    action = rng.uniform(-1, 1, (sequences, length, SIZES.action))
    x = np.zeros((sequences, length, SIZES.posture))
    now = rng.uniform(-1, 1, (sequences, SIZES.posture))
    for t in range(length):
        now = KEPT * now + action[:, t] @ PUSH.T  # the action of a row LED to its observation
        x[:, t] = now
    first = np.zeros((sequences, length), bool)
    first[:, 0] = True
    wide = {
        "observation": np.concatenate([x, x[..., :2] - x[..., 1:]], -1),
        "action": action,
        "reward": x[..., 0],
        "cost": x[..., 1] - 0.5,
        "posture": x,
    }
    return Batch(
        **{name: jnp.asarray(value, jnp.float32) for name, value in wide.items()},
        safe=jnp.asarray(x[..., 1] <= 0.5),
        first=jnp.asarray(first),
    )


def leading(posture: jax.Array) -> jax.Array:
    """phi: the first coordinates of the posture."""
    return posture[..., :SKILL]


def whole(posture: jax.Array) -> jax.Array:
    """phi: the posture as it is."""
    return posture


@cache
def method(name: str) -> Method:
    behavior = tiny().behavior
    makers = {
        "ursa": lambda: ursa(behavior, SKILL, 0.0),
        "daydreamer": lambda: daydreamer(behavior, 0.0),
        "dominic": lambda: dominic(behavior, DominicConfig(skills=3), SIZES.posture, 0.0),
    }
    return makers[name]()


@cache
def settings(name: str = "ursa", **behavior: object) -> Settings:
    """The tiny learner of a method; it steps ten times further than the paper's."""
    small = tiny()
    return Settings(
        method=method(name),
        sizes=SIZES,
        world=small.world,
        behavior=replace(small.behavior, **behavior),
        optimizer=OptimizerConfig(learning_rate=1e-3),
        total_updates=100,
    )


@cache
def newborn(name: str = "ursa", seed: int = 0) -> AgentState:
    return begin(settings(name), seed)


def skills(name: str = "ursa", count: int = STARTS, seed: int = 0) -> Skills:
    """A fresh skill for each dream, as the skill corridor would hand them over."""
    rng = np.random.default_rng(seed)
    draws = {
        "ursa": lambda: rng.normal(0, 0.3, (count, SKILL)),
        "daydreamer": lambda: np.zeros((count, 0)),
        "dominic": lambda: np.eye(3)[np.arange(count) % 3],
    }
    return Skills(
        z=jnp.asarray(draws[name](), jnp.float32),
        delta=jnp.asarray(0.1, jnp.float32),
        whiten=jnp.eye(SKILL),
        phi=jax.tree_util.Partial(leading if name == "ursa" else whole),
    )


@cache
def updating(name: str = "ursa"):
    """The compiled update of one seed: (state, batch, skills, key) -> state, metrics."""
    return quick(partial(learn, settings(name)))


@cache
def updating_seeds(name: str = "ursa"):
    """The same for seeds side by side."""
    return quick(jax.vmap(partial(learn, settings(name))))


def devoted(state: AgentState) -> AgentState:
    """URSA with lambda_skill at 1 and lambda_safe at 0: the skill is all that counts."""
    bias = jnp.array([[40.0], [-40.0]])
    return eqx.tree_at(lambda it: it.multipliers.bias, state, bias)


def schooled(name: str, state: AgentState, updates: int) -> tuple[AgentState, list[float]]:
    """A learner after some updates on the slider, and the world model's losses on the way."""
    losses = []
    for i in range(updates):
        given = slider(seed=i), skills(name, seed=i), jax.random.key(i)
        state, metrics = updating(name)(state, *given)
        losses.append(float(metrics["world/loss"]))
    return state, losses


@cache
def grown() -> AgentState:
    """URSA after twenty updates: no scale or moment is at its start any more."""
    return schooled("ursa", newborn(), 20)[0]


@cache
def follower() -> tuple[AgentState, list[float]]:
    """URSA after 250 updates that only its skill mattered to, and the world model's losses."""
    return schooled("ursa", devoted(newborn()), 250)


acting = quick(act.act)
leaning = quick(lambda pi, latent, z: pi.actor(latent.flat(), pi.actor.skill_part(z))[0])


def habit(state: AgentState, *z: float) -> np.ndarray:
    """Mean of the policy of a learner that is told z while it watches the slider."""
    pi, batch = policy(state), slider(seed=99)
    carry, actions = act.begin(pi, SEQUENCES), []
    told = jnp.tile(jnp.asarray(z, jnp.float32), (SEQUENCES, 1))
    for t in range(LENGTH):
        carry = eqx.tree_at(lambda it: it.action, carry, batch.action[:, t])
        seen = batch.observation[:, t], batch.first[:, t]
        carry, _ = acting(pi, carry, *seen, told, jnp.zeros(()), jax.random.key(t))
        actions.append(leaning(pi, carry.latent, told))
    return np.mean(actions, (0, 1))


def stacked(*trees):
    """Trees side by side: a seed axis in front."""
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *trees)


def view(
    returns: dict[str, np.ndarray],
    slow: dict[str, np.ndarray],
    levels: dict[str, float],
    skills: Skills,
    scales: dict[str, float],
    progress: float = 0.5,
) -> View:
    """What a method sees of a dream of H steps and N starts; levels are the same everywhere."""

    def wide(values: dict[str, np.ndarray]) -> dict[str, jax.Array]:
        return {name: jnp.asarray(value, jnp.float32) for name, value in values.items()}

    shape = next(iter(returns.values())).shape[:2]
    return View(
        returns=wide(returns),
        slow=wide(slow),
        levels={name: jnp.full(shape, level, jnp.float32) for name, level in levels.items()},
        scales={name: jnp.asarray(scale, jnp.float32) for name, scale in scales.items()},
        skills=skills,
        progress=jnp.asarray(progress, jnp.float32),
    )


def same(left, right) -> bool:
    """Trees equal to the last bit, dtypes included."""
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)
