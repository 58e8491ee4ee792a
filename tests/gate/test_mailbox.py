"""Messages in shared memory arrive whole, orders are taken in once, and both outlive the sender."""

import numpy as np
import pytest

from gate.gated import STANDING, said
from ursa.errors import UserError
from ursa.gate import mailbox
from ursa.gate.mailbox import Listener, Orderer, Orders, Teller, Told, Wisher, Wishes
from ursa.gate.modes import Counts, Event, Kind, Level, Mode, Order
from ursa.shared import pulse, slots

SIZE = 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run whose shared memory lies in its own folder."""
    monkeypatch.setattr("ursa.shared.place.MEMORY", tmp_path / "none")
    mailbox.create(tmp_path)
    return tmp_path


def message(number):
    return bytes([number % 251]) * SIZE


@pytest.fixture
def box(tmp_path):
    path = tmp_path / "box"
    slots.prepare(path, b"ursatest", slots=4, size=SIZE)
    return path


def torn(box, monkeypatch):
    """How many of all places at which a writer can die leave a reader with half a message."""
    real, found = slots.write, 0
    writer = slots.Writer(box, b"ursatest")
    reader = slots.Reader(box, b"ursatest")
    for number in range(1, 10):  # more than twice around
        writer.put(message(number))
    before = reader.newest()
    assert before == (9, message(9))
    whole = slots.HEAD.size + SIZE
    for cut in range(whole + 1):
        with monkeypatch.context() as patch:
            patch.setattr(slots, "write", lambda m, s, data, cut=cut: real(m, s, data[:cut]))
            writer.put(message(10))
        writer.number = 9  # it died within that; the next one begins from what can be read
        writer._mapped.words[slots.NEWEST] = 9
        seen = reader.newest()
        found += seen not in (before, (10, message(10)))
    reader.close()
    writer.close()
    return found


def test_a_writer_that_dies_within_a_message_has_said_nothing(box, monkeypatch):
    assert torn(box, monkeypatch) == 0


def test_without_a_checksum_half_a_message_would_pass(box, monkeypatch):
    monkeypatch.setattr(slots, "checksum", lambda number, data: 0)
    # The lowest byte of the number comes first: from there on until the last byte of the message.
    assert torn(box, monkeypatch) == 16 + SIZE - 1


def test_the_next_writer_goes_on_after_the_last_whole_message(box):
    first = slots.Writer(box, b"ursatest")
    first.put(message(1))
    with pytest.raises(UserError, match="is in use by process"):
        slots.Writer(box, b"ursatest")
    first.close()
    second = slots.Writer(box, b"ursatest")
    assert second.put(message(2)) == 2
    second.close()


def test_a_message_is_found_although_its_writer_died_before_it_said_so(box):
    writer = slots.Writer(box, b"ursatest")
    writer.put(message(1))
    writer.put(message(2))
    writer._mapped.words[slots.NEWEST] = 1
    assert writer.newest() == (2, message(2))
    writer._mapped.words[slots.NEWEST] = 77  # and any other nonsense is only a hint
    assert writer.newest() == (2, message(2))
    writer.close()


def test_a_reader_gets_what_was_said_since_but_no_more_than_is_kept(box):
    writer, reader = slots.Writer(box, b"ursatest"), slots.Reader(box, b"ursatest")
    for number in range(1, 8):
        writer.put(message(number))
    assert [number for number, _ in reader.since(5)] == [6, 7]
    assert [number for number, _ in reader.since(0)] == [4, 5, 6, 7]  # of four slots
    reader.close()
    writer.close()


def test_slots_that_fit_are_kept_and_others_are_made_anew(box):
    writer = slots.Writer(box, b"ursatest")
    writer.put(message(1))
    writer.close()
    slots.prepare(box, b"ursatest", slots=4, size=SIZE)
    reader = slots.Reader(box, b"ursatest")
    assert reader.newest() == (1, message(1))
    reader.close()
    slots.prepare(box, b"ursatest", slots=4, size=SIZE + 1)
    reader = slots.Reader(box, b"ursatest")
    assert reader.newest() is None
    reader.close()


def told(cycle, **changes):
    plain = {"cycle": cycle, "now": cycle / 500, "mode": Mode.RUN, "since": 0.5}
    return Told(**{**plain, **changes})


def test_what_the_gate_tells_arrives_as_it_was(folder):
    counts = Counts().add((Event(Kind.TILT, Level.COUNT), Event(Kind.STOP, Level.FAULT)))
    sent = told(
        7,
        mode=Mode.FAULT,
        fault="stop by order",
        state=said(3, battery=0.5, remote=bytes(range(40))),
        fresh=True,
        heard=0.012,
        target=STANDING + 0.1,
        ready=True,
        pose=mailbox.Pose(x=1.0, y=-2.0, yaw=0.5, time=0.01),
        counts=counts,
    )
    mouth, ears = Teller(folder), Listener(folder)
    mouth.tell(sent)
    found = ears.newest()
    assert (found.cycle, found.now, found.mode, found.fault) == (7, 0.014, Mode.FAULT, sent.fault)
    assert (found.fresh, found.heard, found.ready, found.pose) == (True, 0.012, True, sent.pose)
    assert found.counts == counts
    assert (found.target == STANDING + 0.1).all()
    for name, value in vars(sent.state).items():
        assert np.array_equal(getattr(found.state, name), value), name
    mouth.close()
    ears.close()


def test_what_is_not_known_arrives_as_not_known(folder):
    mouth, ears = Teller(folder), Listener(folder)
    assert ears.newest() is None
    mouth.tell(told(1, state=said(3)))
    found = ears.newest()
    assert found.target is None
    assert found.pose is None
    assert found.state.battery is None
    mouth.tell(told(2))
    assert ears.newest().state is None
    mouth.close()
    ears.close()


def test_an_actor_can_read_every_cycle_since_its_last_step(folder):
    mouth, ears = Teller(folder), Listener(folder)
    for cycle in range(1000, 1060):
        mouth.tell(told(cycle))
    assert [each.cycle for each in ears.since(1034)] == list(range(1035, 1060))
    mouth.close()
    again = Teller(folder)
    assert again.last.cycle == 1059
    again.close()
    ears.close()


def test_wishes_of_a_second_actor_are_newer_than_those_of_the_first(folder):
    ears = Wishes(folder)
    assert ears.newest() is None
    for expected in (1, 2, 3):
        mouth = Wisher(folder)
        mouth.wish(STANDING * expected, now=0.05 * expected)
        mouth.close()
        found = ears.newest()
        assert (found.sequence, found.time) == (expected, 0.05 * expected)
        assert (found.angle == STANDING * expected).all()
    ears.close()


def test_each_order_is_taken_in_once_and_in_turn(folder):
    desk, hand = Orderer(folder, "supervisor"), Orderer(folder, "operator")
    ears = Orders(folder)
    desk.order(Order.STAND)
    number = desk.order(Order.RUN)
    stop = hand.order(Order.STOP)
    assert ears.waiting() == (Order.STAND, Order.RUN, Order.STOP)
    assert not desk.done(number)
    assert not hand.done(stop)
    ears.obeyed()
    assert desk.done(number)
    assert hand.done(stop)
    assert ears.waiting() == ()
    for each in (desk, hand, ears):
        each.close()


def test_a_stop_that_no_gate_lived_to_obey_reaches_the_next_one(folder):
    hand, first = Orderer(folder, "operator"), Orders(folder)
    hand.order(Order.STAND)
    hand.order(Order.STOP)
    assert first.waiting() == (Order.STAND, Order.STOP)
    first.close()  # killed before it said `obeyed`
    second = Orders(folder)
    assert second.waiting() == (Order.STOP,)  # a wish to move from before is void
    second.obeyed()
    third = Orders(folder)
    assert third.waiting() == ()
    for each in (hand, second, third):
        each.close()


def test_a_gate_that_obeys_before_it_acts_would_lose_that_stop(folder, monkeypatch):
    real = Orders.waiting

    def hasty(self):
        found = real(self)
        self.obeyed()
        return found

    monkeypatch.setattr(Orders, "waiting", hasty)
    hand, first = Orderer(folder, "operator"), Orders(folder)
    hand.order(Order.STOP)
    first.waiting()
    first.close()
    second = Orders(folder)
    assert second.waiting() == ()
    second.close()
    hand.close()


def test_a_pulse_tells_who_lives_and_how_far_it_is(folder):
    assert pulse.last(folder, "learner") is None
    pulse.create(folder, "learner")
    assert pulse.last(folder, "learner") is None
    first = pulse.Pulse(folder, "learner")
    first.beat(3, loss=0.5)
    first.beat(4, loss=0.25)
    found = pulse.last(folder, "learner")
    assert (found.number, found.progress, found.said) == (2, 4, {"loss": 0.25})
    with pytest.raises(UserError, match="in use"):
        pulse.Pulse(folder, "learner")
    first.beat(5, story="x" * 2000)  # too long to tell, still alive
    assert pulse.last(folder, "learner").progress == 5
    first.close()
