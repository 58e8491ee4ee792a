"""A robot that is out of touch: a person looks before it stands up; and nobody waits for ever."""

from dataclasses import replace

import jaxtyping
import numpy as np
import pytest

from gate.gated import PERIOD, at, is_limp, said
from live.silent import DEAD, Robot
from live.stacked import BRISK, TESTS, live_of
from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate import machine, mailbox
from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode, Order
from ursa.live import conduct, contact, gating, settings, supervisor
from ursa.live.conduct import Given
from ursa.live.contact import Contact
from ursa.live.settings import Live, Restarts
from ursa.live.supervisor import GAVE_UP, INTERRUPTED, LOCK, Supervisor
from ursa.shared import place


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


# ---- after a gap ------------------------------------------------------------------------------


def led(bench, seconds, by_itself, packet="good"):
    """A limp robot in the hands of a supervisor that would have it stand up; its orders."""
    given, orders = Given(), []
    for count in range(round(seconds / PERIOD)):
        if count % 25 == 0:
            bench.wants()
        told = gating.told_of(count, bench.now, bench.state, None)
        order = conduct.next_order(
            bench.limits, told, bench.wish, given, rest=False, by_itself=by_itself
        )
        if order is not None:
            given = Given(order=order, time=told.now)
            orders.append(order)
        bench.cycle(packet, (order,) if order else ())
    return orders


def replugged(restarted, by_itself):
    """The cable is out for a second while the robot is limp and the policy is not there yet."""
    bench = at(Mode.DAMP)
    bench.wish = None
    for _ in range(500):
        bench.cycle(None, cut=True)
    bench.tick = 0 if restarted else bench.tick
    bench.cycles(0.1)
    return bench, led(bench, 3.0, by_itself)


@pytest.mark.parametrize("restarted", [False, True], ids=["cable", "power"])
def test_a_limp_robot_that_was_out_of_touch_stands_up_when_a_person_says_so(restarted, fast):
    bench, orders = replugged(restarted, by_itself=False)
    assert orders == []
    assert bench.mode is Mode.DAMP
    bench.cycle(orders=(Order.ACKNOWLEDGE,))
    assert led(bench, 3.0, by_itself=False) == [Order.STAND, Order.RUN]
    assert bench.mode is Mode.RUN


def test_an_emulated_one_goes_on_by_itself(fast):
    bench, orders = replugged(restarted=True, by_itself=True)
    assert orders == [Order.STAND, Order.RUN]
    assert bench.mode is Mode.RUN


def test_a_machine_that_does_not_remember_the_gap_would_stand_up_unasked(fast, monkeypatch):
    """Sabotage."""
    at(Mode.DAMP)
    monkeypatch.setattr(machine, "CONTACT", frozenset())
    _, orders = replugged(restarted=True, by_itself=False)
    assert orders == [Order.STAND, Order.RUN]


def test_the_first_contact_of_a_run_is_no_gap(fast):
    bench = at(Mode.DAMP)
    assert led(bench, 3.0, by_itself=False) == [Order.STAND, Order.RUN]


# ---- on its side ------------------------------------------------------------------------------

SIDE = 1.2  # rad; it may stand up from 1.0


def turned(bench, first, last, orders=()):
    """Rolled by hand within half a second; the orders come at its end."""
    for roll in np.linspace(first, last, 250):
        quaternion = np.array([np.cos(roll / 2), np.sin(roll / 2), 0.0, 0.0])
        bench.cycle(
            bench.says(tick=bench.tick + 1, quaternion=quaternion), orders if roll == last else ()
        )


def righted(by_itself):
    """Limp and on its side, with a policy that waits; then a hand turns it upright."""
    bench = at(Mode.DAMP)
    turned(bench, 0.0, SIDE)
    turned(bench, SIDE, SIDE + 0.01, (Order.ACKNOWLEDGE,))  # too early
    turned(bench, SIDE + 0.01, 0.0)
    return bench, led(bench, 3.0, by_itself)


def test_a_limp_robot_that_was_turned_upright_stands_up_when_a_person_says_so(fast):
    bench, orders = righted(by_itself=False)
    assert orders == []
    assert (bench.mode, bench.state.fault) == (Mode.DAMP, "tilted while limp")
    assert "acknowledge: still tilted: set it upright" in [each.detail for each in bench.events]
    bench.cycle(orders=(Order.ACKNOWLEDGE,))
    assert led(bench, 3.0, by_itself=False) == [Order.STAND, Order.RUN]
    assert bench.mode is Mode.RUN


def test_a_fault_acknowledged_on_its_side_does_not_let_it_stand_up_in_a_hand(fast):
    bench = at(Mode.FAULT)
    turned(bench, 0.0, SIDE, (Order.ACKNOWLEDGE,))
    turned(bench, SIDE, 0.0)
    assert (bench.mode, bench.state.fault) == (Mode.DAMP, "tilted while limp")
    assert led(bench, 3.0, by_itself=False) == []


def test_an_emulated_one_that_was_turned_upright_goes_on_by_itself(fast):
    assert righted(by_itself=True)[1] == [Order.STAND, Order.RUN]


def test_a_machine_that_does_not_remember_the_tilt_would_stand_up_in_a_hand(fast, monkeypatch):
    """Sabotage."""
    at(Mode.DAMP)
    monkeypatch.setattr(machine, "_tilted", lambda limits, state: False)
    assert righted(by_itself=False)[1] == [Order.STAND, Order.RUN]


def test_another_gate_in_place_of_one_that_died_limp_waits_for_a_person(fast):
    last = Told(cycle=7, now=1.0, mode=Mode.DAMP, since=0.5, state=said(1))
    bench = at(Mode.DAMP)
    bench.state = gating.resumed(bench.limits, last)
    assert led(bench, 3.0, by_itself=False) == []
    assert led(bench, 3.0, by_itself=True) == [Order.STAND, Order.RUN]


# ---- after a reboot ---------------------------------------------------------------------------


def rebooted(start, by_itself):
    """A run whose memory is gone, with all that is needed for standing up; its orders."""
    bench = at(Mode.DAMP)
    bench.state = gating.first(bench.limits, None, start)
    return bench, led(bench, 3.0, by_itself)


def test_a_resumed_run_without_its_memory_stands_up_when_a_person_says_so(fast):
    bench, orders = rebooted("resumed", by_itself=False)
    assert orders == []
    assert (bench.mode, bench.state.fault) == (Mode.DAMP, "the run was resumed")
    bench.cycle(orders=(Order.ACKNOWLEDGE,))
    assert led(bench, 3.0, by_itself=False) == [Order.STAND, Order.RUN]


def test_a_new_run_needs_nobody_and_neither_does_an_emulated_one(fast):
    assert rebooted("new", by_itself=False)[1] == [Order.STAND, Order.RUN]
    assert rebooted("resumed", by_itself=True)[1] == [Order.STAND, Order.RUN]


def test_a_gate_that_does_not_ask_how_it_was_started_would_stand_up_unasked(fast, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(gating, "first", lambda limits, last, start: gating.resumed(limits, last))
    assert rebooted("resumed", by_itself=False)[1] == [Order.STAND, Order.RUN]


# ---- for ever ---------------------------------------------------------------------------------


def told(now, heard, state=True):
    return Told(
        cycle=1, now=now, mode=Mode.DAMP, since=0.0, state=said(1) if state else None, heard=heard
    )


def silences(looks, virtual=True):
    """Silence after each look: (real time, what the gate told, whether its virtual time stands)."""
    found, now = [], Contact(real=0.0)
    for real, each, stands in looks:
        now = contact.looked(now, real, each, stands=stands)
        found.append(contact.silence(now, real, each, virtual=virtual))
    return found


def test_silence_is_the_time_since_the_gate_believed_a_new_state():
    looks = [(1.0, None), (2.0, told(50.0, 50.0)), (3.0, told(51.0, 51.0))]
    looks += [(5.0, told(53.0, 51.0)), (9.0, told(57.0, 57.0))]
    for virtual in (False, True):
        assert silences([(*it, False) for it in looks], virtual) == [1.0, 0.0, 0.0, 2.0, 0.0]


def test_a_gate_that_hears_nothing_or_is_dead_tells_of_silence_all_the_same():
    deaf = [(float(t), told(50.0 + t, 0.0, state=False), False) for t in range(5)]
    assert silences(deaf) == [0, 1, 2, 3, 4]
    dead = [(float(t), told(50.0, 49.0), False) for t in range(5)]  # what it told last
    assert silences(dead) == [0, 1, 2, 3, 4]


def test_virtual_time_that_stands_still_is_no_silence_but_a_dead_keeper_is():
    computing = [(100.0 * t, told(50.0, 50.0), True) for t in range(5)]
    assert silences(computing) == [0, 0, 0, 0, 0]
    off = [(100.0 * t, told(50.0 + 7 * t, 50.0), True) for t in range(3)]  # time goes on, it is off
    assert silences(off) == [0, 7, 14]
    gone = [(0.0, told(50.0, 50.0), True), *((float(t), told(50.0, 50.0), False) for t in (5, 9))]
    assert silences(gone) == [0, 5, 9]


def test_a_computer_that_slept_was_not_out_of_touch():
    asleep = [(0.0, told(50.0, 50.0), False), (0.1, told(3650.1, 50.0), False)]
    assert silences(asleep, virtual=False) == [0, 0.1]
    assert silences(asleep) == [0, 3600.1]  # virtual time does not sleep


class Time:
    """Real time for a supervisor: it passes when it sleeps, a second each."""

    def __init__(self):
        self.now, self.then = 1000.0, {}

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += 1.0
        self.then.pop(self.now, lambda: None)()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    yield tmp_path
    place.forget(tmp_path)


def waited(folder, monkeypatch, answers=()):
    """A supervisor of a robot that answers at those seconds only; its code, time and words."""
    robot, clock, heard = Robot(), Time(), []
    monkeypatch.setattr(supervisor, "time", clock)
    live = live_of(
        folder,
        link="udp://{}:{}".format(*robot.address),
        clock="wall",
        silence=600.0,
        modules=DEAD,
        patience=BRISK,
        restarts=Restarts(first=60.0, most=60.0, allowed=1000),
    )
    settings.write(folder, live)
    run = Supervisor(folder, live, Claim(folder / LOCK, folder), heard.append)
    gate = mailbox.Teller(folder)
    for second in answers:
        now = 1000.0 + second
        clock.then[now] = lambda now=now: gate.tell(told(now, now))
    code = run.run(lambda: clock.now > 5000.0, lambda _: None)
    gate.close()
    words = robot.heard()
    robot.close()
    return code, clock.now - 1000.0, "\n".join(heard), words


def test_a_robot_that_never_answers_is_given_up_after_its_patience(folder, monkeypatch):
    code, seconds, heard, words = waited(folder, monkeypatch)
    assert code == GAVE_UP
    assert 600 <= seconds <= 600 + 65  # and the patience of the end
    assert "has said nothing for 11 s; the gate goes on asking" in heard
    assert "said nothing for 601 s, longer than --silence 600: giving up" in heard
    for word in ("ping 127.0.0.1", "gate.log", "low-level", "ursa robot emulate a1 --port"):
        assert word in heard
    assert is_limp(words[-1])


def test_one_that_answers_again_in_time_goes_on(folder, monkeypatch):
    code, seconds, heard, _ = waited(folder, monkeypatch, answers=(3, 590, 1100))
    assert code == GAVE_UP  # in the end it was silent for good
    assert 1100 + 600 <= seconds <= 1100 + 665
    assert heard.count("the robot answers again") == 2
    assert heard.count("giving up") == 1


def test_a_supervisor_that_does_not_look_would_wait_for_ever(folder, monkeypatch):
    """Sabotage: it is ended from outside, more than an hour later."""
    monkeypatch.setattr(contact, "silence", lambda *arguments, **words: 0.0)
    code, seconds, heard, _ = waited(folder, monkeypatch)
    assert code == INTERRUPTED
    assert seconds > 3600
    assert "giving up" not in heard


def test_the_patience_is_a_setting_with_a_range():
    assert Live().silence == 600.0
    with pytest.raises(UserError, match="silence = 0, allowed 1 to 86400 s"):
        settings.check(replace(Live(), silence=0))
    settings.check(Live(silence=1.0))
