"""The actor: what it senses, what it wishes, which rows it leaves, when it stands still."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from live.puppets import TICK, Puppet, states
from ursa.env.arena import Arena, arena
from ursa.gate import wired
from ursa.gate.modes import Mode
from ursa.gate.wired import Wired
from ursa.live import arena as floor
from ursa.live.actor import Actor
from ursa.live.homeward import Script
from ursa.live.riser import Riser
from ursa.log import record
from ursa.log.record import Layout, Mark
from ursa.log.rows import left_out
from ursa.robot import gait
from ursa.robot.a1 import A1
from ursa.robot.getup import Rise, advance
from ursa.robot.legged import LeggedBody
from ursa.shared import ring
from ursa.task import registry as tasks
from ursa.types import Sizes

STEPS = 24
ON_ITS_BACK = np.array([0.0, 1.0, 0.0, 0.0])
TASK = tasks.task("forward", A1)
LAYOUT = Layout(sizes=Sizes(observation=34, action=12, posture=len(TASK.posture_names)), skill=2)
FELT = ("observation", "reward", "cost", "posture", "safe")


@cache
def walk():
    """An A1 that trots in simulation at the gate's tick: actions, outcomes, ticks, targets."""
    place = arena("a1", TASK, 1, tick=TICK)
    engine, ticks, targets = place.body.engine, [], []
    advance = engine.advance

    def kept(target):
        found = advance(target)
        ticks.append(type(found)(**{name: it.copy() for name, it in vars(found).items()}))
        targets.append(target[0, -1].copy())
        return found

    engine.advance = kept
    begun = engine.look()
    ticks.append(type(begun)(**{name: it.copy() for name, it in vars(begun).items()}))
    outcomes = [place.start()]
    actions = [np.clip(gait.trot(A1, step), -1, 1) for step in range(STEPS)]
    for action in actions:
        outcomes.append(place.step(action[None]))
    return actions, outcomes, ticks, targets


def told(packets):
    return [states(ticks, packets) for ticks in walk()[2]]


class Scripted:
    """A pilot that does what the walk did; `known` as if a policy had been published."""

    class Known:
        version, skills = 3, np.array([[0.5, -0.5], [1.0, 2.0]], np.float32)

    def __init__(self, bad=()):
        self.known, self.refused, self.step, self.firsts = self.Known, 0, 0, []
        self.bad, self.done = bad, []

    def take(self): ...

    def act(self, observation, first, z, number):
        self.firsts.append(first)
        self.step += 1
        return None if self.step - 1 in self.bad else walk()[0][(self.step - 1) % STEPS]

    def did(self, action):
        self.done.append(action)


def actor_on(puppet, tmp_path, pilot, slots=64, **options):
    path = tmp_path / "ring"
    if not path.exists():
        ring.create(path, slots=slots, size=LAYOUT.kind.size, first=0)
    engine = Wired(A1, TICK, puppet, puppet, puppet)
    engine.told = puppet.newest()
    writer = ring.Writer(path)
    body = LeggedBody(engine)
    place = Arena(body, TASK, radius=None)
    settings = {"seed": 0, "skill_period": 5, **options}
    return Actor(place, pilot, writer, LAYOUT, **settings)


def rows(actor):
    """The rows in the ring so far."""
    found = [actor.writer.record(number) for number in range(actor.writer.next)]
    return record.unpack(LAYOUT, found)


def walked(tmp_path, packets, steps=STEPS):
    """The rows of an actor that does what the walk did, on what the walk's sensors said."""
    puppet = Puppet(told(packets))
    pilot = Scripted()
    actor = actor_on(puppet, tmp_path, pilot)
    actor._outcome = actor.arena.start()  # follows at once: the first state is the walk's first
    for _ in range(steps):
        actor.turn()
    return actor, puppet, rows(actor)


def worst(felt, packets):
    """The largest difference between rows and lock-step's outcomes, by field."""
    outcomes = walk()[1]
    return {
        name: max(
            np.abs(
                np.asarray(getattr(felt.row, name)[index, 0], float)
                - np.asarray(getattr(outcomes[index], name)[0], float)
            ).max()
            for index in range(len(felt.row.reward))
        )
        for name in FELT
    }


def test_the_actor_feels_exactly_what_lock_step_feels_on_the_same_sensors(tmp_path):
    _, _, felt = walked(tmp_path, packets=False)
    assert len(felt.row.reward) == STEPS
    off = worst(felt, packets=False)
    assert off["observation"] == 0.0  # float32 on both sides
    assert off["reward"] < 1e-6  # stored as float32
    assert off["cost"] < 1e-6
    assert off["posture"] < 1e-6
    assert off["safe"] == 0.0


def test_through_the_bytes_of_the_wire_it_feels_the_same_to_three_digits(tmp_path):
    """float32 angles, torque in steps of 1/256 N m: the packet rounds."""
    _, _, felt = walked(tmp_path, packets=True)
    off = worst(felt, packets=True)
    assert off["observation"] < 1e-3
    assert off["reward"] < 1e-3
    assert off["cost"] < 1e-4
    assert off["posture"] < 1e-4
    assert off["safe"] == 0.0


def test_an_actor_that_sees_only_the_newest_state_would_feel_something_else(tmp_path, monkeypatch):
    """Sabotage: the estimator needs every cycle of the gate, not one in twenty-five."""
    whole = wired._ticks
    monkeypatch.setattr(wired, "_ticks", lambda spec, states: whole(spec, states[-1:]))
    _, _, felt = walked(tmp_path, packets=False)
    assert worst(felt, packets=False)["observation"] > 0.01


def test_its_wishes_are_the_joint_targets_of_lock_step(tmp_path):
    _, puppet, _ = walked(tmp_path, packets=False)
    targets = walk()[3]
    assert len(puppet.wishes) == STEPS
    for wish, target in zip(puppet.wishes, targets, strict=True):
        np.testing.assert_array_equal(wish, target)


def test_rows_say_which_action_skill_and_policy_led_there(tmp_path):
    _, _, felt = walked(tmp_path, packets=False)
    actions = np.array(walk()[0], np.float32)
    np.testing.assert_array_equal(felt.row.action[1:, 0], actions[: STEPS - 1])
    assert felt.row.first[:, 0].tolist() == [True] + [False] * (STEPS - 1)
    assert felt.policy.tolist() == [0] + [3] * (STEPS - 1)
    assert felt.marks.tolist() == [0] * STEPS
    changed = [n for n in range(2, STEPS) if (felt.skill[n] != felt.skill[n - 1]).any()]
    assert all((n - 1) % 5 == 0 for n in changed)  # kept for the five steps of the period
    assert {tuple(z) for z in felt.skill[1:].tolist()} <= {(0.5, -0.5), (1.0, 2.0)}


def test_before_the_first_policy_it_acts_by_chance_that_follows_from_seed_and_number(tmp_path):
    puppet, pilot = Puppet(told(False)), Scripted()
    pilot.known = None
    actor = actor_on(puppet, tmp_path, pilot)
    for _ in range(6):
        actor.turn()
    felt = rows(actor)
    wanted = [gait.random(A1, number, 0) for number in range(5)]
    np.testing.assert_allclose(felt.row.action[1:, 0], np.array(wanted), atol=1e-6)
    assert felt.policy.tolist() == [0] * 6
    assert (felt.skill == 0).all()


def test_the_recurrent_state_is_cleared_only_where_a_sequence_begins(tmp_path):
    puppet, pilot = Puppet(told(False)), Scripted()
    actor = actor_on(puppet, tmp_path, pilot)
    for _ in range(12):  # over two changes of skill
        actor.turn()
    assert pilot.firsts == [True] + [False] * 11


def held_up(tmp_path, mode):
    """Six steps, three periods in another mode, six more; the actor, and its rows."""
    puppet, pilot = Puppet(told(False)), Scripted()
    actor = actor_on(puppet, tmp_path, pilot)
    for _ in range(6):
        actor.turn()
    puppet.mode = mode
    for _ in range(3):
        actor.turn()
    puppet.mode = Mode.RUN
    for _ in range(6):
        actor.turn()
    return actor, pilot, puppet, rows(actor)


@pytest.mark.parametrize("mode", [Mode.HOLD, Mode.FAULT, Mode.STAND, Mode.DAMP, Mode.LIE_DOWN])
def test_after_the_gate_stepped_in_a_sequence_begins(tmp_path, mode):
    actor, pilot, _, felt = held_up(tmp_path, mode)
    begins = np.flatnonzero(felt.row.first[:, 0]).tolist()
    marked = np.flatnonzero(felt.marks == Mark.INTERVENTION).tolist()
    assert len(begins) == 2
    assert marked == [begins[1] - 1]  # the step in which it happened, and no other
    assert np.flatnonzero(pilot.firsts).tolist() == [0, begins[1] - 1]
    assert left_out(felt).tolist() == [n in marked for n in range(len(felt.marks))]
    assert actor.counts["interventions"] == 1


def test_an_actor_blind_to_the_mode_would_learn_from_what_the_gate_did(tmp_path, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Wired, "_wrong", lambda self, heard, now, late: "")
    _, _, _, felt = held_up(tmp_path, Mode.HOLD)
    assert not felt.marks.any()
    assert felt.row.first.sum() == 1


def test_while_the_gate_does_not_follow_the_wish_is_to_stay(tmp_path):
    puppet = Puppet(told(False))
    actor = actor_on(puppet, tmp_path, Scripted())
    for _ in range(4):
        actor.turn()
    puppet.mode = Mode.HOLD
    actor.turn()
    count = actor.writer.next
    for _ in range(3):
        stay = puppet.newest().target
        actor.turn()
        np.testing.assert_array_equal(puppet.wishes[-1], stay)
    assert actor.writer.next == count  # waiting leaves no rows


def test_a_silent_gate_is_no_step_to_learn_from(tmp_path):
    puppet, pilot = Puppet(told(False)), Scripted()
    actor = actor_on(puppet, tmp_path, pilot)
    for _ in range(4):
        actor.turn()
    puppet.silent = True
    actor.turn()
    assert actor.engine.trouble == "0 cycles of the gate"
    assert rows(actor).marks.tolist()[-1] == Mark.INTERVENTION
    count = actor.writer.next
    actor.turn()
    assert actor.writer.next == count  # nor does it go on without news


def test_a_step_that_came_too_late_is_not_learnt_from(tmp_path):
    puppet, pilot = Puppet(told(False)), Scripted()
    actor = actor_on(puppet, tmp_path, pilot)
    for _ in range(4):
        actor.turn()
    puppet.lag = 0.2
    actor.turn()
    assert actor.engine.trouble.startswith("late by 0.2")
    assert rows(actor).marks.tolist()[-1] == Mark.INTERVENTION


def filled(tmp_path, slots=8):
    """An actor whose recorder has died: nothing leaves the ring."""
    puppet, pilot = Puppet(told(False)), Scripted()
    actor = actor_on(puppet, tmp_path, pilot, slots=slots)
    for _ in range(20):
        actor.turn()
    return actor


def test_it_stands_still_before_the_ring_is_full_and_goes_on_when_there_is_room(tmp_path):
    actor = filled(tmp_path)
    assert 4 < actor.writer.next <= 6  # more than half of 8
    assert actor.counts["refused"] == 0
    assert actor.counts["pauses"] == 1
    reader = ring.Reader(tmp_path / "ring")
    reader.release(actor.writer.next)
    before = actor.writer.next
    actor.turn()
    actor.turn()
    assert actor.writer.next > before
    first = record.unpack(LAYOUT, [actor.writer.record(before)]).row.first
    assert first.tolist() == [[True]]
    reader.close()


def test_a_row_that_the_ring_refused_parts_the_sequence(tmp_path, monkeypatch):
    monkeypatch.setattr(Actor, "_paused", lambda self: False)  # so that it runs into the wall
    actor = filled(tmp_path)
    assert actor.counts["refused"] > 0
    reader = ring.Reader(tmp_path / "ring")
    reader.release(actor.writer.next)
    actor.turn()
    number = actor.writer.next - 1
    assert record.unpack(LAYOUT, [actor.writer.record(number)]).row.first.tolist() == [[True]]
    actor.turn()
    assert record.unpack(LAYOUT, [actor.writer.record(number + 1)]).row.first.tolist() == [[False]]
    reader.close()


def test_another_actor_on_the_same_ring_begins_a_sequence(tmp_path):
    actor, _, _ = walked(tmp_path, packets=False, steps=5)
    actor.writer.close()
    second = actor_on(Puppet(told(False)), tmp_path, Scripted())
    assert second.writer.next == 5
    second.turn()
    assert rows(second).row.first[:, 0].tolist() == [True, False, False, False, False, True]


def test_a_policy_that_gives_no_number_moves_nothing(tmp_path):
    puppet, pilot = Puppet(told(False)), Scripted(bad=(3,))
    actor = actor_on(puppet, tmp_path, pilot)
    for _ in range(8):
        actor.turn()
    assert all(np.isfinite(wish).all() for wish in puppet.wishes)
    felt = rows(actor)
    assert np.flatnonzero(felt.row.first[:, 0]).tolist() == [0, 4]


def strayed(tmp_path, spots, **options):
    """An actor in a watched arena of 2 m with a margin of 0.5 m, at one place after another."""
    puppet, pilot = Puppet(told(False)), Scripted()
    disc = floor.Arena(radius=2.0, margin=0.5)
    puppet.at(*spots[0])
    actor = actor_on(puppet, tmp_path, pilot, disc=disc, home=Script(A1, disc), **options)
    for spot in spots:
        puppet.at(*spot)
        actor.turn()
    return actor, pilot, puppet


def test_beyond_the_margin_it_walks_home_until_it_is_well_inside(tmp_path):
    spots = [(0.0, 0.0)] * 3 + [(1.6, 0.0)] * 3 + [(1.0, 0.0)] * 3 + [(0.5, 0.0)] * 3
    actor, pilot, _ = strayed(tmp_path, spots)
    felt = rows(actor)
    marked = np.flatnonzero(felt.marks == Mark.HOMING).tolist()
    assert marked == list(range(marked[0], marked[0] + 6))  # out at 1.6, back below 0.75
    assert actor.homing.count == 1
    assert len(pilot.done) == 6  # the policy knows what was done instead
    for number in marked:
        assert felt.policy[number] == 0
    np.testing.assert_allclose(felt.row.action[marked[0], 0], pilot.done[0], atol=1e-6)
    assert felt.row.first.sum() == 1  # the body's way is one way


def test_without_a_pose_source_it_would_walk_away(tmp_path, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Actor, "_strayed", lambda self: False)
    actor, pilot, _ = strayed(tmp_path, [(0.0, 0.0)] * 3 + [(1.6, 0.0)] * 3)
    assert not rows(actor).marks.any()
    assert not pilot.done


def lying(tmp_path, wait):
    """Eleven steps of an actor whose robot says that it lies on its back."""
    states = [[replace(state, quaternion=ON_ITS_BACK) for state in step] for step in told(False)]
    pilot = Scripted()
    actor = actor_on(Puppet(states), tmp_path, pilot, riser=Riser(A1, wait))
    for _ in range(11):
        actor.turn()
    return actor, pilot, rows(actor)


def test_a_fallen_robot_gets_up_by_script_and_such_rows_are_marked(tmp_path):
    actor, pilot, felt = lying(tmp_path, wait=0.25)  # five steps
    rising = np.flatnonzero(felt.marks == Mark.RISING).tolist()
    assert rising == [6, 7, 8, 9, 10]  # what the sixth choice led to, and on
    assert actor.riser.count == 1
    rise, wanted = Rise(), []
    for _ in range(6):  # the sixth is under way
        rise, action = advance(A1, rise, np.array([0.0, 0.0, -1.0]))
        wanted.append(action)
    np.testing.assert_array_equal(pilot.done, wanted)
    np.testing.assert_allclose(felt.row.action[6:, 0], np.array(wanted[:5]), atol=1e-6)
    assert felt.policy[6:].tolist() == [0] * 5
    assert felt.row.first.sum() == 1
    assert not left_out(felt).any()  # learnt from, but see tests/live/test_learning.py


def test_one_that_is_told_never_to_lies_there(tmp_path):
    """Sabotage."""
    actor, pilot, felt = lying(tmp_path, wait=0.0)
    assert not felt.marks.any()
    assert not pilot.done
    assert actor.riser.count == 0


def test_the_way_home_begins_with_the_first_step_of_a_trot(tmp_path):
    disc, puppet = floor.Arena(radius=2.0, margin=0.5), Puppet(told(False))
    puppet.at(1.6, 0.0, np.pi)  # looks at the middle
    script, seen = Script(A1, disc), np.zeros((1, 34))
    for _ in range(2):
        script.begin()
        walk_home = [script(seen, puppet.pose) for _ in range(20)]
        np.testing.assert_allclose(walk_home, [gait.trot(A1, step) for step in range(20)])


def test_a_robot_that_nobody_sees_any_more_stands_still(tmp_path):
    actor, _, puppet = strayed(tmp_path, [(0.0, 0.0)] * 4)
    count = actor.writer.next
    puppet.pose = None
    for _ in range(5):
        actor.turn()
    assert actor.writer.next == count + 2  # where it was, and where it has got to
    assert actor.counts["lost"] == 1  # once, however long
