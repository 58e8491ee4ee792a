"""Channel: frames between two machines, over the standard library's authenticated connections.

Of `multiprocessing.connection` only bytes are used: its `send` and `recv` would run what a stranger
sends. The handshake (both sides prove with an HMAC that they have the key) reads at most 256 bytes
at a time and unpickles nothing. It has no time limit of its own, so it gets one here; so do all
reads and writes after it. Nothing is encrypted.
"""

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from urllib.parse import urlsplit

from ursa.channel import carrier
from ursa.channel.carrier import Broken, Kind, Unwanted
from ursa.errors import UserError

PORT = 8077
PATIENCE = 30.0  # s that a read or write may stand still: a slow disk is no hang
HANDSHAKE = 3.0  # s for all of it: a stranger holds the door no longer
WAITING = 8  # strangers before the door
Address = tuple[str, int]
Handshake = Callable[[Connection, bytes], None]


class Channel:
    """One end of a conversation; any failure ends it."""

    def __init__(self, connection: Connection, key: bytes, me: bytes) -> None:
        self._connection, self._key = connection, key
        self._me, self._other = me, carrier.LEARNER if me == carrier.ROBOT else carrier.ROBOT
        self._session, self._told, self._heard = carrier.session("", ""), 0, 0

    def tell(self, kind: Kind, payload: bytes) -> None:
        frame = carrier.seal(self._key, self._me, self._session, self._told, kind, payload)
        self._told += 1
        with _breaking():
            self._connection.send_bytes(frame)

    def hear(self, most: int) -> tuple[Kind, bytes]:
        """The next frame, of at most so many bytes; a longer one is not read."""
        with _breaking():
            frame = self._connection.recv_bytes(most + carrier.DIGEST + carrier.HEAD.size)
        found = carrier.unseal(self._key, self._other, self._session, self._heard, frame)
        self._heard += 1
        return found

    def agree(self, hello: str, welcome: str) -> None:
        """From now on frames belong to this conversation alone."""
        self._session = carrier.session(hello, welcome)

    def waits(self, seconds: float) -> bool:
        """Whether something came within so many seconds."""
        with _breaking():
            return self._connection.poll(seconds)

    def close(self) -> None:
        self._connection.close()


def call(address: Address, key: bytes) -> Channel:
    """The robot's end of a new conversation; Broken: nobody is there. Unwanted: another key."""
    with _breaking(), socket.create_connection(address, HANDSHAKE) as made:
        connection = _patient(made)
    shaken(connection, key, (answer_challenge, deliver_challenge))
    return Channel(connection, key, carrier.ROBOT)


class Door:
    """Where the learner's machine is called; strangers wait outside and hold up nobody."""

    def __init__(self, address: Address, key: bytes) -> None:
        """Listen from now on, in a thread."""
        self._key, self._over = key, threading.Event()
        self._newest: Channel | None = None
        self._came = threading.Event()
        self._lock = threading.Lock()
        self.refused = 0  # who could not prove that they have the key
        try:
            family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
            self._socket = socket.create_server(address, family=family, backlog=WAITING)
        except OSError as error:
            raise UserError(
                f"listen {address[0]}:{address[1]}: {error.strerror}; choose another port, or an "
                "address of this machine"
            ) from error
        self.address: Address = self._socket.getsockname()[:2]
        self._thread = threading.Thread(target=self._attend, name="door", daemon=True)
        self._thread.start()

    def newcomer(self) -> Channel | None:
        """Who came in last and was not asked for yet; earlier ones are sent away."""
        with self._lock:
            found, self._newest = self._newest, None
            self._came.clear()
        return found

    def wait(self, seconds: float) -> None:
        """Until somebody comes in, at most so long."""
        self._came.wait(seconds)

    def close(self) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._socket.close()
        self._thread.join()
        if (left := self.newcomer()) is not None:
            left.close()

    def _attend(self) -> None:
        while not self._over.is_set():
            try:
                made, _ = self._socket.accept()
            except OSError:  # closed, or out of handles for a moment
                self._over.wait(0.05)
                continue
            try:
                with made:
                    connection = _patient(made)
                shaken(connection, self._key, (deliver_challenge, answer_challenge))
            except (Broken, Unwanted, OSError):  # the last: it left before we looked
                self.refused += 1
                continue
            channel = Channel(connection, self._key, carrier.LEARNER)
            with self._lock:
                before, self._newest = self._newest, channel
                self._came.set()
            if before is not None:
                before.close()


def shaken(connection: Connection, key: bytes, steps: tuple[Handshake, Handshake]) -> None:
    """Both prove that they have the key, within a time; or the connection is closed."""
    try:
        with _deadline(connection, HANDSHAKE):
            for step in steps:
                step(connection, key)
    except AuthenticationError as error:
        connection.close()
        raise Unwanted(
            "the other side has another key: the file learner.key must be the same on both "
            "machines; copy the learner's to the robot's machine"
        ) from error
    except (OSError, EOFError, AssertionError, ValueError) as error:  # no challenge: assert in 3.11
        connection.close()
        raise Broken(f"no handshake: {type(error).__name__} {error}") from error
    except BaseException:
        connection.close()
        raise


def tcp(text: str) -> Address:
    """Host and port of `tcp://HOST:PORT`, as a user writes it."""
    try:
        parts = urlsplit(text if "://" in text else f"tcp://{text}")
        host, port = parts.hostname, parts.port
        rest = parts.path + parts.query + parts.fragment + (parts.username or "")
        if parts.scheme == "tcp" and host and not rest:
            return host, PORT if port is None else port
        why = "not of that form"
    except ValueError as error:  # a port that is no number
        why = str(error)
    raise UserError(
        f'"{text}": {why}; want tcp://HOST:PORT, such as tcp://127.0.0.1:{PORT} for a learner on '
        "this machine, or at the other end of an SSH tunnel"
    )


def refuse_exposed(address: Address, exposed: bool) -> None:
    """UserError if others than this machine could call, and nobody said that they may."""
    try:
        alone = ip_address(address[0]).is_loopback
    except ValueError:
        alone = address[0] == "localhost"
    if not alone and not exposed:
        raise UserError(
            f"listen {address[0]}:{address[1]}: other machines could call, and what is said is "
            f"not encrypted. Listen on 127.0.0.1:{address[1]} and, on the robot's machine, ssh -N "
            f"-L {address[1]}:127.0.0.1:{address[1]} THIS_MACHINE; or add --exposed in a network "
            "that you trust"
        )


def _patient(made: socket.socket) -> Connection:
    """A connection whose reads and writes end by themselves when nothing moves."""
    made.setblocking(True)
    seconds = struct.pack("@ll", int(PATIENCE), 0)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, seconds)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Connection(made.detach())


@contextlib.contextmanager
def _deadline(connection: Connection, seconds: float) -> Iterator[None]:
    """All of a block within so many seconds, however slowly the other side drips."""
    handle = socket.socket(fileno=os.dup(connection.fileno()))

    def end() -> None:
        with contextlib.suppress(OSError):
            handle.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        handle.close()


@contextlib.contextmanager
def _breaking() -> Iterator[None]:
    """Whatever the system says of a connection: it is over."""
    try:
        yield
    except EOFError as error:
        raise Broken("the other side has gone") from error
    except OSError as error:
        raise Broken(error.strerror or str(error) or type(error).__name__) from error
