"""The A1's packets: every byte in its place, and nothing taken from a doubtful one."""

import struct
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gate.gated import said
from ursa.gate import wire
from ursa.gate.packet import COMMAND, STATE, checksum, newer
from ursa.gate.wire import REASONS, Command, Refused, State, decode_command, decode_state
from ursa.robot.a1 import A1
from ursa.robot.spec import RobotSpec

ZERO = np.zeros(12)


def bit_by_bit(data: bytes) -> int:
    """CRC-32/MPEG-2 as the definition has it, one bit after the other."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 0x80000000 else 0)) & 0xFFFFFFFF
    return crc


def words_turned(data: bytes) -> bytes:
    """Each group of four bytes backwards."""
    return b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))


def resealed(data: bytes, covered: int) -> bytes:
    return data[:-4] + checksum(data[:covered]).to_bytes(4, "little")


def command(**changed) -> Command:
    fields = dict.fromkeys(("angle", "speed", "torque", "kp", "kd"), ZERO)
    return Command(**fields | changed)


def one(joint: str, value: float) -> np.ndarray:
    return np.array([value if name == joint else 0.0 for name in A1.joint_names])


def same(one: Command | State, other: Command | State, names=None) -> bool:
    names = names or [field.name for field in fields(one)]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_the_checksum_is_the_published_one():
    assert bit_by_bit(b"123456789") == 0x0376E6E7  # the check value of CRC-32/MPEG-2
    for size in (4, 604, 764):
        data = np.random.default_rng(size).bytes(size)
        assert checksum(data) == bit_by_bit(words_turned(data))


def test_the_packets_have_the_makers_lengths_and_places():
    assert (COMMAND.itemsize, STATE.itemsize) == (610, 771)
    assert [COMMAND.fields[name][1] for name in ("motor", "led", "remote", "crc")] == [
        10,
        550,
        562,
        606,
    ]
    places = {name: STATE.fields[name][1] for name in STATE.names}
    assert places["quaternion"] == 10
    assert places["motor"] == 63
    assert places["foot"] == 703
    assert places["tick"] == 719
    assert places["remote"] == 723
    assert places["crc"] == 767


def test_a_command_is_these_bytes():
    data = wire.encode_command(
        command(
            angle=one("FR.hip", 0.5) + one("BL.lower", -1.5),
            speed=one("FR.hip", 2.0),
            torque=one("FR.hip", 1.5) + one("FL.hip", -1.999),
            kp=one("FR.hip", 80.0),
            kd=one("FR.hip", 1.0) + one("BR.upper", 2.03),
        )
    )
    assert data[:10] == bytes.fromhex("ff 0000 0000 00000000 00")
    # servo, 0.5f, 2.0f, 1.5 * 256 = 384, 80 * 32 = 2560, 1 * 16 = 16, three empty words
    assert data[10:37] == bytes.fromhex("0a 0000003f 00000040 8001 000a 1000" + 12 * "00")
    assert data[91:118][9:11] == bytes.fromhex("01fe")  # FL hip, fourth place: -511.7 cut to -511
    assert data[199:226][13:15] == bytes.fromhex("2000")  # RR thigh, eighth: 32.48 cut to 32
    assert data[307:334][:5] == bytes.fromhex("0a 0000c0bf")  # RL calf, twelfth: -1.5f
    assert data[334:606] == bytes(272)  # eight places without a motor, lights, remote, reserve
    assert data[606:] == bit_by_bit(words_turned(data[:604])).to_bytes(4, "little")


def test_a_state_is_these_bytes():
    data = bytearray(771)
    data[0] = 0xFF
    struct.pack_into("<4f", data, 10, 0.5, 0.5, -0.5, 0.5)
    struct.pack_into("<3f", data, 26, 0.25, -1.0, 4.0)
    struct.pack_into("<3f", data, 38, 0.5, 0.0, 9.75)
    struct.pack_into("<Bff", data, 63 + 32 * 4, 10, 0.75, -3.5)  # fifth motor: FL thigh
    struct.pack_into("<h", data, 63 + 32 * 4 + 11, -640)  # -640 / 256 = -2.5
    struct.pack_into("<b", data, 63 + 32 * 4 + 23, 47)
    struct.pack_into("<4h", data, 703, 11, 22, 33, 44)
    struct.pack_into("<I", data, 719, 0xFFFFFFFE)
    data[723:763] = bytes(range(40))
    data[767:] = bit_by_bit(words_turned(bytes(data[:764]))).to_bytes(4, "little")
    state = decode_state(bytes(data))
    assert isinstance(state, State)
    assert state.tick == 0xFFFFFFFE
    assert state.quaternion.tolist() == [0.5, 0.5, -0.5, 0.5]
    assert state.gyro.tolist() == [0.25, -1.0, 4.0]
    assert state.acceleration.tolist() == [0.5, 0.0, 9.75]
    thigh = A1.joint_names.index("FL.upper")
    found = [float(getattr(state, it)[thigh]) for it in ("angle", "speed", "torque", "temperature")]
    assert found == [0.75, -3.5, -2.5, 47.0]
    assert state.mode[thigh] == 10
    assert dict(zip(A1.leg_names, state.foot_force, strict=True)) == {
        "FR": 11,
        "FL": 22,
        "BR": 33,
        "BL": 44,
    }
    assert state.remote == bytes(range(40))


def test_joints_go_by_name_whatever_the_order_of_the_spec():
    legs = [A1.legs[place] for place in (3, 1, 0, 2)]  # BL FL FR BR
    joints = [joint for leg in legs for joint in A1.joints if joint.name.startswith(leg.name)]
    mixed = RobotSpec(
        name="mixed", joints=tuple(joints), legs=tuple(legs), trunk=A1.trunk, rest_height=0.27
    )
    assert wire.order_of(A1) == list(range(12))
    assert wire.order_of(mixed) == [6, 7, 8, 3, 4, 5, 9, 10, 11, 0, 1, 2]


angles = arrays(np.float32, 12, elements=st.floats(-6, 6, width=32))
gains = arrays(float, 12, elements=st.floats(0, 200))


@given(angles, arrays(float, 12, elements=st.floats(-100, 100)), gains, gains, st.booleans())
def test_a_command_comes_back_to_the_last_step_of_the_wire(angle, torque, kp, kd, servo):
    sent = command(angle=angle.astype(float), torque=torque, kp=kp, kd=kd, servo=servo)
    back = decode_command(wire.encode_command(sent))
    assert isinstance(back, Command)
    assert same(back, sent, ["angle", "speed", "servo"])
    for name, step in (("torque", 1 / 256), ("kp", 1 / 32), ("kd", 1 / 16)):
        there, here = getattr(sent, name), getattr(back, name)
        assert (np.abs(here) <= np.abs(there)).all()  # cut, never rounded up
        assert (np.abs(there - here) < step).all()
    assert same(back, decode_command(wire.encode_command(back)))


@given(angles, angles, st.integers(0, 2**32 - 1), st.binary(min_size=40, max_size=40))
def test_a_state_comes_back(angle, speed, tick, remote):
    state = said(tick, angle, speed=speed.astype(float), remote=remote)
    state = replace(state, gyro=ZERO[:3], acceleration=np.array([0.5, 0.0, 9.75]))
    back = decode_state(wire.encode_state(state))
    assert isinstance(back, State)
    assert same(back, state)


@pytest.mark.parametrize("name", ["angle", "speed", "torque", "kp", "kd"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_never_packed(name, value):
    with pytest.raises(ValueError, match=name):
        wire.encode_command(command(**{name: one("FL.hip", value)}))


@pytest.mark.parametrize(("name", "value"), [("torque", -129.0), ("kp", 1025.0), ("kd", 2049.0)])
def test_what_would_wrap_around_is_never_packed(name, value):
    with pytest.raises(ValueError, match=f"{name} = .* at most"):
        wire.encode_command(command(**{name: one("FL.hip", value)}))


GOOD = wire.encode_state(said(7))
TOLD = wire.encode_command(command(angle=np.full(12, 0.5), kp=np.full(12, 80.0)))


def with_field(layout, covered, data, value, *path):
    """A packet with one number changed and a checksum that is right for it."""
    values = np.frombuffer(data, layout)[0].copy()
    place = values
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return resealed(values.tobytes(), covered)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "length"),
        (GOOD[:-1], "length"),
        (GOOD + b"\0", "length"),
        (TOLD, "length"),
        (GOOD[:100] + bytes([GOOD[100] ^ 1]) + GOOD[101:], "checksum"),
        (GOOD[:-1] + bytes([GOOD[-1] ^ 128]), "checksum"),
        (with_field(STATE, 764, GOOD, np.nan, "gyro", 1), "not finite"),
        (with_field(STATE, 764, GOOD, np.inf, "motor", 11, "dq"), "not finite"),
        (with_field(STATE, 764, GOOD, -np.inf, "motor", 0, "q"), "not finite"),
        (with_field(STATE, 764, GOOD, 1e30, "acceleration", 2), "implausible"),
        (with_field(STATE, 764, GOOD, 7.1, "motor", 3, "q"), "implausible"),
        (with_field(STATE, 764, GOOD, -60.5, "motor", 3, "dq"), "implausible"),
        (with_field(STATE, 764, GOOD, 25700, "motor", 3, "tau"), "implausible"),  # 100.4 N m
        (with_field(STATE, 764, GOOD, 126, "motor", 3, "temperature"), "implausible"),
        (with_field(STATE, 764, GOOD, -41, "motor", 3, "temperature"), "implausible"),
        (with_field(STATE, 764, GOOD, 0.9, "quaternion", 0), "implausible"),
        (with_field(STATE, 764, GOOD, 0.4, "quaternion", 3), "implausible"),  # length 1.08
    ],
)
def test_a_doubtful_state_is_refused_with_its_reason(data, reason):
    refused = decode_state(data)
    assert isinstance(refused, Refused)
    assert refused.reason == reason
    assert reason in REASONS
    assert refused.detail


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (TOLD[:-2], "length"),
        (GOOD, "length"),
        (TOLD[:50] + bytes([TOLD[50] ^ 4]) + TOLD[51:], "checksum"),
        (with_field(COMMAND, 604, TOLD, 0xEE, "level"), "level"),
        (with_field(COMMAND, 604, TOLD, np.nan, "motor", 5, "q"), "not finite"),
        (with_field(COMMAND, 604, TOLD, np.inf, "motor", 5, "dq"), "not finite"),
        (with_field(COMMAND, 604, TOLD, 7, "motor", 5, "mode"), "implausible"),
        (with_field(COMMAND, 604, TOLD, -1, "motor", 5, "kp"), "implausible"),
        (with_field(COMMAND, 604, TOLD, -1, "motor", 5, "kd"), "implausible"),
    ],
)
def test_a_doubtful_command_is_refused_with_its_reason(data, reason):
    refused = decode_command(data)
    assert isinstance(refused, Refused)
    assert refused.reason == reason


def test_what_the_places_without_a_motor_hold_does_not_matter():
    odd = with_field(STATE, 764, GOOD, np.nan, "motor", 12, "q")
    assert same(decode_state(odd), decode_state(GOOD))


@pytest.mark.parametrize(
    ("tick", "than", "answer"),
    [
        (8, 7, True),
        (7, 7, False),
        (6, 7, False),
        (0, 2**32 - 1, True),  # began again
        (2**32 - 1, 0, False),
        (1000, 2**32 - 1000, True),
        (2**31 - 1, 0, True),
        (2**31, 0, False),  # as far back as ahead: old
    ],
)
def test_ticks_are_ordered_across_their_wrap(tick, than, answer):
    assert newer(tick, than) is answer
