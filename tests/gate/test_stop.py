"""A stop, by order or by the remote, is heard through any trouble, and a person takes it back."""

from collections import Counter
from dataclasses import replace

import jaxtyping
import numpy as np
import pytest

from gate.gated import PERIOD, STANDING, Bench, at, is_limp, names, registrar, unprotected
from ursa.gate import gate, link, machine, wire
from ursa.gate.link import newest
from ursa.gate.modes import Kind, Level, Mode, Order
from ursa.gate.wire import Refused, encode_state

PRESSED = bytes([0x55, 0x51, 0x10, 0]) + bytes(36)  # R2
BROKEN = {  # what a packet with a right checksum may say of one sensor
    "nan": ("gyro", np.nan),
    "infinite": ("acceleration", np.inf),
    "absurd": ("quaternion", 1e30),
    "no quaternion": ("quaternion", 0.0),
}
REFUSAL, DOUBTFUL = machine._refusal, wire.doubtful
PROMISES = []
broken_by = registrar(PROMISES)


@pytest.fixture
def fast(monkeypatch):
    """Without the shape checks of the suite, which cost five times what the gate costs."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def datagram(bench: Bench, pressed: bool = True, broken: str = "", ahead: int = 1) -> bytes:
    """The very bytes that the robot sends."""
    remote = PRESSED if pressed else bytes(40)
    state = bench.says(tick=bench.tick + ahead, remote=remote)
    if broken:
        name, value = BROKEN[broken]
        values = getattr(state, name).copy()
        values[0] = value
        state = replace(state, **{name: values})
    return encode_state(state)


def heard(*datagrams: bytes):
    """What a link gives to its gate when these arrive together."""
    return newest(datagrams, None, Counter())


def takes_a_refused_packet_for_none(state):
    refused = DOUBTFUL(state)
    object.__setattr__(state, "remote", state.remote if refused is None else bytes(40))
    return refused


def lets_stale_states_pass(limits, now, order, found, state):
    return REFUSAL(limits, now, order, [e for e in found if e.kind is not Kind.STALE], state)


@broken_by(machine, "faulted", lambda now, state, reason: state)
def stop_is_heard_at_once(pressed: bool = False):
    chance = np.random.default_rng(8)
    for mode in Mode:
        bench = at(mode)
        bench.cycles(PERIOD * int(chance.integers(1, 20)), STANDING)
        if pressed:
            bench.cycle(heard(datagram(bench)))
        else:
            bench.cycle(orders=(Order.STOP, Order.STAND, Order.RUN))
        assert bench.mode is Mode.FAULT
        assert is_limp(bench.command)
        bench.cycles(0.05, STANDING)
        assert bench.mode is Mode.FAULT


@broken_by(gate, "stop_pressed", lambda remote: False)
def the_remotes_button_stops():
    stop_is_heard_at_once(pressed=True)


def pressed_beside(broken: str) -> None:
    """The button for 80 ms while a sensor is broken for 85: limp in the first of these cycles."""
    bench = at(Mode.RUN)
    packet = heard(datagram(bench, broken=broken))
    assert isinstance(packet, Refused)
    bench.cycle(packet)
    assert bench.mode is Mode.FAULT
    assert is_limp(bench.command)
    for count in range(2, 200):
        bench.wants()
        bench.cycle(heard(datagram(bench, count <= 40, broken if count <= 42 else "")))
    assert bench.mode is Mode.FAULT
    assert bench.state.fault == "stop by the remote"  # nothing but a person takes it back
    assert bench.counts[Kind.STOP] == 40


@broken_by(wire, "doubtful", takes_a_refused_packet_for_none)
def a_stop_in_a_packet_whose_sensors_are_broken_still_stops():
    for broken in BROKEN:
        pressed_beside(broken)


@broken_by(link, "stop_pressed", lambda remote: False)
def a_button_in_any_of_several_packets_counts():
    bench = at(Mode.RUN)
    broken = datagram(bench, broken="nan")
    calm = datagram(bench, pressed=False, ahead=2)
    for together in ((broken, calm), (calm, broken), (broken, b"noise"), (b"noise", broken)):
        again = bench.copy()
        again.cycle(heard(*together))
        assert again.mode is Mode.FAULT
        assert again.state.fault == "stop by the remote"


@broken_by(machine, "_worst", lambda found: max(found, key=lambda e: e.level, default=None))
def a_stop_keeps_its_name_beside_other_trouble():
    for pressed in (True, False):
        for trouble in ("motor", "silence"):  # each is a latched fault by itself
            bench = at(Mode.RUN)
            if trouble == "motor":
                modes = np.full(12, 10)
                modes[11] = 8
                state = bench.says(tick=bench.tick + 1, mode=modes)
            else:
                for _ in range(50):
                    bench.cycle(None)
                assert bench.mode is Mode.HOLD  # and in the next cycle it would be a fault
                state = Refused("implausible", "gyro nan")
            if pressed:
                object.__setattr__(state, "remote", PRESSED)
            bench.cycle(state, () if pressed else (Order.STOP,))
            faults = {event.kind for event in bench.events if event.level is Level.FAULT}
            assert faults == {Kind.STOP, Kind.MOTOR if trouble == "motor" else Kind.STALE}
            assert bench.state.fault == f"stop by {'the remote' if pressed else 'order'}"


@broken_by(machine, "_refusal", lambda *arguments: None)
def only_an_acknowledgement_ends_a_fault():
    bench = at(Mode.FAULT)
    for order in (Order.RUN, Order.STAND, Order.LIE_DOWN, Order.DAMP):
        bench.cycle(orders=(order,))
        assert bench.mode is Mode.FAULT
        assert is_limp(bench.command)
    bench.cycle(heard(datagram(bench)), orders=(Order.ACKNOWLEDGE,))
    assert bench.mode is Mode.FAULT  # the button is still down
    bench.cycle(orders=(Order.ACKNOWLEDGE, Order.STAND))
    assert bench.mode is Mode.DAMP  # one order at a time


@broken_by(machine, "_refusal", lets_stale_states_pass)
def nothing_is_acknowledged_while_the_robot_is_silent():
    for cycles, mode in ((10, Mode.DAMP), (11, Mode.FAULT), (45, Mode.FAULT), (60, Mode.FAULT)):
        bench = at(Mode.FAULT)
        for _ in range(cycles - 1):
            bench.cycle(None)
        bench.cycle(None, (Order.ACKNOWLEDGE,))  # 20 ms without a state are allowed
        assert bench.mode is mode, cycles
        said = bench.events[-1].detail
        assert ("still stale state" in said) is (mode is Mode.FAULT)


def test_of_a_packet_with_a_wrong_checksum_or_length_no_button_is_read():
    bench = at(Mode.RUN)
    whole = datagram(bench)
    for data in (whole[:-1], whole + b"!", whole[:100] + b"x" + whole[101:], b""):
        packet = heard(data)
        assert isinstance(packet, Refused)
        assert packet.remote == bytes(40)
        again = bench.copy()
        again.cycle(packet)
        assert again.mode is Mode.RUN


@pytest.mark.parametrize("promise", [each.values[0] for each in PROMISES], ids=names(PROMISES))
def test_the_gate_keeps_its_promise(promise, fast):
    promise()


@pytest.mark.parametrize(("promise", "patch"), PROMISES)
def test_without_its_protection_a_promise_breaks(promise, patch, fast, monkeypatch):
    unprotected(promise, patch, monkeypatch)
