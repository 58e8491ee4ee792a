"""Fuzzed datagrams: none is believed, none raises; a gate among them hears its robot alone."""

import jaxtyping
import numpy as np
import pytest

from gate.cable import BAD, stormy
from gate.test_wire import GOOD, resealed, same
from sizes import SEED, patience, size
from ursa.gate import gate, link, packet, seen, wire
from ursa.gate.link import Link
from ursa.gate.packet import STATE
from ursa.gate.wire import Command, Refused, State, decode_command, decode_state

TOTAL = size("URSA_DATAGRAMS")
long = pytest.mark.timeout(patience("URSA_DATAGRAMS"))


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def datagrams(total: int, seed: int):
    """Damaged datagrams, and for each the packet it may pass for: the original, or none."""
    chance = np.random.default_rng(seed)
    kinds = chance.choice(6, total, p=[0.2, 0.2, 0.2, 0.25, 0.13, 0.02])
    lengths = chance.integers(0, 1500, total)
    bits = chance.integers(0, 771 * 8, (total, 8))
    flips = chance.integers(1, 9, total)
    noise = chance.bytes(2**20)
    starts = chance.integers(0, 2**20 - 1500, total)
    # not a number, in bits: plain, signed, with a payload, and two that want to raise when touched
    nans = [0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0x7F800001, 0xFFBFFFFF]
    large = np.array([np.inf, -np.inf, 1e30, -3e38], "<f4").view("<u4")
    wild = np.array([*nans, *large], "<u4")
    for kind, length, places, count, start in zip(kinds, lengths, bits, flips, starts, strict=True):
        if kind == 0:  # noise of any length
            yield noise[start : start + length], None
        elif kind == 1:  # noise of the right length
            yield noise[start : start + 771], None
        elif kind == 2:  # cut off, or with a tail
            yield GOOD[:length] if length < 771 else GOOD + bytes(length - 770), None
        elif kind == 3:  # bits flipped; three bytes of the reserve mean nothing and may
            data = bytearray(GOOD)
            for place in places[:count].tolist():
                data[place // 8] ^= 1 << place % 8
            harmless = data[:764] == GOOD[:764] and data[767:] == GOOD[767:]
            yield bytes(data), GOOD if harmless else None
        elif kind == 4:  # one number wild, and a checksum that is right for it
            values = np.frombuffer(GOOD, STATE)[0].copy()
            name = ("q", "dq", "gyro", "acceleration", "quaternion")[length % 5]
            place = values["motor"][name][:12] if length % 5 < 2 else values[name]
            place.view("<u4")[count % len(place)] = wild[start % 9]
            yield resealed(values.tobytes(), 764), None
        else:  # nothing wrong
            yield GOOD, GOOD


def wrongly_taken(total: int, seed: int) -> int:
    """How many damaged datagrams were believed, or good ones were not."""
    good = decode_state(GOOD)
    wrong = 0
    for data, original in datagrams(total, seed):
        found = decode_state(data)
        taken = isinstance(found, State)
        wrong += taken is not (original is not None) or (taken and not same(found, good))
        wrong += isinstance(decode_command(data), Command)
    return wrong


@long
def test_of_200000_damaged_datagrams_none_is_believed_and_none_raises():
    assert wrongly_taken(TOTAL, seed=17 + SEED) == 0


def no_checksum(data, layout):
    if len(data) != layout.itemsize:
        return Refused("length")
    return np.frombuffer(data, layout)[0]


@pytest.mark.parametrize(
    ("where", "what", "broken"),
    [
        (wire, "_opened", no_checksum),
        (wire, "doubtful", lambda state: None),
        (wire, "checksum", lambda words: packet.checksum(words[:-64])),  # not over all of it
    ],
)
def test_without_a_check_some_are_believed(monkeypatch, where, what, broken):
    monkeypatch.setattr(where, what, broken)
    assert wrongly_taken(3000, seed=17) > 0


# ---- through the whole gate ---------------------------------------------------------------------


@long
def test_a_gate_among_100000_strange_datagrams_hears_its_robot_alone_and_keeps_the_limits():
    """Half of them through link, belief, modes and bounds, a good packet among them now and then:
    what is believed is the newest that the robot said and that arrived, after every cycle."""
    seed = 17 + SEED
    print(f"seed {seed}")
    cable = stormy(TOTAL // 2, seed)
    assert cable.wrong == []
    assert cable.counts["datagrams"] >= TOTAL // 2
    assert min(cable.counts[kind] for kind in BAD) > TOTAL // 2 // 20
    assert cable.counts["in run"] > cable.counts["cycles"] // 4  # there was something to protect
    assert cable.counts["in hold"] > cable.counts["cycles"] // 10


def unordered(tick, than):
    return True


class Anyone(tuple):
    """An address that is everybody's."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other):
        return True


def anyone(self, robot, limp):
    real(self, robot, limp)
    self.robot = Anyone(robot)


real = Link.__init__


@pytest.mark.parametrize(
    "broken",
    [
        [(wire, "_opened", no_checksum)],
        [(wire, "doubtful", lambda state: None), (seen, "doubtful", lambda state: None)],
        [(Link, "__init__", anyone)],
        [(link, "newer", unordered), (seen, "newer", unordered)],
        [(seen, "newer", unordered)],
        [(link, "newer", lambda tick, than: False)],
    ],
    ids=["checksum", "plausible", "address", "order", "order at the gate", "order in a cycle"],
)
def test_without_one_check_the_gate_is_fooled(monkeypatch, broken):
    stormy(1, 17)  # the robot to start from is made with the protection
    for patch in broken:
        monkeypatch.setattr(*patch)
    assert stormy(3000, 17).wrong


def test_without_limits_a_command_leaves_them(monkeypatch):
    bounded = gate.bounded

    def unbounded(limits, wanted, last, *rest):
        told = bounded(limits, wanted, last, *rest)
        object.__setattr__(told, "target", wanted)
        return told

    stormy(1, 17)
    monkeypatch.setattr(gate, "bounded", unbounded)
    (wrong,) = stormy(10_000, 17).wrong
    assert "rad in" in wrong or "N m" in wrong or "out of range" in wrong
