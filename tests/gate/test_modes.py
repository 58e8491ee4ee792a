"""The mode machine under any sequence of orders, packets, wishes, delays and mishaps."""

import jaxtyping
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as play

from gate.gated import PERIOD, STANDING, Bench, at, is_limp
from ursa.gate import machine
from ursa.gate.limits import limits_of
from ursa.gate.modes import SERVO_MODES, Counts, Event, Kind, Level, Mode, Order
from ursa.gate.wire import Refused
from ursa.robot.a1 import A1

BY_ITSELF = {
    Mode.DAMP: {Mode.FAULT},
    Mode.STAND: {Mode.LIE_DOWN, Mode.DAMP, Mode.FAULT},
    Mode.RUN: {Mode.HOLD, Mode.LIE_DOWN, Mode.DAMP, Mode.FAULT},
    Mode.HOLD: {Mode.RUN, Mode.LIE_DOWN, Mode.DAMP, Mode.FAULT},
    Mode.LIE_DOWN: {Mode.DAMP, Mode.FAULT},
    Mode.FAULT: set(),
}
BY_ORDER = {
    (Mode.DAMP, Order.STAND): Mode.STAND,
    (Mode.STAND, Order.RUN): Mode.RUN,
    (Mode.RUN, Order.STAND): Mode.STAND,
    (Mode.HOLD, Order.STAND): Mode.STAND,
    (Mode.LIE_DOWN, Order.STAND): Mode.STAND,
    (Mode.FAULT, Order.ACKNOWLEDGE): Mode.DAMP,
}


class Life(RuleBasedStateMachine):
    """One robot's life. Every command is checked inside `Bench.cycle`."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()

    @initialize(mode=st.sampled_from(Mode))
    def begin(self, mode):
        self.bench = at(mode)

    def cycle(self, packet="good", order=None, elapsed=PERIOD) -> None:
        before, counts = self.bench.mode, self.bench.counts
        self.bench.cycle(packet, (order,) if order else (), elapsed)
        after = self.bench.mode
        allowed = BY_ITSELF[before] | {before, BY_ORDER.get((before, order), before)}
        assert after in allowed, f"{before} -> {after} on {order}"
        assert all(now >= then for now, then in zip(self.bench.counts.of, counts.of, strict=True))
        if order is Order.STOP:
            assert after is Mode.FAULT
        if before is not after:
            assert self.bench.counts[Kind.MODE] == counts[Kind.MODE] + 1

    @rule(cycles=st.integers(1, 40), wish=st.booleans(), offset=st.floats(-1, 1))
    def live(self, cycles, wish, offset):
        for count in range(cycles):
            if wish and count % 25 == 0:
                self.bench.wants(STANDING + offset)
            self.cycle()

    @rule(order=st.sampled_from(Order))
    def obey(self, order):
        self.cycle(order=order)

    @precondition(lambda self: self.bench.mode is Mode.DAMP)
    @rule()
    def get_up(self):
        self.cycle()
        self.cycle(order=Order.STAND)

    @precondition(lambda self: self.bench.mode is Mode.STAND)
    @rule()
    def go(self):
        self.bench.wants()
        self.cycle(order=Order.RUN)

    @precondition(lambda self: self.bench.mode is Mode.FAULT)
    @rule()
    def forgive(self):
        self.cycle()
        self.cycle(order=Order.ACKNOWLEDGE)

    @rule(cycles=st.integers(1, 80), bad=st.booleans())
    def go_deaf(self, cycles, bad):
        for _ in range(cycles):
            self.cycle(Refused("checksum") if bad else None)

    @rule(elapsed=st.floats(0, 1.5))
    def stall(self, elapsed):
        self.cycle(elapsed=elapsed)

    @rule(value=st.sampled_from([np.nan, np.inf, -np.inf, 1e300, 3.0]), place=st.integers(0, 11))
    def wish_nonsense(self, value, place):
        angle = STANDING.copy()
        angle[place] = value
        self.bench.wants(angle)
        self.cycle()

    @rule(name=st.sampled_from(["angle", "speed", "torque", "gyro"]), value=st.floats(width=32))
    def sense_nonsense(self, name, value):
        values = getattr(self.bench.says(), name).copy()
        values[1] = value
        self.cycle(self.bench.says(tick=self.bench.tick + 1, **{name: values}))

    @rule(warm=st.floats(30, 60), left=st.floats(0, 1))
    def tire(self, warm, left):
        self.cycle(
            self.bench.says(tick=self.bench.tick + 1, temperature=np.full(12, warm), battery=left)
        )

    @invariant()
    def limp_where_it_must_be(self):
        bench = self.bench
        assert is_limp(bench.command) is (bench.mode not in SERVO_MODES)
        assert bench.state.fault or bench.mode is not Mode.FAULT
        assert not bench.state.fault or bench.mode in (Mode.FAULT, Mode.DAMP)
        assert (bench.state.pose.target is None) is (bench.mode not in SERVO_MODES)


LIVES = settings(
    phases=[Phase.generate],  # a life is long: shrinking one takes minutes
    max_examples=30,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_any_life_keeps_the_rules():
    play(Life, settings=LIVES)


def test_a_policy_whose_newest_wish_is_no_number_is_not_followed_at_all():
    """Not for one cycle, though the wish before it was good."""
    assert ordered_to_run().mode is Mode.STAND


def test_a_machine_that_takes_every_order_would_follow_it_for_a_cycle(monkeypatch):
    """Sabotage."""
    at(Mode.STAND)  # the robot to start from is made with the protection
    monkeypatch.setattr(machine, "_refusal", lambda *arguments: None)
    assert ordered_to_run().mode is Mode.RUN


def ordered_to_run():
    """A robot that stands, told to run 4 ms after a good wish and 2 ms after a bad one."""
    bench, angle = at(Mode.STAND), STANDING.copy()
    bench.wants()
    bench.cycle()
    angle[7] = np.nan
    bench.wants(angle)
    bench.cycle(orders=(Order.RUN,))
    return bench


def stood_for(bench, last=0.0, most=12.0):
    """Seconds from the order until it no longer stands; the policy speaks until `last` s."""
    begun = bench.state.since
    while bench.mode is Mode.STAND and bench.now < begun + most:
        if bench.now < begun + last:
            bench.wants()
        bench.cycle()
    return bench.now - begun


def test_a_robot_that_stands_for_nobody_lies_down_after_ten_seconds():
    bench = at(Mode.STAND)
    assert stood_for(bench) == pytest.approx(1.5 + 10, abs=0.007)  # its ramp takes 1.5 s
    assert bench.mode is Mode.LIE_DOWN
    assert bench.counts[Kind.STALE_WISH] == 1
    bench.until(Mode.DAMP)
    assert is_limp(bench.command)
    assert bench.state.fault == ""  # when there is a policy it may stand up again


def test_a_machine_that_waits_for_ever_would_stand_for_ever(monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(machine, "ALONE", np.inf)
    assert stood_for(at(Mode.STAND)) >= 12.0


def test_they_count_from_the_end_of_its_ramp_or_from_the_last_wish(monkeypatch):
    """Half a second here in place of ten."""
    monkeypatch.setattr(machine, "ALONE", 0.5)
    assert stood_for(at(Mode.STAND), last=2.2) == pytest.approx(2.2 + 0.5, abs=0.007)
    bench = Bench(limits=limits_of(A1, {"ramp_time": 2.0}))
    bench.cycles(0.01)
    bench.cycle(orders=(Order.STAND,))
    assert stood_for(bench) == pytest.approx(2.0 + 0.5, abs=0.007)


def test_one_that_is_spoken_to_stands_as_long_as_it_likes(monkeypatch):
    monkeypatch.setattr(machine, "ALONE", 0.5)
    bench = at(Mode.STAND)
    assert stood_for(bench, last=4.0, most=4.0) >= 4.0
    assert bench.mode is Mode.STAND


def nagged(bench):
    """Seconds that it stands while it is told to stand every half second, and by nobody else."""
    begun = bench.state.since
    for count in range(1, 6000):
        bench.cycle(orders=(Order.STAND,) if count % 250 == 0 else ())
        if bench.mode is not Mode.STAND:
            break
    return bench.now - begun


def half_up(bench):
    """Seconds that it stands half way up: its ramp waits, as the remote is out of touch."""
    bench.cycle(orders=(Order.STAND,))
    return stood_for(bench)


def deaf_to_its_remote():
    bench = Bench(limits=limits_of(A1, {"remote": True}))
    remote = bytes([0x55, 0x51]) + bytes(38)
    bench.cycle(bench.says(remote=remote))
    return bench


RAMPS = {
    "told to stand again and again": lambda: nagged(at(Mode.STAND)),
    "half way up, with trouble": lambda: half_up(deaf_to_its_remote()),
}


@pytest.mark.parametrize("ramp", RAMPS)
def test_a_ramp_that_never_ends_is_no_reason_to_stand_for_nobody(ramp):
    assert RAMPS[ramp]() == pytest.approx(1.5 + 10, abs=0.007)


@pytest.mark.parametrize("ramp", RAMPS)
def test_a_machine_that_waits_for_its_end_would_stand_for_ever(ramp, monkeypatch):
    """Sabotage."""
    at(Mode.STAND)
    whole = machine._alone
    monkeypatch.setattr(
        machine,
        "_alone",
        lambda now, state: whole(now, state) if machine.posing.finished(state.pose) else [],
    )
    assert RAMPS[ramp]() > 11.9


def eager(limits, now, level, state):
    """A machine that goes on by itself after a fault."""
    return machine.replace(state, mode=Mode.DAMP, fault="") if state.fault else state


@pytest.mark.parametrize(
    ("what", "broken"),
    [
        ("_moved_on", eager),
        ("SERVO_MODES", frozenset({Mode.STAND, Mode.RUN})),
        ("faulted", lambda now, state, reason: state),
    ],
)
def test_a_broken_machine_is_found_out(what, broken, monkeypatch):
    for mode in Mode:
        at(mode)  # made while the machine still works
    monkeypatch.setattr(machine, what, broken)
    with pytest.raises((AssertionError, ExceptionGroup)):
        play(Life, settings=settings(LIVES, max_examples=200, derandomize=True, print_blob=False))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("order", Order)
def test_every_order_in_every_mode(mode, order):
    bench = at(mode)
    bench.wants()
    bench.cycle(orders=(order,))
    if order is Order.STOP:
        assert bench.mode is Mode.FAULT
    elif order is Order.DAMP:
        assert bench.mode is (Mode.FAULT if mode is Mode.FAULT else Mode.DAMP)
    elif order is Order.LIE_DOWN:
        up = mode in (Mode.STAND, Mode.RUN, Mode.HOLD)
        assert bench.mode is (Mode.LIE_DOWN if up else mode)
    else:
        assert bench.mode is BY_ORDER.get((mode, order), mode)
    refused = bench.counts[Kind.ORDER_REFUSED] - at(mode).counts[Kind.ORDER_REFUSED]
    known = order is Order.STOP or bench.mode is not mode
    known |= (mode, order) in ((Mode.DAMP, Order.DAMP), (Mode.STAND, Order.STAND))
    assert refused == (not known)


def test_counts_are_a_value():
    none = Counts()
    some = none.add((Event(Kind.LATE, Level.HOLD), Event(Kind.LATE, Level.LIE_DOWN)))
    assert (none[Kind.LATE], some[Kind.LATE]) == (0, 2)
    assert some.named == {"missed deadlines": 2}
    assert none.add(()) is none
