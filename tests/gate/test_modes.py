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
from ursa.gate.modes import SERVO_MODES, Counts, Event, Kind, Level, Mode, Order
from ursa.gate.wire import Refused

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
