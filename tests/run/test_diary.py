"""What a run tells of its robots: means over robots and steps, one number per seed."""

from dataclasses import replace

import numpy as np
import pytest

from ursa.env.arena import arena_of
from ursa.presets import preset
from ursa.robot.clearance import airborne
from ursa.run.diary import Diary

SEEDS, ROBOTS, STEPS = 2, 3, 12


@pytest.fixture(scope="module")
def lived():
    """Outcomes of robots that are dropped: in the air at first, then not."""
    place = arena_of(preset("tiny"), SEEDS * ROBOTS)
    rng = np.random.default_rng(0)
    found = [place.start()]
    found += [place.step(rng.uniform(-1, 1, (SEEDS * ROBOTS, 12))) for _ in range(STEPS)]
    place.close()
    return found


def told(outcomes):
    diary = Diary(SEEDS)
    for outcome in outcomes:
        diary.add(outcome)
    return diary.close()


def per_seed(values):
    return np.asarray(values, float).reshape(len(values), SEEDS, ROBOTS).mean(axis=(0, 2))


def test_it_tells_means_over_robots_and_steps(lived):
    found = told(lived)
    assert found["robot/reward"] == pytest.approx(per_seed([it.reward for it in lived]))
    assert found["robot/unsafe"] == pytest.approx(per_seed([~it.safe for it in lived]))
    in_air = per_seed([airborne(it.reading) for it in lived])
    assert found["robot/airborne"] == pytest.approx(in_air)
    assert sum(found[f"reward/{name}"][0] for name in lived[0].terms) == pytest.approx(
        found["robot/reward"][0]
    )


def test_a_robot_held_up_is_in_the_air(lived):
    high = [_lifted(it) for it in lived[:2]]
    assert told(lived[:2] + high)["robot/airborne"] == [0.5, 0.5]


def test_nothing_is_left_of_what_was_told(lived):
    diary = Diary(SEEDS)
    diary.add(lived[0])
    diary.close()
    assert diary.close() == {}
    diary.add(lived[1])
    assert diary.close() == told(lived[1:2])


def _lifted(outcome):
    truth = outcome.reading.truth
    up = replace(truth, position=truth.position + np.array([0, 0, 1.0]))
    return replace(outcome, reading=replace(outcome.reading, truth=up))
