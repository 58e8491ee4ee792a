"""What the gate promises, in virtual time; and that each promise breaks without its protection."""

import math
from dataclasses import replace
from types import SimpleNamespace

import jaxtyping
import numpy as np
import pytest

from gate.gated import LYING, PERIOD, STANDING, Bench, at, is_limp, names, registrar, unprotected
from ursa.gate import gate, heard, machine, seen
from ursa.gate.bound import bounded
from ursa.gate.heard import Wish
from ursa.gate.modes import Kind, Mode, Order

# Not a number, in bits: with a sign, with a payload, and two that want to raise when touched.
NANS = np.array(
    [0xFFF8000000000000, 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000001, 0xFFF7FFFFFFFFFFFF], "u8"
).view("f8")
STEP = gate._step
PROMISES = []
broken_by = registrar(PROMISES)


@pytest.fixture
def fast(monkeypatch):
    """Without the shape checks of the suite, which cost five times what the gate costs."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def stands_by_itself(limits, now, level, state):
    return machine._obeyed(limits, Order.STAND, state, []) if state.mode is Mode.DAMP else state


def starts_at_its_goal(limits, start, goal):
    return machine.Pose(target=goal, start=goal, goal=goal, span=1.5)


def goes_at_full_rate(limits, wanted, last, angle, speed, step, stiffness):
    return bounded(limits, wanted, last, angle, speed, 0.024, stiffness)


def goes_straight_there(limits, wanted, last, angle, speed, step, stiffness):
    return bounded(limits, limits.stance, last, angle, speed, 0.024, stiffness)


def counts_for_ever(limits, now, wish, heard):
    return heard.wish is not None and wish.sequence < heard.wish.sequence


def does_not_compare_times(*cycle):
    *given, state = cycle
    return STEP(*given, replace(state, clock=None))


@broken_by(machine, "_moved_on", stands_by_itself)
def nothing_moves_without_an_order():
    bench = at(Mode.DAMP)
    bench.cycles(0.5, wish=STANDING)
    assert bench.mode is Mode.DAMP
    assert is_limp(bench.command)


@broken_by(machine.posing, "ramp", starts_at_its_goal)
def the_first_command_is_the_measured_pose():
    chance = np.random.default_rng(3)
    for _ in range(20):
        pose = LYING + chance.uniform(-0.04, 0.3, 12)
        bench = Bench(pose)
        bench.cycles(0.01)
        bench.cycle(orders=(Order.STAND,))
        assert bench.mode is Mode.STAND
        assert np.abs(bench.command.angle - pose).max() <= 0.02


@broken_by(gate, "bounded", goes_straight_there)
def ramps_are_slow():
    bench = Bench(LYING + np.tile([0.7, 2.9, 0.1], 4))  # 3.2 rad to go: pi/2 * 3.2 / 2 = 2.51 s
    bench.cycles(0.01)
    began, last = bench.now, bench.angle.copy()
    while bench.now < began + 2.4:
        bench.cycle(orders=(Order.STAND,) if bench.mode is Mode.DAMP else ())
        assert np.abs(bench.command.angle - last).max() <= 2.0 * PERIOD + 1e-9
        last = bench.command.angle
    assert np.abs(last - STANDING).max() > 0.001
    bench.cycles(0.15)
    np.testing.assert_allclose(bench.command.angle, STANDING, atol=1e-9)


@broken_by(machine.posing, "finished", lambda pose: True)
def the_shortest_ramp_takes_a_second_and_a_half():
    bench = Bench(STANDING + 0.05)
    bench.cycles(0.01)
    bench.cycle(orders=(Order.STAND,))
    bench.wants()
    bench.cycles(1.48, STANDING)
    bench.cycle(orders=(Order.RUN,))
    assert bench.mode is Mode.STAND
    bench.cycles(0.03, STANDING)
    bench.cycle(orders=(Order.RUN,))
    assert bench.mode is Mode.RUN


@broken_by(gate, "bounded", goes_at_full_rate)
def running_begins_slowly_too():
    bench = at(Mode.STAND)
    bench.wants(STANDING + 0.7)
    bench.cycle(orders=(Order.RUN,))
    for count in range(740):
        last = bench.command.angle
        if count % 25 == 0:
            bench.wants(STANDING + 0.7 * (count // 100 % 2))
        bench.cycle()
        assert np.abs(bench.command.angle - last).max() <= 2.0 * PERIOD + 1e-9


@broken_by(heard, "stale", lambda *arguments: [])
def a_silent_policy_is_held_then_laid_down():
    bench = at(Mode.RUN)
    bench.cycles(0.04, STANDING)
    made = bench.wish.time
    for _ in range(200):
        bench.cycle()
        if bench.now < made + 0.125:
            assert bench.mode is Mode.RUN
        elif made + 0.129 < bench.now < made + 0.3:
            assert bench.mode is Mode.HOLD
        elif bench.now > made + 0.304:
            assert bench.mode is Mode.LIE_DOWN
    bench.until(Mode.DAMP)


@broken_by(heard, "_refusal", lambda *arguments: "")
def a_wish_that_is_no_number_is_refused_whole():
    for value in (np.nan, np.inf, -np.inf, *NANS):
        bench = at(Mode.RUN)
        before = bench.command.angle
        angle = STANDING + 0.5
        angle[7] = value
        bench.wants(angle)
        bench.cycles(0.1)
        assert bench.mode is Mode.HOLD
        assert bench.counts[Kind.BAD_WISH] == 1
        assert np.abs(bench.command.angle - before).max() < 0.01  # nothing of it was followed
        bench.cycles(0.3, STANDING)
        assert bench.mode is Mode.RUN


@broken_by(heard, "_overtaken", lambda *arguments: False)
def an_overtaken_wish_is_ignored():
    bench = at(Mode.RUN)
    bench.wants(STANDING + 0.1)
    bench.cycles(0.02)
    old = Wish(angle=STANDING - 0.5, sequence=bench.sequence - 3, time=bench.now - 0.1)
    newest, bench.wish = bench.wish, old
    bench.cycle()
    assert bench.counts[Kind.OLD_WISH] == 1
    assert bench.state.heard.wish is newest


@broken_by(heard, "_refusal", lambda *arguments: "")
def a_wish_from_the_future_is_refused():
    bench = at(Mode.RUN)
    bench.wants(STANDING, age=-60.0)
    bench.cycles(0.2)
    assert bench.mode is Mode.HOLD


@broken_by(heard, "_overtaken", counts_for_ever)
def a_policy_that_starts_anew_is_heard_again():
    bench = at(Mode.HOLD)
    bench.sequence = 0
    bench.cycles(0.2, STANDING)
    assert bench.mode is Mode.RUN


@broken_by(seen, "_ages", lambda *arguments: [])
def old_states_hold_then_stop():
    bench = at(Mode.RUN)
    seen_at = bench.now
    for count in range(60):
        if count % 25 == 0:
            bench.wants()
        bench.cycle(None)
        age = bench.now - seen_at
        if age < 0.0199:
            assert bench.mode is Mode.RUN
        elif 0.0241 < age < 0.0999:
            assert bench.mode is Mode.HOLD
        elif age > 0.1041:
            assert bench.mode is Mode.FAULT
    assert "stale state" in bench.state.fault


@broken_by(machine, "_anchored", lambda limits, state: state.pose)
def after_a_short_gap_it_begins_where_the_robot_is():
    bench = at(Mode.RUN)
    bench.wants(STANDING)
    for _ in range(25):
        bench.cycle(None, cut=True)
    bench.angle = bench.angle + 0.15  # it sank meanwhile
    bench.cycle()
    assert bench.mode is Mode.HOLD
    assert np.abs(bench.command.angle - bench.state.seen.state.angle).max() <= 0.02
    bench.cycles(0.3, STANDING)
    assert bench.mode is Mode.RUN


@broken_by(machine, "CONTACT", frozenset())
def a_limp_robot_that_was_out_of_touch_waits_for_a_person():
    for silence, waits in ((0.018, False), (0.098, False), (0.104, True), (30.0, True)):
        for restarted in (False, True):
            bench = at(Mode.DAMP)
            ends = bench.now + silence
            while bench.now < ends - PERIOD / 2:  # long strides where nothing changes any more
                bench.cycle(None, elapsed=PERIOD if silence < 1 else 0.05, cut=True)
            bench.tick = 0 if restarted and waits else bench.tick  # switched off and on
            bench.cycle()
            assert bench.mode is Mode.DAMP
            assert bool(bench.state.fault) is waits, (silence, bench.state.fault)
            bench.cycles(0.1, STANDING)
            assert bool(bench.state.fault) is waits  # and goes on waiting when all is well again
            bench.cycle(orders=(Order.ACKNOWLEDGE,))
            assert (bench.mode, bench.state.fault) == (Mode.DAMP, "")
            bench.cycle(orders=(Order.STAND,))
            assert bench.mode is Mode.STAND


@broken_by(seen, "newer", lambda tick, than: True)
def repeated_and_reordered_packets_are_dropped():
    bench = at(Mode.RUN)
    told = bench.state.seen.state
    bench.cycle(replace(told, angle=told.angle + 0.01))  # the same tick
    bench.cycle(replace(told, angle=told.angle + 0.02, tick=told.tick - 3))
    assert bench.state.seen.state is told
    assert bench.counts[Kind.REPEATED_PACKET] == 1
    assert bench.counts[Kind.REORDERED_PACKET] == 1
    for _ in range(60):  # and they do not keep the state young
        bench.cycle(replace(told, tick=told.tick - 3))
    assert bench.mode is Mode.FAULT


@broken_by(seen, "newer", lambda tick, than: tick > than)
def a_tick_that_wraps_is_no_trouble():
    bench = Bench()
    bench.tick = 2**32 - 900
    bench.run()
    assert bench.tick > 2**32
    assert bench.counts.named == {"mode": 2}


@broken_by(seen, "_differs", lambda packet, last: True)
def frozen_sensors_are_noticed():
    bench = at(Mode.RUN)
    still = bench.says()
    for count in range(110):
        if count % 25 == 0:
            bench.wants()
        bench.cycle(replace(still, tick=bench.tick + 1))
        if 30 < count < 90:
            assert bench.mode is Mode.HOLD
    assert bench.mode is Mode.FAULT
    assert "frozen" in bench.state.fault


@broken_by(seen, "_ages", lambda *arguments: [])
def an_encoder_that_sticks_is_noticed():
    bench = at(Mode.RUN)
    stuck = bench.angle[4]
    for count in range(100):
        if count % 25 == 0:
            bench.wants()
        speed, angle = bench.speed.copy(), bench.angle.copy()
        speed[4], angle[4] = 8.0, stuck  # 8 rad/s for 50 ms is 0.4 rad that never came
        bench.cycle(bench.says(tick=bench.tick + 1, speed=speed, angle=angle))
    assert bench.counts[Kind.MISMATCH] >= 1
    assert bench.mode is not Mode.RUN


@broken_by(gate, "_punctual", lambda *arguments: (0, []))
def missed_cycles_hold_then_lay_down():
    for elapsed, mode in (
        (0.010, Mode.RUN),  # 4 missed
        (0.012, Mode.HOLD),  # 5
        (0.040, Mode.HOLD),  # 19
        (0.042, Mode.LIE_DOWN),  # 20
        (0.098, Mode.LIE_DOWN),
        (0.102, Mode.FAULT),  # and the last state is too old by then
    ):
        bench = at(Mode.RUN)
        bench.wants(age=-elapsed)
        bench.wish = replace(bench.wish, time=bench.now + elapsed)
        bench.cycle(elapsed=elapsed)
        assert bench.mode is mode, elapsed
    bench = at(Mode.STAND)
    bench.cycle(elapsed=1.1)
    assert bench.counts[Kind.SUSPENDED] == 1
    bench = at(Mode.RUN)
    for _ in range(5):  # every other cycle missed, five times in a row
        bench.wants()
        bench.cycle(elapsed=2 * PERIOD)
    assert bench.mode is Mode.HOLD


def jumps(jump):
    bench = at(Mode.RUN)
    bench.wants()
    before = bench.now
    bench.now += jump
    bench.cycle(elapsed=0.0)
    assert bench.mode is Mode.FAULT
    assert bench.counts[Kind.CLOCK] == 1
    assert is_limp(bench.command)
    bench.now = before if not math.isfinite(bench.now) else bench.now
    bench.cycles(0.02)
    bench.cycle(orders=(Order.ACKNOWLEDGE,))
    assert bench.mode is Mode.DAMP  # and the new time is good for a new start
    bench.cycle(orders=(Order.STAND,))
    assert bench.mode is Mode.STAND


@broken_by(gate, "_step", does_not_compare_times)
def a_clock_that_runs_backwards_is_a_fault():
    for jump in (-3600.0, -0.001):
        jumps(jump)


@broken_by(gate, "math", SimpleNamespace(isfinite=lambda now: True))
def a_clock_that_shows_no_number_is_a_fault():
    for jump in (math.nan, math.inf):
        jumps(jump)


@pytest.mark.parametrize("promise", [each.values[0] for each in PROMISES], ids=names(PROMISES))
def test_the_gate_keeps_its_promise(promise, fast):
    promise()


@pytest.mark.parametrize(("promise", "patch"), PROMISES)
def test_without_its_protection_a_promise_breaks(promise, patch, fast, monkeypatch):
    unprotected(promise, patch, monkeypatch)
