"""Carrying: plays the learner's role on the robot's machine when the learner is on another.

It reads rows that are on disk, by number, beside the recorder, and carries them over; policies it
brings back go where a learner of this machine would have put them. Gate, actor and recorder do not
notice it, whether it has a learner, loses it or is killed. Started by the supervisor as `python -m
ursa.live.carrying FOLDER`. No JAX.
"""

import logging
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ursa.channel import carrier, secret
from ursa.channel import channel as channels
from ursa.channel.carrier import Broken, Hello, Kind, Taken, Unwanted, Welcome
from ursa.channel.channel import Channel
from ursa.errors import UserError
from ursa.live import child, orphans, settings
from ursa.live.replica import carried
from ursa.live.settings import Live
from ursa.log.shelf import Shelf
from ursa.run import folder as runs
from ursa.shared import handover, place
from ursa.shared.pulse import Pulse

NAP = 0.05  # s between two looks at the log when there is nothing to carry
AGAIN, LONGEST = 0.5, 30.0  # s until a learner that is gone is called again: doubled up to
FAREWELL = 5.0  # s to carry what the recorder puts on disk at the end
SHOWN = 12  # things that a learner says of itself and we pass on
log = logging.getLogger(__name__)


class Carrying:
    """The robot's end; `turn` makes at most one exchange, and calls again what broke."""

    def __init__(self, folder: Path, live: Live, call: Callable[[], Channel]) -> None:
        """`call` makes a new channel, or raises Broken or Unwanted."""
        self._folder, self._live, self._call = folder, live, call
        self._kind = live.layout.kind
        self._shelf = Shelf(folder, self._kind)
        self._channel: Channel | None = None
        self._publisher: handover.Publisher | None = None
        with suppress(UserError):  # none is there yet
            self._publisher = handover.Publisher(self._memory)
        self._passed = 0  # version of the last policy that was looked at, good or not
        self._after, self._wait = 0.0, AGAIN
        self.end = 0  # rows before this number are on disk at the learner's
        self.taken = Taken(end=0)  # what the learner said last
        self.why = "not called yet"  # why there is no learner; "" if there is
        self.worked = False  # a learner has welcomed us
        self.refused = 0  # policies that were no good

    @property
    def newest(self) -> int:
        """Version of the policy that is in place; 0 if there is none."""
        return 0 if self._publisher is None else self._publisher.newest

    def turn(self, now: float) -> bool:
        """One exchange, if a learner is there; True: there is more to carry.

        Unwanted, before any learner has welcomed us: a person has to put it right.
        """
        if self._channel is None and now < self._after:
            return False
        try:
            if self._channel is None:
                self._channel = self._call()
                self._greet(self._channel)
            return self._carry(self._channel)
        except (Broken, Unwanted) as error:
            self._part(now, error)
            if isinstance(error, Unwanted) and not self.worked:
                raise
            return False

    def close(self) -> None:
        for each in (self._channel, self._publisher, self._shelf):
            if each is not None:
                each.close()

    def _greet(self, channel: Channel) -> None:
        """Say who we are; agree on where to go on."""
        hello = introduced(self._folder, self._live)
        channel.tell(Kind.HELLO, carrier.pack(hello))
        kind, payload = channel.hear(carrier.SHORT)
        if kind is Kind.REFUSED:
            raise Unwanted(f"the learner refuses this robot: {payload.decode(errors='replace')}")
        if kind is not Kind.WELCOME:
            raise Broken(f"{kind.name} for a hello")
        welcome = carrier.unpack(Welcome, payload)
        self._refuse_other(welcome)
        channel.agree(hello.nonce, welcome.nonce)
        self.end, self.worked, self.why, self._wait = welcome.end, True, "", AGAIN
        log.info("the learner is there; it has %d rows", welcome.end)

    def _refuse_other(self, welcome: Welcome) -> None:
        """The learner's copy must be a beginning of our log."""
        end = self._shelf.refresh()
        hint = "start the learner with another --out: it gets all rows anew"
        if welcome.end > end:
            raise Unwanted(
                f"the learner's copy ends at row {welcome.end}, this robot's log at {end}: {hint}"
            )
        at = max(welcome.end - 1, 0)
        last = [carrier.mark(some[-1]) for _, some in self._shelf.records(at, welcome.end)]
        if last and welcome.last and last != [welcome.last]:
            raise Unwanted(f"row {at} of the learner's copy is not row {at} of this log: {hint}")

    def _carry(self, channel: Channel) -> bool:
        first, records = self._waiting()
        channel.tell(Kind.ROWS, carrier.rows(self.end, first, records))
        self.taken = carrier.unpack(Taken, self._heard(channel, Kind.TAKEN, carrier.SHORT))
        if self.taken.end not in (self.end, first + len(records)):
            raise Broken(f"a copy that ends at {self.taken.end} after row {first + len(records)}")
        carried = self.taken.end > self.end
        self.end = self.taken.end
        if self.taken.version > max(self.newest, self._passed):
            channel.tell(Kind.ASK, carrier.VERSION.pack(max(self.newest, self._passed)))
            self.put(*carrier.unpolicy(self._heard(channel, Kind.POLICY, carrier.LARGEST)))
        return carried

    def _heard(self, channel: Channel, wanted: Kind, most: int) -> bytes:
        kind, payload = channel.hear(most)
        if kind is not wanted:
            raise Broken(f"{kind.name} where {wanted.name} is due")
        return payload

    def _waiting(self) -> tuple[int, list[bytes]]:
        """The next rows on disk; those that are damaged are passed over, and the log says so."""
        found = next(iter(self._shelf.records(self.end, self._shelf.refresh())), None)
        return (self.end, []) if found is None else (found[0], found[1][: carrier.MOST])

    def put(self, version: int, data: bytes) -> bool:
        """Put a policy in place if it is newer than what is there, and finite."""
        if version <= self.newest:
            return False
        self._passed = max(self._passed, version)
        snapshot = handover.opened(version, data)
        if snapshot is None:
            self.refused += 1
            log.error("policy %d is not finite, or no policy: the last one stays", version)
            return False
        try:
            if self._publisher is None:
                handover.create(self._memory, capacity=len(handover.encode(snapshot.arrays)))
                self._publisher = handover.Publisher(self._memory)
            self._publisher.publish(version, snapshot.arrays)
        except UserError as error:
            self.refused += 1
            log.error("policy %d: %s", version, error)
            return False
        return True

    def _part(self, now: float, error: Exception) -> None:
        if self._channel is not None:
            with suppress(OSError):
                self._channel.close()
        self._channel = None
        wait = LONGEST if isinstance(error, Unwanted) else self._wait
        self._after, self._wait = now + wait, min(2 * self._wait, LONGEST)
        if str(error) != self.why:
            log.warning("no learner: %s; rows wait on disk", error)
        self.why = str(error)

    @property
    def _memory(self) -> Path:
        return place.shared(self._folder) / carrier.MEMORY


def introduced(folder: Path, live: Live) -> Hello:
    """The robot in a folder, as it names itself to a learner."""
    return Hello(
        run=place.origin(folder),
        layout=live.layout.kind.layout,
        size=live.layout.kind.size,
        config=asdict(runs.config_of(folder)),
        live=carried(live),
        nonce=secrets.token_hex(carrier.NONCE),
    )


def main(folder: Path) -> int:
    """Carry until asked to end; then what the recorder still puts on disk, for a moment."""
    ending = child.Ending()
    live = settings.read(folder)
    key = secret.read(secret.place(folder, live.key))
    address = channels.tcp(live.learner)
    with ExitStack() as stack:
        beating = stack.enter_context(closing(Pulse(folder, "learner")))
        carrying = Carrying(folder, live, lambda: channels.call(address, key))
        stack.callback(carrying.close)
        last: float | None = None  # when to leave at the latest
        while True:
            if ending.asked and last is None:
                last = time.monotonic() + FAREWELL
            recorded = last is not None and "recorder" not in orphans.present(folder)
            more = carrying.turn(time.monotonic())
            beating.beat(carrying.taken.progress, **shown(carrying))
            if last is not None:
                done = carrying.why or (recorded and not more)
                if done or time.monotonic() > last:
                    return 0
            if not more:
                time.sleep(NAP)


def shown(carrying: Carrying) -> dict[str, Any]:
    """What the learner says of itself, and how far away it is."""
    said = [
        (str(name), value)
        for name, value in carrying.taken.said.items()
        if isinstance(value, (int, float, str)) and len(str(value)) < 80
    ]
    return dict(said[:SHOWN]) | {
        "carried": carrying.end,
        "policy": carrying.newest,
        "refused_policies": carrying.refused,
        "away": (carrying.why or carrying.taken.paused)[:200],
    }


if __name__ == "__main__":
    child.enter(main)
