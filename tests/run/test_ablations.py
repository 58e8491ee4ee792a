"""Each ablation flag does to point robots what it is there for, and nothing else does it."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import points
from ursa.agent.state import policy
from ursa.behavior.objective import distance
from ursa.env.arena import arena
from ursa.evaluate.rollout import Rollouts, rollout
from ursa.presets import paper
from ursa.robot.a1 import A1
from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.run.collect import Collector
from ursa.run.corridor import Discovered, Discovery
from ursa.run.plan import build
from ursa.skill import commit as committing
from ursa.task import registry as tasks
from ursa.task.point import SAFE_SPEED, point
from ursa.task.task import Task

ROBOTS = 16
SETTLED = 100  # control steps after which a velocity is its command to the last bit: e^-50 is left
ROOT = 3**0.5 / 2  # whitened spacing of a 4 x 4 grid: its sample variance is 4/3 of a spacing²


def grid(x: float, y: float, low: float) -> np.ndarray:
    """4 x 4 velocities, so far apart along x and y, centred in x and from `low` upwards in y."""
    return np.array([(x * (i - 1.5), low + y * j) for i in range(4) for j in range(4)])


def lived(commands: np.ndarray) -> Any:
    """What points that were given these commands, (T, n, 2), leave behind after each of them."""
    count = commands.shape[1]
    collector = Collector(arena("point", "point", count, radius=None), 1, count, SETTLED, 0)
    rows = []
    for command in commands:
        collector.step(command)
        rows.append(collector.row)
    return jax.tree.map(lambda *leaves: np.stack(leaves)[:, 0], *rows)


def held(velocity: np.ndarray) -> Any:
    """One row of points that have long been going at these velocities."""
    rows = lived(np.broadcast_to(velocity, (SETTLED, *velocity.shape)))
    return jax.tree.map(lambda leaf: leaf[-1:], rows)


@partial(jax.jit, static_argnums=0)
def fold(law: Discovery, state: Discovered, rows: Any) -> Discovered:
    state, _ = jax.lax.scan(lambda now, row: (law.take(now, row), None), state, rows)
    return law.refresh(state)


def told(law: Discovery, *parts: Any) -> Discovered:
    """The corridor after these rows, refreshed after each part."""
    state = law.begin(0)
    for rows in parts:
        state = fold(law, state, rows)
    return state


def corridor(**skill: Any) -> Discovery:
    """The skill corridor of a run with these settings."""
    law = build(points.config("ursa", skill=skill))[0].law
    assert isinstance(law, Discovery)
    return law


def kept(state: Discovered) -> np.ndarray:
    known = state.repertoire
    return np.asarray(known.skill)[: int(known.filled)]


def handed(law: Discovery, state: Discovered, count: int = 1) -> Any:
    return law.skills(state, jax.random.key(0), count)


# --- commit -------------------------------------------------------------------------------------


def test_instants_keep_speeds_that_a_window_knows_nobody_holds():
    # Robot 0 is told 1 m/s ahead for 5 steps and back for 5, again and again. Its speed swings
    # between plus and minus tanh(5 * 0.05 s / 2 / 0.1 s) and is 0 on average; robot 1 holds 0.3.
    swing = np.where(np.arange(SETTLED + 40) % 10 < 5, 1.0, -1.0)
    commands = np.zeros((len(swing), ROBOTS, 2))
    commands[:, 0, 0], commands[:, 1:, 0] = swing, 0.3
    rows = jax.tree.map(lambda leaf: leaf[SETTLED:], lived(commands))
    speeds = {}
    for commit in ("instant", "window"):
        state = told(corridor(commit=commit, window=10), rows)
        speeds[commit] = kept(state)[:, 0]
    top = np.tanh(1.25)
    assert top == pytest.approx(0.8483, abs=1e-4)
    assert speeds["instant"].max() == pytest.approx(top, abs=1e-5)
    assert speeds["instant"].min() == pytest.approx(-top, abs=1e-5)
    swinging = np.abs(speeds["window"]) < 0.1
    assert 0 < swinging.sum() < len(swinging)
    np.testing.assert_allclose(speeds["window"], np.where(swinging, 0.0, 0.3), atol=1e-6)


def test_unless_told_the_task_says_whether_instants_or_windows_become_skills():
    law = corridor(commit="auto", window=10)
    assert not law.swinging
    assert law.rule.begin(2, 2) == committing.instant().begin(2, 2)
    swinging = replace(law, swinging=True)
    assert jax.tree.map(np.shape, swinging.rule.begin(2, 2)) == jax.tree.map(
        np.shape, committing.window(10).begin(2, 2)
    )
    assert tasks.task("velocity", A1, paper()).swinging
    assert not tasks.task("forward", A1, paper()).swinging


# --- sampler ------------------------------------------------------------------------------------


def test_a_box_proposes_what_was_never_done_and_the_density_does_not():
    # Half of the points speed up straight ahead, half to the right: an L whose far corner is empty.
    swing = (1 - np.cos(np.linspace(0, 2 * np.pi, 64))) / 2
    commands = np.zeros((len(swing), ROBOTS, 2))
    commands[:, ::2, 0] = swing[:, None] * np.linspace(0.3, 1, 8)
    commands[:, 1::2, 1] = -swing[:, None] * np.linspace(0.3, 1, 8)
    rows = lived(commands)
    assert np.abs(rows.posture).min(axis=-1).max() == 0.0
    elsewhere = {}
    for sampler in ("kde", "box"):
        law = corridor(sampler=sampler)
        state = told(law, rows)
        z = np.abs(np.asarray(handed(law, state, 4096).z))
        reach = np.abs(kept(state)).max()
        elsewhere[sampler] = (z.min(axis=1) > 0.4 * reach).mean()
    assert elsewhere["box"] == pytest.approx(0.6**2, abs=0.03)  # four deviations of 4096 draws
    assert elsewhere["kde"] < 0.01


# --- threshold ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("fixed", "before", "after"), [(0.0, 0.0, ROOT), (0.25, 0.25, 0.25)])
def test_only_a_fixed_threshold_takes_no_notice_of_how_skills_are_spread(fixed, before, after):
    # First two points share each of 8 velocities: nothing is distinct. Then each has its own, and
    # 4 of 16 evenly spread skills are twice as far apart: delta = 2 * spacing / 2.
    law = corridor(repertoire_size=ROBOTS, distinct_skills=4, fixed_delta=fixed)
    velocity = grid(0.4, 0.4, -0.9)
    crowded, spread = held(np.repeat(velocity[::2], 2, axis=0)), held(velocity)
    assert handed(law, told(law, crowded)).delta == pytest.approx(before, abs=1e-6)
    state = told(law, crowded, spread)
    ordered = np.lexsort(kept(state).round(4).T[::-1])
    np.testing.assert_allclose(kept(state)[ordered], velocity, atol=1e-6)
    assert handed(law, state).delta == pytest.approx(after, rel=1e-4)


# --- metric -------------------------------------------------------------------------------------

# Ten times as much room along x as along y; the farthest of 16 velocities are 1.206 m/s apart.
LONG = grid(0.4, 0.04, -0.06)
SCOTT = 16 ** (-1 / 6)


@pytest.mark.parametrize(
    ("metric", "delta", "along_x", "along_y"),
    [
        ("whitened", ROOT, ROOT, ROOT),  # an axis counts in units of how much the robot uses it
        ("euclidean", 0.04, 0.4, 0.04),  # in m/s; the nearest neighbours are those along y
        ("literal", ROOT / SCOTT, 0.4, 0.04),  # whitened spacing, shrunk units, miss in m/s
    ],
)
def test_the_metric_says_what_a_miss_and_the_threshold_are_measured_in(
    metric, delta, along_x, along_y
):
    law = corridor(repertoire_size=ROBOTS, distinct_skills=4, metric=metric)
    skills = handed(law, told(law, held(LONG)))
    assert skills.delta == pytest.approx(delta, rel=1e-3)

    def miss(one: int, other: int) -> float:
        ends = (jnp.asarray(LONG[it], jnp.float32) for it in (one, other))
        return float(distance(*ends, skills.whiten))

    assert miss(0, 4) == pytest.approx(along_x, rel=1e-3)
    assert miss(0, 1) == pytest.approx(along_y, rel=1e-3)
    # The formula as printed lets every skill pass for every other one.
    assert (miss(0, 15) < skills.delta) == (metric == "literal")


@pytest.mark.parametrize(("metric", "enters"), [("whitened", 0), ("euclidean", 1), ("literal", 0)])
def test_the_metric_says_which_skill_a_full_repertoire_can_spare(metric, enters):
    # One point moves half a spacing along x. Whitened, it is then the closest to another; in m/s
    # the neighbours along y are closer, and one of those goes.
    moved = LONG.copy()
    moved[0, 0] += 0.2
    law = corridor(repertoire_size=ROBOTS, distinct_skills=4, metric=metric)
    found = kept(told(law, held(LONG), held(moved)))
    assert (np.abs(found - moved[0]).max(axis=1) < 1e-6).sum() == enters


# --- safety -------------------------------------------------------------------------------------


STRICT = 4.0  # cost per m/s too fast: it must outweigh reward, which is scaled by its spread


def hasty(spec: RobotSpec) -> Task:
    """What is rewarded is what is unsafe: the speed along y, of which only 0.5 m/s is safe."""

    def reward(before: Reading, after: Reading) -> dict[str, np.ndarray]:
        return {"sideways": after.velocity[:, 1]}

    def cost(reading: Reading) -> np.ndarray:
        return STRICT * (reading.velocity[:, 1] - SAFE_SPEED)

    return replace(point(spec), name="hasty", reward=reward, cost=cost)


def tempted(safety: bool) -> Rollouts:
    """What points that want to go fast sideways came to do, with or without the constraint."""
    config = points.config(
        "daydreamer",
        task=f"{__name__}:hasty",
        behavior={"safety": safety, "horizon": 4, "entropy_target": 0.1, "min_std": 0.05},
        train={"steps": 8_000, "steps_per_update": 8, "batch": 8},
    )
    trainer = points.trained(config)
    mind = jax.tree.map(lambda leaf: leaf[0], trainer.learner.agent)
    return rollout(trainer.arena, policy(mind), np.zeros((ROBOTS, 0)))


@pytest.mark.soak  # trains for minutes
@pytest.mark.timeout(600)
def test_without_the_safety_constraint_reward_is_bought_with_unsafe_steps():
    careful, careless = tempted(True), tempted(False)
    assert careless.posture[:, 1].min() > 0.9  # of the 1 m/s it can do
    assert careless.unsafe.min() > 0.95
    assert careful.posture[:, 1].max() < 0.55
    assert careful.unsafe.max() < 0.6
