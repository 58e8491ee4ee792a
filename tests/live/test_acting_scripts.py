"""The actor does what a script says: on the way home, and while it gets up."""

from dataclasses import replace

import numpy as np

from live.puppets import Puppet
from live.walks import Scripted, actor_on, rows, told
from ursa.gate.modes import Mode
from ursa.live import acting
from ursa.live import arena as floor
from ursa.live.actor import Actor
from ursa.live.homeward import Script
from ursa.live.riser import Riser
from ursa.log.record import Mark
from ursa.log.rows import left_out
from ursa.robot import gait
from ursa.robot.a1 import A1
from ursa.robot.getup import Rise, advance

ON_ITS_BACK = np.array([0.0, 1.0, 0.0, 0.0])


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


def pushing(tmp_path, longest=0.5):
    """An actor that has walked home for half a second, which is ten steps, and is not there."""
    actor, pilot, puppet = strayed(tmp_path, [(0.0, 0.0)] * 2 + [(1.6, 0.0)] * 16, longest=longest)
    return actor, pilot, puppet


def test_one_that_does_not_get_home_stands_still_and_asks_for_a_hand(tmp_path):
    actor, pilot, puppet = pushing(tmp_path)
    assert len(pilot.done) == 11  # the first beyond half a second is the last
    assert actor.counts["stuck"] == 1  # once, however long
    said = "0.5 s on its way home and not there: stop it, carry it to the middle, acknowledge"
    assert acting.said(actor)["asks"] == said
    stay = puppet.newest().target
    puppet.at(0.0, 0.0)  # carried while it stands stiffly: it does not begin in somebody's hands
    actor.turn()
    np.testing.assert_array_equal(puppet.wishes[-1], stay)
    assert actor.asks == said
    puppet.mode = Mode.HOLD  # something else held it for a moment
    actor.turn()
    puppet.mode = Mode.RUN
    actor.turn()
    assert actor.asks == said


def test_stopped_carried_and_acknowledged_it_goes_on(tmp_path):
    actor, _, puppet = pushing(tmp_path)
    count = actor.writer.next
    puppet.mode = Mode.FAULT
    actor.turn()
    puppet.at(0.0, 0.0)
    puppet.mode = Mode.RUN
    for _ in range(3):
        actor.turn()
    assert actor.writer.next > count
    assert (actor.asks, actor.homing.active, actor.counts["stuck"]) == ("", False, 1)


def test_one_that_does_not_count_would_push_for_ever(tmp_path, monkeypatch):
    """Sabotage."""
    follow = floor.follow

    def forgetful(*words):
        return replace(follow(*words), lasted=0)

    monkeypatch.setattr(floor, "follow", forgetful)
    actor, pilot, _ = pushing(tmp_path)
    assert len(pilot.done) == 15  # every step but the first, which had not heard where it is
    assert (actor.asks, actor.counts["stuck"]) == ("", 0)


def test_who_is_home_in_time_is_not_stuck_however_often_it_goes(tmp_path):
    spots = ([(1.6, 0.0)] * 9 + [(0.0, 0.0)]) * 4
    actor, _, _ = strayed(tmp_path, spots, longest=0.5)
    assert (actor.homing.count, actor.counts["stuck"]) == (4, 0)


def interrupted(tmp_path, forget=True):
    """Rows of an actor whose robot lies for four steps, is held, and lies for four more."""
    states = [[replace(state, quaternion=ON_ITS_BACK) for state in step] for step in told(False)]
    puppet = Puppet(states)
    actor = actor_on(puppet, tmp_path, Scripted(), riser=Riser(A1, 0.25))  # five steps
    if not forget:
        actor.riser.forget = lambda: None
    for mode in (Mode.RUN,) * 4 + (Mode.HOLD,) * 2 + (Mode.RUN,) * 5:
        puppet.mode = mode
        actor.turn()
    return actor.riser.count


def test_after_the_gate_stepped_in_a_fallen_robot_has_all_its_time_again(tmp_path):
    assert interrupted(tmp_path) == 0


def test_an_actor_that_does_not_begin_to_watch_anew_would_get_it_up_at_once(tmp_path):
    """Sabotage."""
    assert interrupted(tmp_path, forget=False) == 1


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
    assert not left_out(felt).any()  # learnt from, but see tests/live/test_learning_rows.py


def test_one_that_is_told_never_to_lies_there(tmp_path):
    """Sabotage."""
    actor, pilot, felt = lying(tmp_path, wait=0.0)
    assert not felt.marks.any()
    assert not pilot.done
    assert actor.riser.count == 0
