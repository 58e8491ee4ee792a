"""Algorithms 1 and 2 as a run carries them out, with points whose every step is known.

A point that is told a velocity u follows with a lag of 0.1 s. At 20 Hz, from v to
u + (v - u) e^(-1/2), where e^(-1/2) = 0.606531: from rest to 0.393469 u, 0.632121 u, 0.776870 u.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.agent import act as acting
from ursa.env.arena import Arena
from ursa.robot.point import POINT, PointBody
from ursa.run import programs
from ursa.run.collect import Collector
from ursa.run.learner import choose, mind
from ursa.run.plan import build
from ursa.run.settings import configure
from ursa.run.trainer import Trainer
from ursa.task.point import point as task

pytestmark = pytest.mark.usefixtures("quick")
FADE = 0.606531
# Four robots, T = 20; two columns at random, then an update for every second column; R has room.
SHORT = configure(
    "tiny",
    {
        "robot": "point",
        "task": "point",
        "arena": 1e9,
        "steps": 4 * 46,
        "skill": {"feature": "identity", "skill_period": 20, "repertoire_size": 256},
        "train": {"robots": 4, "prefill": 8, "length": 2, "steps_per_update": 8},
    },
)


# ---- the robots' side --------------------------------------------------------------------------


def collector(count=2, *, period=20, radius=None, body=PointBody):
    return Collector(Arena(body(count), task(POINT), radius=radius), 1, count, period, 0)


def told(collector, column):
    """Which robots get a new skill at a column."""
    return np.flatnonzero(collector.renew(column)[0]).tolist()


def test_a_seed_begins_with_the_same_random_actions_alone_or_among_others():
    pair = Collector(Arena(PointBody(6), task(POINT), radius=None), 2, 3, 20, seed=4)
    alone = [
        Collector(Arena(PointBody(3), task(POINT), radius=None), 1, 3, 20, it) for it in (4, 5)
    ]
    both = pair.random(column=7)
    assert both.shape == (6, 2)
    np.testing.assert_array_equal(both, np.concatenate([it.random(7) for it in alone]))
    assert not np.array_equal(both[:3], both[3:])
    assert not np.array_equal(both, pair.random(column=8))


def test_robots_change_skills_in_turn_every_t_steps():
    robots = collector(4)
    assert told(robots, 0) == [0, 1, 2, 3]  # set down just now
    robots.step(np.zeros((4, 2)))
    turns = {column: told(robots, column) for column in range(1, 46)}
    turns = {column: which for column, which in turns.items() if which}
    # Offsets 0, 5, 10, 15: robot 1 is due when column + 5 is a multiple of 20, and so on.
    assert turns == {
        5: [3], 10: [2], 15: [1], 20: [0], 25: [3], 30: [2], 35: [1], 40: [0], 45: [3],
    }  # fmt: skip


def test_a_robot_that_was_carried_back_gets_a_new_skill_and_the_others_keep_theirs():
    """x = 0.05 n - 0.1 (1 - 0.606531^n): 0.1135 after four steps, the first beyond 0.1 m; from the
    middle again at 0.8647 m/s, 0.0447, 0.0914 and 0.1395 after three more."""
    robots = collector(radius=0.1, period=1000)
    firsts = []
    for column in range(1, 10):
        robots.step(np.array([[1.0, 0.0], [0.0, 0.0]]))
        firsts += [column] if robots.row.first[0, 0] else []
        assert told(robots, column) == ([0] if robots.row.first[0, 0] else [])
    assert firsts == [5, 8]  # the row after the one that was outside
    assert robots.arena.interventions.tolist() == [2, 0]


class Diverging(PointBody):
    """Its second robot fails at the third step and is set down at rest."""

    steps = 0

    def step(self, action):
        self.steps += 1
        reading = super().step(action)
        return self.rest(self.rescued) if self.rescued.any() else reading

    @property
    def rescued(self):
        return np.array([False, self.steps == 3])


def test_a_robot_that_its_body_set_down_gets_a_new_skill_at_once_and_only_once():
    robots = collector(period=1000, body=Diverging)
    turns = []
    for column in range(1, 6):
        robots.step(np.ones((2, 2)))
        turns += [(column, told(robots, column))]
    assert turns == [(1, []), (2, []), (3, [1]), (4, []), (5, [])]


def test_a_row_holds_the_action_that_led_to_it_clipped():
    robots = collector()
    np.testing.assert_array_equal(robots.row.action, np.zeros((1, 2, 2)))
    assert robots.row.first.all()
    robots.step(np.array([[0.5, 0.5], [2.0, -3.0]]))
    robots.step(np.array([[0.5, 1.0], [0.0, 0.0]]))
    row = robots.row
    np.testing.assert_allclose(row.action[0], [[0.5, 1.0], [0.0, 0.0]])
    # From (0.196735, 0.196735) towards (0.5, 1), and from (0.393469, -0.393469) towards rest.
    velocity = [[0.316060, 0.512795], [0.238651, -0.238651]]
    np.testing.assert_allclose(row.posture[0], velocity, atol=1e-6)
    np.testing.assert_allclose(row.reward[0], [0.316060, 0.238651], atol=1e-6)
    np.testing.assert_allclose(row.cost[0], [0.012795, -0.738651], atol=1e-6)
    assert row.safe[0].tolist() == [False, True]
    speed = robots.arena.layout["velocity"]
    np.testing.assert_allclose(
        row.observation[0, :, speed][:, :2], 2 * np.array(velocity), atol=1e-5
    )
    robots.step(np.array([[0.0, 0.0], [-9.0, 0.25]]))
    np.testing.assert_allclose(robots.row.action[0], [[0.0, 0.0], [-1.0, 0.25]])


# ---- a whole run -------------------------------------------------------------------------------


def obedient(policy, carry, observation, first, z, explore, key):
    """A policy that does what it is told: the skill of a point is the velocity it commands."""
    return carry, z


@pytest.fixture(scope="module")
def lived(quick):
    """Forty-six columns of robots that obey: the trainer, their skills, the updates so far."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acting, "act", obedient)
        patch.setattr(programs, "_KNOWN", {})  # these programs are nobody else's
        trainer = Trainer(SHORT)
        skills, updates = [], []
        while trainer.column < trainer.plan.columns:
            trainer.turn()
            skills.append(np.asarray(trainer.z[0]))
            updates.append(trainer.updates)
    return trainer, np.stack(skills, axis=1), updates


def stored(trainer, name):
    """What the replay holds: all but the last column, which waits for an update."""
    return np.asarray(getattr(trainer.learner.ring, name)[0])[:, :45]


def test_every_column_is_stored_once_and_in_order(lived):
    trainer, _, _ = lived
    assert trainer.column == 46
    assert int(trainer.learner.ring.written[0]) == 45
    assert len(trainer.waiting) == 1
    assert stored(trainer, "first")[:, 0].all()
    assert not stored(trainer, "first")[:, 1:].any()


def test_what_is_stored_obeys_the_robots_equation(lived):
    trainer, _, _ = lived
    action, velocity = stored(trainer, "action"), stored(trainer, "posture")
    wanted = action[:, 1:] + (velocity[:, :-1] - action[:, 1:]) * FADE
    np.testing.assert_allclose(velocity[:, 1:], wanted, atol=2e-6)
    assert (abs(action[:, 1:] - action[:, :-1]).max(-1) > 0.05).any(-1).all()  # or it says nothing


def test_a_stored_action_follows_the_skill_held_one_column_before(lived):
    trainer, skills, _ = lived
    action = stored(trainer, "action")
    np.testing.assert_allclose(action[:, 3:], np.clip(skills[:, 2:44], -1, 1), atol=1e-6)


@pytest.mark.parametrize(
    ("robot", "columns"), [(0, [20, 40]), (1, [15, 35]), (2, [10, 30]), (3, [5, 25, 45])]
)
def test_a_robot_holds_its_skill_until_its_next_turn(lived, robot, columns):
    _, skills, _ = lived
    changed = (skills[robot, 3:] != skills[robot, 2:-1]).all(-1)  # since it began to act
    assert (np.flatnonzero(changed) + 3).tolist() == columns


def test_everyone_is_given_a_skill_when_the_random_actions_end(lived):
    _, skills, _ = lived
    np.testing.assert_array_equal(skills[:, :2], np.zeros((4, 2, 2)))
    assert (abs(skills[:, 2]) > 0).all()
    assert len(np.unique(skills[:, 2], axis=0)) == 4


def test_the_repertoire_holds_the_safe_postures_of_the_run_and_no_other(lived):
    trainer, _, _ = lived
    safe, posture = stored(trainer, "safe").T, stored(trainer, "posture").swapaxes(0, 1)
    assert 0 < (~safe).sum() < safe.size
    np.testing.assert_array_equal(safe, posture[..., 1] <= 0.5)
    repertoire = jax.tree.map(lambda leaf: leaf[0], trainer.learner.law.repertoire)
    filled = int(repertoire.filled)
    assert filled == safe.sum()
    np.testing.assert_array_equal(repertoire.posture[:filled], posture[safe])  # in order of arrival


def test_updates_come_after_the_prefill_at_the_ratio_asked_for(lived):
    trainer, _, updates = lived
    # One for eight control steps, of which a column has four: columns 2, 4, ... 44.
    assert updates == [max(0, column // 2) for column in range(46)]
    assert trainer.learner.agent.updates.tolist() == [22]


@pytest.mark.parametrize(
    ("steps_per_update", "begin", "whole"),
    [
        (1, [0, 0, 4, 4, 4, 4, 4, 4, 4, 4], 176),
        (2, [0, 0, 2, 2, 2, 2, 2, 2, 2, 2], 88),
        (4, [0, 0, 1, 1, 1, 1, 1, 1, 1, 1], 44),
        (16, [0, 0, 0, 0, 1, 0, 0, 0, 1, 0], 11),  # 4, 8, ... 44
    ],
)
def test_a_column_of_four_steps_brings_as_many_updates_as_the_ratio_says(
    steps_per_update, begin, whole
):
    plan, _ = build(replace(SHORT, train=replace(SHORT.train, steps_per_update=steps_per_update)))
    updates = [plan.updates_at(column) for column in range(plan.columns)]
    assert updates[:10] == begin
    assert sum(updates) == whole


def test_a_robot_that_was_carried_back_in_a_run_has_another_skill():
    trainer = Trainer(replace(SHORT, arena=0.1))
    firsts = 0
    while trainer.column < trainer.plan.columns:
        column, row, before = trainer.column, trainer.collector.row, np.asarray(trainer.z[0])
        trainer.turn()
        if column > trainer.plan.prefill:
            changed = (np.asarray(trainer.z[0]) != before).all(-1)
            due = [(column + offset) % 20 == 0 for offset in (0, 5, 10, 15)]
            assert changed.tolist() == (np.array(due) | row.first[0]).tolist()
            firsts += int(row.first.sum())
    assert firsts > 0


# ---- by hand, before anything is learnt ---------------------------------------------------------


def test_safe_states_become_skills_and_unsafe_ones_do_not(monkeypatch):
    """Along y a point is unsafe above 0.5 m/s: at full speed after two steps, not after one."""
    robots = {"robots": 2, "prefill": 64, "length": 2, "steps_per_update": 2}
    config = replace(SHORT, train=replace(SHORT.train, steps=192, **robots))
    monkeypatch.setattr(Collector, "random", lambda *_: np.array([[0.0, 1.0], [1.0, 0.0]]))
    trainer = Trainer(config)
    for _ in range(4):
        trainer.turn()
    assert trainer.updates == 0
    repertoire = trainer.learner.law.repertoire
    assert int(repertoire.filled[0]) == 6
    wanted = [(0, 0), (0, 0), (0, 0.393469), (0.393469, 0), (0.632121, 0), (0.776870, 0)]
    np.testing.assert_allclose(repertoire.posture[0, :6], wanted, atol=1e-6)
    np.testing.assert_allclose(repertoire.skill[0, :6], wanted, atol=1e-6)


def test_an_action_is_chosen_by_the_new_skill():
    trainer = Trainer(SHORT)
    learner = jax.tree.map(lambda leaf: leaf[0], trainer.learner)
    carry = jax.tree.map(lambda leaf: leaf[0], trainer.carry)
    row, z = jax.tree.map(jnp.asarray, trainer.collector.row), jnp.full((4, 2), 0.25)

    def chosen(z, renew):
        here = (row.observation[0], row.first[0], jnp.asarray(renew), jnp.asarray(7, jnp.int32))
        return choose(trainer.plan, mind(learner), carry, z, *here)[1:]

    kept, old = chosen(z, [False] * 4)
    np.testing.assert_array_equal(kept, z)
    mixed, action = chosen(z, [True, False, True, False])
    np.testing.assert_array_equal(mixed[1::2], z[1::2])
    assert (mixed[::2] != z[::2]).all()
    np.testing.assert_array_equal(action[1::2], old[1::2])
    assert (action[::2] != old[::2]).any(-1).all()
    np.testing.assert_array_equal(action, chosen(mixed, [False] * 4)[1])
