"""The actor stands still: the gate does not follow, is silent or late, or the ring is full."""

import numpy as np
import pytest

from live.puppets import Puppet
from live.walks import LAYOUT, Scripted, actor_on, rows, told, walked
from ursa.gate.modes import Mode
from ursa.gate.wired import Wired
from ursa.live.actor import Actor
from ursa.log import record
from ursa.log.record import Mark
from ursa.log.rows import left_out
from ursa.shared import ring


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
