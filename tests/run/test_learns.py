"""It learns: URSA and DayDreamer on the point robot, whose safe and reachable skills are known.

The point reaches every velocity in [-1, 1] x [-1, 1]; reward is v_x, v_y above 0.5 is unsafe. Three
seeds train as one program; what is asserted are medians over them. That the first test fails
without the skill constraint is shown in docs/log.md.
"""

import jax
import numpy as np
import pytest

import points
from ursa.agent.state import policy
from ursa.env.arena import arena
from ursa.evaluate.definitions import achieved
from ursa.evaluate.rollout import rollout

pytestmark = pytest.mark.timeout(1200)

SIDE = np.linspace(-1, 1, 11)
GRID = np.array([(x, y) for x in SIDE for y in SIDE])
SAFE = GRID[GRID[:, 1] <= 0.5]  # 8 of 11 rows
SEEDS = 3
BUDGET = {
    "train": {"steps": 20_000, "steps_per_update": 8, "batch": 8},
    "behavior": {
        "horizon": 4,
        "margin": 0.25,
        "huber": 0.1,
        "entropy_target": 0.1,
        "min_std": 0.05,
    },
}


def minds(trainer):
    """Each seed's learner."""
    count = trainer.config.seeds
    return [jax.tree.map(lambda leaf, k=k: leaf[k], trainer.learner) for k in range(count)]


@pytest.fixture(scope="module")
def asked():
    """What three URSA agents make of every safe skill: share achieved, share of steps unsafe."""
    place, found = arena("point", "point", len(SAFE), radius=None), []
    for mind in minds(points.trained(points.config("ursa", seeds=SEEDS, **BUDGET))):
        done, known = rollout(place, policy(mind.agent), SAFE), mind.law.repertoire
        there = achieved(done.feature, SAFE, np.asarray(known.ruler), float(known.delta))
        found.append((there.mean(), done.unsafe.mean()))
    return np.array(found)


def test_ursa_achieves_four_fifths_of_the_safe_skills_that_can_be_reached(asked):
    assert len(SAFE) == 88
    assert np.median(asked[:, 0]) >= 0.8, asked


def test_ursa_is_unsafe_in_less_than_one_step_of_a_hundred(asked):
    assert np.median(asked[:, 1]) < 0.01, asked


@pytest.mark.soak  # trains for a minute; that it learns at all: tests/baselines/test_daydreamer.py
def test_daydreamer_has_one_spot_and_it_is_the_one_that_pays():
    (mind,) = minds(points.trained(points.config("daydreamer", **BUDGET | {"train": BRIEF})))
    robots = 32
    place = arena("point", "point", robots, radius=None)
    done = rollout(place, policy(mind.agent), np.zeros((robots, 0)))
    np.testing.assert_allclose(done.feature.std(axis=0), 0, atol=0.05)
    assert done.feature[:, 0].min() >= 0.85  # of the 1 m/s it can do
    assert done.feature[:, 1].max() <= 0.5  # C <= 0: safe on average, which is all that is asked


BRIEF = BUDGET["train"] | {"steps": 10_000}
