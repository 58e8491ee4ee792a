"""Two machines with one protection removed: each check of `test_carrying*.py` fails on that."""

from contextlib import closing, suppress
from dataclasses import replace

from live.carriers import KEY, LIVE, begun
from live.machines import carried
from log.logs import LAYOUT, served, step
from ursa.channel import carrier, channel
from ursa.channel.carrier import Broken, Kind, Unwanted
from ursa.live import carrying
from ursa.live import settings as living
from ursa.live.carrying import Carrying
from ursa.live.desk import Desk
from ursa.live.replica import Replica
from ursa.log.ledger import Ledger, Refused
from ursa.log.record import Layout
from ursa.shared import place

# ---- after a break ------------------------------------------------------------------------------


def after_a_break(machines):
    """How many rows are at the learner's when the cable was out between two and two more."""
    machines.record(2)
    robot, _ = carried(machines)
    machines.desk._channel.close()
    machines.record(2)
    with closing(robot):
        for tick in range(20):
            robot.turn(tick * 0.5)
    return machines.replica.end


def test_after_a_break_all_rows_arrive(machines):
    assert after_a_break(machines) == 4


def test_a_robot_that_does_not_call_again_would_not_go_on(machines, monkeypatch):
    monkeypatch.setattr(carrying, "AGAIN", float("inf"))
    assert after_a_break(machines) == 2


def test_a_robot_that_remembers_what_it_sent_would_not_go_on(machines, monkeypatch):
    """It goes on from its own count, not from where the copy says it ends."""
    greet = Carrying._greet

    def proud(self, channel_):
        again = self.worked
        greet(self, channel_)
        self.end = self._shelf.refresh() if again else self.end

    monkeypatch.setattr(Carrying, "_greet", proud)
    assert after_a_break(machines) < 4


# ---- a full disk at the learner's ---------------------------------------------------------------


def on_a_full_disk(machines, monkeypatch):
    """What the robot believes that the learner has, and what it has, on a disk without room."""
    machines.record(3)
    robot, _ = carried(machines)
    real = Ledger.commit

    def full(self, first, records):
        if self._folder == machines.copy:
            raise Refused("no room")
        return real(self, first, records)

    with monkeypatch.context() as patch, closing(robot):
        patch.setattr(Ledger, "commit", full)
        machines.record(3)
        for tick in range(3):
            robot.turn(tick * 100.0)
        believed, why = robot.end, robot.why
    return believed, served(machines.copy, LAYOUT.kind)[2], why


def test_a_learner_without_room_says_so_and_nothing_counts(machines, monkeypatch):
    assert on_a_full_disk(machines, monkeypatch) == (3, 3, "")


def test_a_learner_that_swallows_the_refusal_would_lose_rows(machines, monkeypatch):
    def careless(self, payload):
        _, first, records = carrier.unrows(payload, LAYOUT.kind.size)
        with suppress(Refused):
            self.commit(first, records)
        self._ledger.end = first + len(records)
        return ""

    monkeypatch.setattr(Replica, "_take", careless)
    believed, stored, _ = on_a_full_disk(machines, monkeypatch)
    assert believed > stored


def test_a_learner_that_does_not_expect_it_would_break_every_time(machines, monkeypatch):
    monkeypatch.setattr("ursa.live.replica.Refused", KeyError)
    assert on_a_full_disk(machines, monkeypatch)[2] != ""


# ---- rows before a hello ------------------------------------------------------------------------


def unasked(machines):
    """Rows at the learner's after somebody with the key sent one without a word of greeting."""
    carried(machines)[0].close()
    channel_ = channel.call(machines.door.address, KEY)
    channel_.tell(Kind.ROWS, carrier.rows(0, 0, [step(77)]))
    with suppress(Broken):
        channel_.hear(1000)
    channel_.close()
    return machines.replica.end


def test_rows_before_a_hello_are_not_taken(machines):
    assert unasked(machines) == 0


def test_a_desk_that_asks_for_no_hello_would_take_them(machines, monkeypatch):
    greet = Desk._greet

    def welcoming(self, channel_, kind, payload):
        if kind is Kind.HELLO:
            greet(self, channel_, kind, payload)
        else:
            channel_.tell(*self._replica.answer(kind, payload))

    monkeypatch.setattr(Desk, "_greet", welcoming)
    assert unasked(machines) == 1


# ---- the copy is a beginning of the log ---------------------------------------------------------


def put_back(machines):
    """Whether the copy of five rows is still one of this robot, whose log went another way."""
    machines.record(5)
    carried(machines)[0].close()
    machines.forget()
    with closing(Ledger(machines.robot, LAYOUT.kind)) as ledger:
        ledger.commit(0, [step(number) for number in (0, 1, 2, 30, 40, 50, 60)])
        with closing(machines.carrying()) as robot, suppress(Unwanted):
            robot.turn(0.0)
    rows = served(machines.copy, LAYOUT.kind)[0]
    return rows == {number: step(number) for number in range(5)}


def test_a_copy_of_another_way_is_left_as_it_is(machines):
    assert put_back(machines)


def test_without_the_look_at_its_last_row_two_ways_would_be_mixed(machines, monkeypatch):
    monkeypatch.setattr(Carrying, "_refuse_other", lambda self, welcome: None)
    assert not put_back(machines)


# ---- layout -------------------------------------------------------------------------------------


def of_another_layout(machines, monkeypatch):
    """Whether the copy is what it was after a robot with wider rows has called."""
    monkeypatch.setattr(place, "origin", lambda folder: "the same")
    machines.record(2)
    carried(machines)[0].close()
    before = (machines.copy / living.NAME).read_bytes()
    wide = replace(LIVE, observation=4)
    other = begun(machines.robot.parent / "other", wide)
    with closing(machines.carrying(folder=other, live=wide)) as robot, suppress(Unwanted):
        robot.turn(0.0)
    place.forget(other)
    rows = served(machines.copy, LAYOUT.kind)[0]
    same = (machines.copy / living.NAME).read_bytes() == before
    return same and rows == {number: step(number) for number in range(2)}


def test_a_copy_of_another_layout_is_left_as_it_is(machines, monkeypatch):
    assert of_another_layout(machines, monkeypatch)


def test_without_the_comparison_of_layouts_its_settings_would_be_replaced(machines, monkeypatch):
    monkeypatch.setattr(Layout, "__eq__", lambda self, other: True)
    assert not of_another_layout(machines, monkeypatch)
