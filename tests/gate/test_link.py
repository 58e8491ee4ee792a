"""The link on loopback: the newest good packet or nothing, and limp on every way out."""

import socket
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gate.gated import LIMITS, STANDING, is_limp, said
from ursa.errors import UserError
from ursa.gate import link
from ursa.gate.link import Link, address, newest
from ursa.gate.wire import Command, Refused, State, decode_command, encode_state

PRESSED = bytes([0x55, 0x51, 0x10, 0]) + bytes(36)
TELL = Command(
    angle=STANDING,
    speed=np.zeros(12),
    torque=np.zeros(12),
    kp=np.full(12, 80.0),
    kd=np.ones(12),
)


@pytest.fixture
def robot():
    """A socket in place of a robot."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind(("127.0.0.1", 0))
        here.settimeout(5)  # loopback delivers at once; this only keeps a failure from hanging
        yield here


@pytest.fixture
def open_link(robot):
    with Link(robot.getsockname(), LIMITS.limp) as there:
        yield there


def packets(*ticks: int) -> list[bytes]:
    return [encode_state(said(tick)) for tick in ticks]


def heard(robot) -> list[Command]:
    """Every command that is waiting at the robot."""
    robot.setblocking(False)
    found = []
    while True:
        try:
            found.append(decode_command(robot.recv(2048)))
        except BlockingIOError:
            return found


def test_it_listens_on_loopback_and_nowhere_else(open_link):
    assert open_link.local[0] == "127.0.0.1"


def test_nothing_there_is_nothing_at_once(open_link):
    assert open_link.receive() is None


def test_a_command_arrives(open_link, robot):
    assert open_link.send(TELL)
    back = decode_command(robot.recv(2048))
    np.testing.assert_allclose(back.angle, STANDING, atol=1e-6)
    assert open_link.counts == {"sent": 1}


def test_the_newest_of_several_is_taken(open_link, robot):
    for data in packets(5, 7, 6, 7):
        robot.sendto(data, open_link.local)
    state = open_link.receive()
    assert isinstance(state, State)
    assert state.tick == 7
    assert open_link.counts == {"received": 4, "overtaken": 1, "reordered": 1, "repeated": 1}
    assert open_link.receive() is None


def test_order_is_kept_in_mind_between_two_looks():
    counts = Counter()
    assert newest(packets(9), 12, counts).tick == 9  # the gate has the last word
    assert counts["reordered"] == 1
    counts = Counter()
    assert newest(packets(2**32 - 1, 0, 1), 2**32 - 2, counts).tick == 1
    assert counts == {"received": 3, "overtaken": 2}


def test_a_good_packet_outweighs_bad_ones_and_all_are_counted():
    counts = Counter()
    damaged = bytearray(encode_state(said(8)))
    damaged[99] ^= 1
    found = newest([b"", *packets(5), bytes(damaged)], None, counts)
    assert found.tick == 5
    assert counts == {"received": 3, "bad length": 1, "bad checksum": 1}


def test_if_all_are_bad_the_gate_hears_of_it():
    assert isinstance(newest([b"", b"x"], None, Counter()), Refused)


def test_a_button_pressed_in_a_packet_that_was_overtaken_counts():
    pressed = encode_state(replace(said(5), remote=PRESSED))
    found = newest([pressed, *packets(6)], None, Counter())
    assert found.tick == 6
    assert found.remote == PRESSED


def test_a_stranger_is_not_heard(open_link, robot):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.sendto(packets(9)[0], open_link.local)
    assert open_link.receive() is None
    assert open_link.counts == {"foreign": 1}


def test_if_any_sender_will_do_the_stranger_is_heard(open_link, robot):
    """The same stranger with the check disarmed: the test above can fail."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.sendto(packets(9)[0], open_link.local)
        open_link.robot = stranger.getsockname()
        assert isinstance(open_link.receive(), State)


def test_a_flood_is_taken_in_portions(open_link, robot):
    for data in packets(*range(70)):
        robot.sendto(data, open_link.local)
    assert open_link.receive().tick == 63
    assert open_link.receive().tick == 69


def test_a_pulled_cable_is_counted_and_does_not_raise(open_link, monkeypatch):
    class Pulled:
        def sendto(self, *arguments):
            raise OSError(101, "Network is unreachable")

        def recvfrom(self, size):
            raise ConnectionResetError

    with monkeypatch.context() as patch:
        patch.setattr(open_link, "_socket", Pulled())
        assert not open_link.send(TELL)
        assert open_link.receive() is None
    assert open_link.counts == {"unsent": 1, "unreceived": 1}


def test_a_command_that_cannot_be_packed_becomes_the_limp_one(open_link, robot):
    assert open_link.send(replace(TELL, angle=STANDING * np.nan))
    assert is_limp(decode_command(robot.recv(2048)))
    assert open_link.counts["unsendable"] == 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_happens_the_last_word_is_limp(robot, error):
    def left():
        with Link(robot.getsockname(), LIMITS.limp) as there:
            there.send(TELL)
            raise error

    with pytest.raises(error):
        left()
    told = heard(robot)
    assert not is_limp(told[0])
    assert len(told) == 1 + link.FAREWELLS
    assert all(is_limp(each) for each in told[1:])


def test_without_the_farewell_it_would_not_be(robot, monkeypatch):
    monkeypatch.setattr(link, "FAREWELLS", 0)
    with Link(robot.getsockname(), LIMITS.limp) as there:
        there.send(TELL)
    assert not is_limp(heard(robot)[-1])


def test_closing_twice_is_fine(robot):
    there = Link(robot.getsockname(), LIMITS.limp)
    there.close()
    there.close()
    assert len(heard(robot)) == link.FAREWELLS


def test_an_address_in_use_is_said_in_a_sentence(robot):
    with pytest.raises(UserError, match=r"cannot listen on .* another run"):
        Link(("127.0.0.1", 9), LIMITS.limp, local=robot.getsockname())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("udp://127.0.0.1:8007", ("127.0.0.1", 8007)),
        ("udp://192.168.123.10:9", ("192.168.123.10", 9)),
        ("udp://127.0.0.1", ("127.0.0.1", 8007)),
    ],
)
def test_a_link_is_written_like_this(text, wanted):
    assert address(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:8007",
        "tcp://127.0.0.1:8007",
        "udp://",
        "udp://127.0.0.1:x",
        "udp://127.0.0.1:70000",
        "udp://127.0.0.1:8007/path",
        "udp://me@127.0.0.1:8007",
        "udp://no..such:1",
        "udp://[::1:1",
    ],
)
def test_any_other_writing_is_refused_with_an_example(text):
    with pytest.raises(UserError, match=r"want udp://HOST:PORT, such as udp://127\.0\.0\.1:8007"):
        address(text)


def test_a_robot_has_one_gate_at_a_time_and_the_second_sends_nothing(robot):
    with Link(robot.getsockname(), LIMITS.limp) as there:
        with pytest.raises(UserError, match=r"the robot at 127\.0\.0\.1:\d+ is in use by process"):
            Link(robot.getsockname(), LIMITS.limp)
        assert there.send(LIMITS.limp)
        assert robot.recv(4096)
        robot.setblocking(False)
        with pytest.raises(BlockingIOError):
            robot.recv(4096)
    Link(robot.getsockname(), LIMITS.limp).close()  # free again
