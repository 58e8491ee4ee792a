"""Desk: where a learner's machine hears its robot, one conversation at a time. No JAX."""

import logging
from contextlib import suppress

from ursa.channel import carrier
from ursa.channel.carrier import Broken, Hello, Kind
from ursa.channel.channel import Channel, Door
from ursa.errors import UserError, shortened
from ursa.live.replica import Replica

HELLO = carrier.SHORT  # bytes that are read of somebody whose rows we do not know yet
log = logging.getLogger(__name__)


class Desk:
    """A door, a replica, and whoever is speaking; `turn` answers at most one frame."""

    def __init__(self, door: Door, replica: Replica) -> None:
        self._door, self._replica = door, replica
        self._channel: Channel | None = None
        self.welcomed = False  # whether the one who speaks said hello, and is ours

    def turn(self, seconds: float) -> bool:
        """Hear and answer one frame, if one comes within so many seconds."""
        newcomer = self._door.newcomer()
        if newcomer is not None:  # a robot that calls again has noticed a break before us
            self._part()
            self._channel = newcomer
        channel = self._channel
        if channel is None:
            self._door.wait(seconds)
            return False
        try:
            if not channel.waits(seconds):
                return False
            self._exchange(channel)
        except Broken as error:
            log.warning("the conversation with the robot broke: %s", error)
            self._part()
            return False
        return True

    def close(self) -> None:
        self._part()

    def _exchange(self, channel: Channel) -> None:
        live = self._replica.live
        if not self.welcomed:
            self._greet(channel, *channel.hear(HELLO))
            return
        assert live is not None
        kind, payload = channel.hear(carrier.most(live.layout.kind.size))
        try:
            channel.tell(*self._replica.answer(kind, payload))
        except UserError as error:  # of our own disk or memory: the robot need not know which
            raise Broken(str(error)) from error

    def _greet(self, channel: Channel, kind: Kind, payload: bytes) -> None:
        if kind is not Kind.HELLO:
            raise Broken(f"{kind.name} before a hello")
        try:
            hello = carrier.unpack(Hello, payload)
            welcome = self._replica.welcome(hello)
        except UserError as error:
            log.error("refused a robot: %s", error)
            channel.tell(Kind.REFUSED, shortened(str(error), 4000).encode())
            raise Broken("it was refused") from error
        channel.tell(Kind.WELCOME, carrier.pack(welcome))
        channel.agree(hello.nonce, welcome.nonce)
        self.welcomed = True
        log.info("run %s... is here; the copy ends at row %d", hello.run[:8], welcome.end)

    def _part(self) -> None:
        if self._channel is not None:
            with suppress(OSError):
                self._channel.close()
        self._channel, self.welcomed = None, False
