"""1,392 bad sensor values: none is believed, none reaches a command; nor do 232 that stick.

How far they get beyond the gate (row, log, replay, network) is `live/test_bad_sensors.py`.
"""

from dataclasses import replace

import jaxtyping
import numpy as np
import pytest

from gate.gated import STANDING, Bench, at
from ursa.gate import gate, seen, wire
from ursa.gate.modes import Kind, Mode
from ursa.gate.wire import State

WIDTH = {
    "quaternion": 4,
    "gyro": 3,
    "acceleration": 3,
    "angle": 12,
    "speed": 12,
    "torque": 12,
    "temperature": 12,
}
FIELDS = [(name, place) for name, width in WIDTH.items() for place in range(width)]
# A spike that no body can make, or that is too short to mean anything.
SPIKE = {
    "quaternion": 0.4,
    "gyro": 45.0,
    "acceleration": 900.0,
    "angle": 1.0,
    "speed": 70.0,
    "torque": 110.0,
    "temperature": 40.0,
}
VALUES = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "1e30": 1e30, "-1e30": -1e30}
WRONG = [*VALUES, "spike"]
REPEATS = (1, 2, 3, 50)


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def spoilt(bench: Bench, name: str, place: int, fault: str, before: State) -> State:
    """What the robot says, with one number wrong."""
    state = bench.says(tick=bench.tick + 1)
    values = getattr(state, name).copy()
    if fault == "stuck":
        values[place] = getattr(before, name)[place]
    elif fault == "spike":
        values[place] += SPIKE[name]
    else:
        values[place] = VALUES[fault]
    return replace(state, **{name: values})


def believed_lies(name: str, place: int, fault: str, repeat: int) -> int:
    """One case: how many cycles believed the bad value; a bad command fails inside `cycle`."""
    bench = at(Mode.RUN)
    bench.wants(STANDING + 0.05)
    before = bench.state.seen.state
    lies = 0
    for count in range(repeat):
        if count % 25 == 0:
            bench.wants(STANDING + 0.05)
        packet = spoilt(bench, name, place, fault, before)
        bench.cycle(packet)
        lies += bench.state.seen.state is packet
        if fault != "stuck":
            assert bench.mode is (Mode.RUN if count < 2 else Mode.HOLD), (count, bench.mode)
    bench.cycles(0.004, STANDING)
    if fault != "stuck":  # after 100 ms without a good word the next one comes too late
        after = {1: Mode.RUN, 2: Mode.RUN, 3: Mode.HOLD, 50: Mode.FAULT}
        assert bench.mode is after[repeat]
    return lies


def test_there_are_1200_cases_and_more():
    assert len(FIELDS) * len(WRONG) * len(REPEATS) == 1392


@pytest.mark.parametrize("fault", WRONG)
@pytest.mark.parametrize("name", WIDTH)
def test_a_bad_value_is_neither_believed_nor_obeyed(name, fault):
    for place in range(WIDTH[name]):
        for repeat in REPEATS:
            assert believed_lies(name, place, fault, repeat) == 0, (place, repeat)


@pytest.mark.parametrize("name", WIDTH)
def test_a_value_that_sticks_can_be_true_and_breaks_no_rule(name):
    """At rest nobody can tell it from a true one: it is believed, and no command leaves limits."""
    for place in range(WIDTH[name]):
        for repeat in REPEATS:
            assert believed_lies(name, place, "stuck", repeat) == repeat


@pytest.mark.parametrize("name", ["gyro", "angle", "quaternion"])
@pytest.mark.parametrize("fault", ["nan", "1e30", "spike"])
def test_without_the_check_it_is(name, fault, monkeypatch):
    at(Mode.RUN)
    monkeypatch.setattr(seen, "doubtful", lambda state: None)
    monkeypatch.setattr(seen, "_jump", lambda *arguments: None)
    with pytest.raises(AssertionError):
        assert believed_lies(name, 1, fault, 3) == 0


def test_with_clipping_alone_a_nan_reaches_the_motors(monkeypatch):
    """What the field does: np.clip and abs() > limit both let nan pass."""
    bench = at(Mode.RUN)
    told = bench.says(tick=bench.tick + 1)
    packet = replace(told, angle=told.angle * np.nan)
    monkeypatch.setattr(seen, "doubtful", lambda state: None)
    safe = bench.copy()
    safe.cycle(packet)  # the second check, after all limits, is still there
    assert safe.counts[Kind.NOT_FINITE] == 1
    assert safe.mode is Mode.FAULT
    monkeypatch.setattr(gate, "all", lambda checks: True, raising=False)  # and now it is not
    with pytest.raises(AssertionError, match="not finite"):
        bench.cycle(packet)


@pytest.mark.parametrize("name", ["quaternion", "gyro", "acceleration", "angle", "speed"])
@pytest.mark.parametrize("fault", VALUES)
def test_on_the_wire_it_is_refused_already(name, fault):
    bench = at(Mode.RUN)
    packet = spoilt(bench, name, 1, fault, bench.state.seen.state)
    assert isinstance(wire.decode_state(wire.encode_state(packet)), wire.Refused)


@pytest.mark.parametrize(
    ("count", "mode"), [(1, Mode.RUN), (2, Mode.RUN), (3, Mode.HOLD), (60, Mode.FAULT)]
)
def test_damaged_packets_are_bridged_then_held_then_a_fault(count, mode, monkeypatch):
    bench = at(Mode.RUN)
    bench.wants()
    careless = bench.copy()
    for _ in range(count):
        bench.cycle(wire.Refused("checksum", "for the test"))
    assert bench.mode is mode
    assert bench.counts[Kind.BAD_PACKET] == count
    monkeypatch.setattr(seen, "_ages", lambda *arguments: [])
    for _ in range(count):
        careless.cycle(wire.Refused("checksum", "for the test"))
    assert careless.mode is Mode.RUN
