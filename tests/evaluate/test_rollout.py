"""Rollouts: sums by hand on the point, the same bits in any company, the true state for safety."""

import numpy as np
import pytest

from evaluate.born import born
from readings import standing
from runs import A1, POINT, quickly
from ursa import Agent
from ursa.env.arena import Arena, arena
from ursa.evaluate import rollout as module
from ursa.evaluate.crowd import Crowd
from ursa.evaluate.pilot import BLOCK, blocks
from ursa.evaluate.rollout import Rollouts, _unsafe, joined, recorded, rollout
from ursa.robot.damage import parse
from ursa.robot.point import POINT as SPEC
from ursa.robot.point import PointBody
from ursa.robot.reading import Truth
from ursa.task.point import point


@pytest.fixture
def short(monkeypatch):
    """Bits that differ differ soon."""
    monkeypatch.setattr(module, "STEPS", 80)


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    with quickly():
        yield Agent.load(born(POINT, tmp_path_factory.mktemp("born") / "point"))


@pytest.fixture(scope="module")
def walker(tmp_path_factory):
    with quickly():
        yield Agent.load(born(A1, tmp_path_factory.mktemp("born") / "a1"))


def ahead(outcome, step):
    """Full speed along x for the first robot, a third of it along y for the second."""
    return np.array([[1.0, 0.0], [0.0, 1 / 3]])


def test_returns_and_means_are_those_of_the_exact_solution():
    # v_k = 1 - e^(-k/2): the sum over 250 steps is 250 - 1 / (e^(1/2) - 1).
    found = recorded(arena("point", "point", 2), ahead)
    np.testing.assert_allclose(found.ret, [248.458505917, 0.0], atol=1e-8)
    np.testing.assert_allclose(found.speed, [1.0, 0.0], atol=1e-11)  # the start is left out
    np.testing.assert_allclose(found.whole[:, 0], [0.993834024, 0.0], atol=1e-8)
    np.testing.assert_allclose(found.posture, [[1.0, 0.0], [0.0, 1 / 3]], atol=1e-11)
    np.testing.assert_array_equal(found.feature, found.posture)
    assert found.safe.tolist() == [True, True]
    assert found.moving.tolist() == [True, False]


def test_a_feature_is_the_mean_of_phi_and_not_phi_of_the_mean():
    def there_and_back(outcome, step):
        return np.array([[1.0 if step % 2 else -1.0, 0.0]])

    found = recorded(arena("point", "point", 1), there_and_back, feature=np.square)
    # Velocity settles into +-a with a = 1 - (1 + a) e^(-1/2): a = tanh(1/4).
    assert abs(found.posture[0, 0]) < 1e-9
    np.testing.assert_allclose(found.feature[0, 0], np.tanh(0.25) ** 2, rtol=1e-9)


def test_safety_is_judged_by_the_true_state():
    fast = np.array([[0.0, 0.6, 0.0], [0.0, 0.4, 0.0]])
    truth = Truth(position=np.zeros((2, 3)), velocity=fast, foot_height=np.zeros((2, 0)))
    reading = standing(SPEC, 2, velocity=fast[::-1], truth=truth)  # both are mistaken
    assert _unsafe(point(SPEC), reading).tolist() == [1.0, 0.0]


class Fragile(PointBody):
    """The second point's physics diverges in step 7."""

    steps = 0

    def step(self, action):
        self.steps += 1
        return super().step(action)

    @property
    def rescued(self):
        return np.array([False, self.steps == 7])


def test_a_rollout_whose_physics_diverged_has_no_return_and_is_not_safe():
    found = recorded(Arena(Fragile(2), point(SPEC)), ahead)
    assert np.isfinite(found.ret[0])
    assert np.isnan(found.ret[1])
    assert found.hand.tolist() == [False, True]
    assert found.safe.tolist() == [True, False]


def test_blocks_are_filled_up_with_the_last_row():
    parts = blocks(np.arange(BLOCK + 2))
    assert [len(part) for part in parts] == [BLOCK, BLOCK]
    assert parts[1][:2].tolist() == [BLOCK, BLOCK + 1]
    assert set(parts[1][2:]) == {BLOCK + 1}


def same(one: Rollouts, other: Rollouts) -> None:
    for name, value in vars(one).items():
        np.testing.assert_array_equal(value, vars(other)[name], err_msg=name)


def rows(found: Rollouts, which) -> Rollouts:
    return Rollouts(**{name: value[which] for name, value in vars(found).items()})


def crowd(agent: Agent, chunk: int = 512, **options) -> Crowd:
    return Crowd(agent.arena, agent.policy, agent.feature, chunk=chunk, **options)


def test_a_rollout_is_the_same_in_chunks_of_any_size_and_any_order(points, short):
    z, chance = points.thin(5).astype(float), np.arange(5) % 3
    everyone = crowd(points).rollouts(z, chance)
    for chunk in (1, 3):
        same(crowd(points, chunk).rollouts(z, chance), everyone)
    same(rows(crowd(points).rollouts(z[::-1], chance[::-1]), slice(None, None, -1)), everyone)


def test_chunks_of_walking_robots_with_damages_are_the_same_too(walker, short):
    z, chance = walker.thin(3).astype(float), np.array([5, 6, 5])
    spec = walker.arena().body.spec
    damages = [(), parse("FL.upper", spec), parse("FR+BL:limp", spec)]
    together = crowd(walker).rollouts(z, chance, damages)
    same(crowd(walker, 2).rollouts(z, chance, damages), together)
    sound = crowd(walker).rollouts(z[:2], chance[:2])
    same(rows(together, slice(1)), rows(sound, slice(1)))  # others' damage is not its own
    assert sound.ret[1] != together.ret[1]


def test_chance_and_seed_tell_rollouts_of_one_skill_apart(points, short):
    z = np.repeat(points.skills[:1], 4, axis=0).astype(float)
    found = crowd(points).rollouts(z, np.array([0, 0, 1, 2]))
    assert found.ret[0] == found.ret[1]
    assert len(set(found.ret)) == 3
    again, other = (crowd(points, seed=seed).rollouts(z[:1], np.array([0])) for seed in (0, 1))
    assert again.ret[0] == found.ret[0]
    assert other.ret[0] != found.ret[0]


def test_a_row_of_an_arena_has_its_number_as_chance(points, short):
    z = points.thin(3).astype(float)
    plain = rollout(points.arena(3), points.policy, z, feature=points.feature)
    same(plain, crowd(points).rollouts(z, np.arange(3)))


def test_damage_is_each_robot_s_own_and_is_gone_afterwards(points, short):
    spec = points.arena().body.spec
    z, chance = np.repeat(points.skills[:1], 4, axis=0).astype(float), np.zeros(4, int)
    still = parse("x+y", spec)
    found = crowd(points, 2).rollouts(z, chance, [(), still, still, ()])
    assert found.ret[[1, 2]].tolist() == [0.0, 0.0]
    assert found.ret[0] == found.ret[3] != 0.0


def test_every_control_step_is_told(points):
    heard = []
    z = points.thin(5).astype(float)
    crowd(points, 3, watch=heard.append).rollouts(z, np.arange(5))
    assert sum(heard) == 5 * 250
    assert set(heard) == {3, 2}


def test_parts_are_joined_in_order():
    one = recorded(arena("point", "point", 2), ahead)
    both = joined([one, one])
    assert both.ret.tolist() == [*one.ret, *one.ret]
    assert both.posture.shape == (4, 2)
