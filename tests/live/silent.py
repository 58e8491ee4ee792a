"""A robot that hears and never answers, and roles that end at once."""

import socket

from ursa.gate.wire import decode_command
from ursa.live.settings import Modules

DEAD = Modules(**dict.fromkeys(("gate", "recorder", "learner", "actor"), "live.stub_crashing"))


class Robot:
    """What a robot hears. It never answers."""

    def __init__(self):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.address = self._socket.getsockname()

    def heard(self):
        found = []
        while True:
            try:
                found.append(decode_command(self._socket.recv(2048)))
            except BlockingIOError:
                return found

    def close(self):
        self._socket.close()
