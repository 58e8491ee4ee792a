"""Two programs on one robot: the second is refused before it says a word."""

import socket
from contextlib import suppress

from gate.gated import LIMITS
from ursa.errors import UserError
from ursa.gate import link
from ursa.gate.link import Link


class Free:
    """A claim that anybody gets."""

    def close(self) -> None: ...


def words_of_a_second_gate() -> int:
    """How many datagrams reach a robot from a gate that comes while another one is there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as robot:
        robot.bind(("127.0.0.1", 0))
        robot.setblocking(False)
        with Link(robot.getsockname(), LIMITS.limp):
            with suppress(UserError), Link(robot.getsockname(), LIMITS.limp) as second:
                second.send(LIMITS.limp)
            heard = 0
            while True:
                try:
                    robot.recv(4096)
                except BlockingIOError:
                    return heard
                heard += 1


def test_a_second_gate_says_nothing():
    assert words_of_a_second_gate() == 0


def test_without_the_claim_it_would_speak(monkeypatch):
    monkeypatch.setattr(link, "claimed", lambda *arguments: Free())
    assert words_of_a_second_gate() == 1 + link.FAREWELLS
