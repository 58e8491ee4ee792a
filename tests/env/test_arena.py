"""An arena never moves a robot by itself; it says who needs a hand, and counts the hands."""

from dataclasses import replace

import numpy as np
import pytest

from ursa.config import Config
from ursa.env.arena import Arena, arena, arena_of, arena_over
from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.gait import trot
from ursa.robot.motion import action_of
from ursa.robot.point import POINT, PointBody
from ursa.robot.simulator import MuJoCoEngine
from ursa.task.forward import forward
from ursa.task.point import point

EAST, STILL = (1.0, 0.0), (0.0, 0.0)


class BlindBody(PointBody):
    """Points that do not know where they are, as a real robot does not."""

    def step(self, action):
        return replace(super().step(action), truth=None)


class ShakyBody(PointBody):
    """Points of which the second one diverges in every step, and is set down again."""

    lost = np.array([False, True])

    def step(self, action):
        super().step(action)
        return self.rest(self.lost)

    @property
    def rescued(self):
        return self.lost


def points(count=2, radius=0.5, body=PointBody):
    built = Arena(body(count), point(POINT), radius=radius)
    built.start()
    return built


def advance(built, *actions, steps):
    for _ in range(steps):
        outcome = built.step(np.array(actions))
    return outcome


def test_a_start_is_robots_at_rest():
    outcome = Arena(PointBody(3), point(POINT)).start()
    assert outcome.reward.tolist() == [0.0, 0.0, 0.0]
    assert outcome.cost.tolist() == [-0.5, -0.5, -0.5]
    assert outcome.safe.all()
    assert not outcome.stuck.any()


def test_a_step_is_judged_by_what_the_robot_estimates():
    built = points(1)
    outcome = advance(built, EAST, steps=1)
    speed = 1 - np.exp(-0.5)  # after 0.05 s with a lag of 0.1 s
    assert outcome.reward == pytest.approx(speed)
    assert outcome.terms["forward"] == pytest.approx(speed)
    np.testing.assert_allclose(outcome.posture, [[speed, 0.0]])
    assert outcome.observation.dtype == np.float32
    assert outcome.observation.shape == (1, built.layout.size)


def test_who_leaves_the_arena_is_stuck_and_no_one_else():
    built = points()
    # x = t - 0.1 (1 - exp(-10 t)): 0.4504 m after 11 steps, 0.5002 m after 12
    assert advance(built, EAST, STILL, steps=11).stuck.tolist() == [False, False]
    assert advance(built, EAST, STILL, steps=1).stuck.tolist() == [True, False]


def test_a_stuck_robot_goes_on_until_a_hand_comes():
    built = points()
    outcome = advance(built, EAST, STILL, steps=20)
    assert outcome.stuck.tolist() == [True, False]
    assert outcome.reading.truth.position[0, 0] == pytest.approx(0.9, abs=1e-4)
    assert built.interventions.tolist() == [0, 0]


def test_help_carries_a_robot_back_as_it_is_and_counts():
    built = points()
    before = advance(built, EAST, STILL, steps=12)
    after = built.help(np.array([True, False]))
    assert after.reading.truth.position[0].tolist() == [0.0, 0.0, 0.0]
    assert (after.posture == before.posture).all()  # it still moves
    assert (after.observation == before.observation).all()
    assert not after.stuck.any()
    assert built.interventions.tolist() == [1, 0]
    assert not advance(built, EAST, STILL, steps=1).stuck.any()


def test_help_is_no_step_for_the_reward_that_follows():
    """Torque and joint angles before the hand and after it belong together."""
    helped, alone = (Arena(PointBody(1), forward(POINT), radius=None) for _ in range(2))
    for built in (helped, alone):
        built.start()
        advance(built, EAST, steps=3)
    helped.help(np.array([True]))
    left, right = (advance(built, (-1.0, 0.5), steps=1) for built in (helped, alone))
    assert left.reward == right.reward
    assert left.terms["smooth"] < -0.01


def test_a_new_start_after_a_robot_left_counts_as_a_hand():
    built = points()
    advance(built, EAST, STILL, steps=12)
    built.start()
    built.start()  # nobody was stuck this time
    assert built.interventions.tolist() == [1, 0]


def test_a_rescued_robot_is_stuck_and_counted_once():
    built = points(body=ShakyBody)
    outcome = advance(built, EAST, EAST, steps=1)
    assert outcome.stuck.tolist() == [False, True]
    assert built.interventions.tolist() == [0, 1]
    assert not built.help(outcome.stuck).stuck.any()
    assert built.interventions.tolist() == [0, 1]


def test_a_robot_that_does_not_know_where_it_is_never_leaves():
    assert not advance(points(body=BlindBody), EAST, EAST, steps=20).stuck.any()


def test_a_floor_without_end_cannot_be_left():
    assert not advance(points(radius=None), EAST, EAST, steps=20).stuck.any()


def test_counts_handed_out_do_not_change_later():
    built = points()
    counts = built.interventions
    built.help(np.array([True, True]))
    assert counts.tolist() == [0, 0]
    assert built.interventions.tolist() == [1, 1]


def test_nothing_can_be_done_before_the_start():
    built = Arena(PointBody(1), point(POINT))
    with pytest.raises(UserError, match="has not started"):
        built.step(np.zeros((1, 2)))
    with pytest.raises(UserError, match="has not started"):
        built.help(np.ones(1, bool))


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan")])
def test_a_floor_needs_room(radius):
    with pytest.raises(UserError, match="want > 0, or None"):
        Arena(PointBody(1), point(POINT), radius=radius)


@pytest.mark.parametrize(("settle", "doubt"), [(0.05, 0.0291), (0.0, 1.0)])
def test_settling_reaches_the_estimate_of_robots_here_and_behind_an_engine(settle, doubt):
    # Where what lying adds in a step of 50 ms and takes away balance: 0.05 / (e - 1) s.
    config = Config(settle=settle)
    for built in (arena_of(config, 1), arena_over(MuJoCoEngine(A1, 1), config)):
        built.start()
        lying = action_of(A1, np.tile([0.0, 3.4, -2.6], 4))  # rad: on its trunk, feet in the air
        for _ in range(60):
            reading = built.step(lying[None]).reading
        after = built.body.save()
        built.close()
        assert not reading.contact.any()
        assert after["estimate.doubt"][0] == pytest.approx(doubt, abs=1e-3)


def test_a_task_that_does_not_fit_the_robot_fails_at_the_start():
    wrong = replace(point(POINT), cost=lambda reading: reading.velocity)
    with pytest.raises(UserError, match=r"cost function .* shape \(2, 3\); want .* \(2,\)"):
        Arena(PointBody(2), wrong).start()


def test_a_restored_arena_goes_on_as_if_nothing_had_happened():
    built = arena("a1", "forward", 2, radius=5.0, threads=1)
    actions = np.random.default_rng(0).uniform(-1, 1, (8, 2, 12))
    built.start()
    for action in actions[:4]:
        built.step(action)
    built.help(np.array([True, False]))
    state = built.save()
    first = [built.step(action) for action in actions[4:]]
    built.help(np.array([True, True]))
    built.restore(state)
    assert built.interventions.tolist() == [1, 0]
    second = [built.step(action) for action in actions[4:]]
    for one, other in zip(first, second, strict=True):
        assert (one.reward == other.reward).all()
        assert (one.observation == other.observation).all()
    built.close()


def test_an_arena_saved_before_help_does_not_count_a_rescue_twice():
    built = points(body=ShakyBody)
    outcome = advance(built, EAST, EAST, steps=1)
    restored = points(body=ShakyBody)
    assert restored.restore(built.save()).stuck.tolist() == [False, True]
    restored.help(outcome.stuck)
    assert restored.interventions.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("robot", "name"),
    [("a1", "forward"), ("a1", "velocity"), ("go2", "forward"), ("go2", "velocity")],
)
def test_a_robot_that_takes_its_standing_pose_is_safe(robot, name):
    built = arena(robot, name, 1, threads=1)
    spec = built.body.spec
    built.start()
    for _ in range(20):
        outcome = built.step(action_of(spec, spec.of_joints("standing"))[np.newaxis])
        total = np.sum(list(outcome.terms.values()), axis=0)
        np.testing.assert_allclose(total, outcome.reward, atol=1e-6)
    assert outcome.safe.all()
    assert outcome.terms["upright"] > 0.99
    built.close()


@pytest.mark.parametrize("name", ["forward", "velocity"])
def test_penalties_of_a_trot_stay_small_beside_what_it_earns(name):
    built = arena("a1", name, 1, threads=1)
    built.start()
    outcomes = [built.step(trot(built.body.spec, step)[np.newaxis]) for step in range(100)]
    mean = [float(np.mean([it.terms[term] for it in outcomes])) for term in outcomes[0].terms]
    earned, lost = sum(it for it in mean if it > 0), -sum(it for it in mean if it < 0)
    assert 0 < lost < 0.2 * earned
    assert all(outcome.safe.all() for outcome in outcomes)
    built.close()
