"""A pose comes through whole or not at all, and an old one never replaces a newer."""

import math
import random
import socket

import pytest

from ursa.errors import UserError
from ursa.gate.where import FORM, Receiver, Where, decode, encode

HERE = Where(count=7, x=1.25, y=-0.5, yaw=3.0)


def sender(receiver: Receiver):
    def send(data: bytes) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
            plug.sendto(data, receiver.local)

    return send


def test_a_pose_comes_back_as_it_was_sent():
    data = encode(HERE)
    assert len(data) == FORM.size == 48
    assert decode(data) == HERE


def test_a_damaged_or_impossible_pose_is_no_pose():
    data = encode(HERE)
    print("seed 3")
    chance = random.Random(3)
    for _ in range(2000):
        bad = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            bad[chance.randrange(len(bad))] ^= chance.randint(1, 255)
        assert bytes(bad) == data or decode(bytes(bad)) is None
    for size in range(60):
        assert size == 48 or decode((data * 2)[:size]) is None
    for wrong in (math.nan, math.inf, 1e9):
        assert decode(encode(Where(count=1, x=wrong, y=0.0, yaw=0.0))) is None
        assert decode(encode(Where(count=1, x=0.0, y=0.0, yaw=wrong))) is None


def test_the_newest_pose_wins_and_a_source_that_begins_anew_is_believed():
    receiver = Receiver(("127.0.0.1", 0))
    send = sender(receiver)
    assert receiver.receive() is None
    for count in (5, 7, 6):
        send(encode(Where(count=count, x=float(count), y=0.0, yaw=0.0)))
    send(b"noise")
    found = receiver.receive()
    assert found is not None
    assert found.x == 7
    send(encode(Where(count=6, x=6.0, y=0.0, yaw=0.0)))
    assert receiver.receive() is None
    send(encode(Where(count=50_000, x=9.0, y=0.0, yaw=0.0)))
    assert receiver.receive() is not None
    send(encode(Where(count=1, x=1.0, y=0.0, yaw=0.0)))
    found = receiver.receive()
    assert found is not None
    assert found.x == 1
    assert receiver.counts == {"bad": 1, "received": 3, "old": 1}
    receiver.close()


def test_a_port_in_use_is_refused_with_its_address():
    one = Receiver(("127.0.0.1", 0))
    with pytest.raises(UserError, match=rf"cannot listen on 127\.0\.0\.1:{one.local[1]}"):
        Receiver(one.local)
    one.close()
