"""Strangers at the learner's port: without the key nothing is read, and nobody is held up."""

import pickle  # noqa: TID251 - to see that nobody opens one
import socket
import struct
import threading
from contextlib import ExitStack, nullcontext
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from live.carriers import KEY, Once
from live.machines import carried, outcome
from log.logs import step
from ursa.channel import carrier, channel
from ursa.channel.carrier import Broken, Kind
from ursa.channel.channel import Channel
from ursa.live import replica
from ursa.live.desk import Desk
from ursa.live.replica import Replica

OTHER = b"o" * 64


def unkeyed(monkeypatch):
    """Nobody is asked for the key, and no frame depends on it."""
    plain = carrier._digest
    monkeypatch.setattr(channel, "shaken", lambda *_: None)
    monkeypatch.setattr(carrier, "_digest", lambda key, *parts: plain(KEY, *parts))


def test_a_wrong_key_is_refused_and_nothing_is_read(machines):
    said, rows = outcome(machines, key=OTHER)
    assert "another key" in said
    assert "learner.key" in said
    assert rows == 0
    assert not (machines.copy / replica.ORIGIN).exists()  # not even a hello was read
    machines.door.close()
    assert machines.door.refused == 1


def test_without_the_key_anybody_would_be_heard(machines, monkeypatch):
    unkeyed(monkeypatch)
    assert outcome(machines, key=OTHER) == ("", 1)


def strangers(address):
    """One slams the door, one says nothing, one stops halfway, one speaks another protocol, one
    sends a huge length, one a negative one."""
    with socket.create_connection(address) as rude:
        rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for said in (b"", b"\0\0", b"GET / HTTP/1.1\r\n\r\n", b"\x7f\xff\xff\xff", b"\xff" * 12):
        made = socket.create_connection(address)
        made.sendall(said)
        yield made


def served_beside_strangers(machines, monkeypatch, tries):
    monkeypatch.setattr(channel, "HANDSHAKE", 0.3)
    machines.record(1)
    with ExitStack() as stack:
        for each in strangers(machines.door.address):
            stack.enter_context(each)
        robot = machines.carrying()
        for number in range(tries):
            robot.turn(100.0 * number)
            if not robot.why:
                break
        robot.close()
    return machines.replica.end


def test_strangers_who_say_nothing_or_nonsense_do_not_hold_the_door(machines, monkeypatch):
    assert served_beside_strangers(machines, monkeypatch, 40) == 1


def test_without_a_limit_on_the_handshake_one_silent_stranger_would(machines, monkeypatch):
    real, main = channel._deadline, threading.main_thread()

    def never(connection, seconds):  # at the door; the robot still gives up
        robot = threading.current_thread() is main
        return real(connection, seconds) if robot else nullcontext()

    monkeypatch.setattr(channel, "_deadline", never)
    assert served_beside_strangers(machines, monkeypatch, 4) == 0


def test_a_robot_that_is_connected_is_served_while_strangers_wait(machines, monkeypatch):
    robot = machines.carrying()
    robot.turn(0.0)
    with ExitStack() as stack:
        for each in strangers(machines.door.address):
            stack.enter_context(each)
        machines.record(3)
        assert robot.turn(0.0)  # nobody had to leave for that
        assert robot.end == 3
        robot.close()
        monkeypatch.setattr(channel, "HANDSHAKE", 0.1)


class Bomb:
    """What a pickle may do when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def bombed(path, raw=False):
    """A pickle is sent as a frame; whether it went off."""
    left, right = Pipe()
    bomb = pickle.dumps(Bomb(path))
    if raw:
        left.send_bytes(bomb)
    else:
        Channel(left, KEY, carrier.ROBOT).tell(Kind.HELLO, bomb)

    door = Once(Channel(right, KEY, carrier.LEARNER), lambda: None)
    desk = Desk(door, Replica(path.parent / "copy"))
    assert desk.turn(1.0) is False
    desk.close()
    left.close()
    return path.exists()


@pytest.mark.parametrize("raw", [True, False])
def test_a_pickle_sent_as_a_frame_is_never_unpickled(tmp_path, raw):
    assert not bombed(tmp_path / "sentinel", raw)


def test_a_channel_that_used_recv_would_unpickle_it(tmp_path, monkeypatch):
    def hear(self, most):
        self._connection.recv()
        raise Broken("too late")

    monkeypatch.setattr(Channel, "hear", hear)
    assert bombed(tmp_path / "sentinel", raw=True)


def heard(length, most):
    left, right = Pipe()
    with left, right:
        thread = threading.Thread(
            target=Channel(left, KEY, carrier.ROBOT).tell, args=(Kind.ROWS, bytes(length))
        )
        thread.start()
        try:
            return len(Channel(right, KEY, carrier.LEARNER).hear(most)[1])
        except Broken as error:
            return str(error)
        finally:
            thread.join()


def test_a_frame_that_is_too_long_is_not_read(monkeypatch):
    assert heard(1000, 1000) == 1000
    assert "bad message length" in heard(1001, 1000)
    real = Connection.recv_bytes
    monkeypatch.setattr(Connection, "recv_bytes", lambda self, most: real(self))
    assert heard(1001, 1000) == 1001  # without the limit


def test_rows_before_a_hello_are_refused(machines):
    robot, _ = carried(machines)
    robot.close()
    channel_ = channel.call(machines.door.address, KEY)
    channel_.tell(Kind.ROWS, carrier.rows(0, 0, [step(0)]))
    with pytest.raises(Broken):
        channel_.hear(1000)
    channel_.close()
    assert machines.replica.end == 0
