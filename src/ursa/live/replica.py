"""Replica: a learner machine's copy of a robot's run: its settings and its log, row by row.

The folder is one of a run like any other: `ursa.live.learning` learns in it, `ursa look` and `ursa
replay` read it. `origin.json` says whose copy it is. No JAX.
"""

import secrets
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from ursa import config as checking
from ursa import durable
from ursa.channel import carrier
from ursa.channel.carrier import Broken, Hello, Kind, Taken, Unwanted, Welcome
from ursa.config import Config
from ursa.errors import UserError, brief
from ursa.live import settings as living
from ursa.live.settings import Live
from ursa.log.ledger import Ledger, Refused
from ursa.log.shelf import Shelf
from ursa.run import folder as place
from ursa.run import settings
from ursa.shared import handover, pulse
from ursa.shared.place import shared

ORIGIN = "origin.json"
LARGEST = 1 << 16  # bytes of it
# What a learner needs of the robot's settings. Never which modules to run.
CARRIED = (
    *("robot", "rows", "ratio_least", "ratio_most", "publish", "checkpoint"),
    *("observation", "action", "posture", "skill"),
)


class Replica:
    """The copy in a folder; there is one writer. `answer` is all that a robot can ask of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.live: Live | None = None  # None: no robot has called yet
        self._ledger: Ledger | None = None
        self._subscriber: handover.Subscriber | None = None
        self._watch: pulse.Watch | None = None
        if self._origin() and (folder / living.NAME).exists():
            self._open(living.read(folder))

    @property
    def end(self) -> int:
        """Rows before this number are on disk."""
        return 0 if self._ledger is None else self._ledger.end

    def answer(self, kind: Kind, payload: bytes) -> tuple[Kind, bytes]:
        """What to say to a robot that was welcomed; rows are on disk before it is said."""
        if kind is Kind.ROWS:
            paused = self._take(payload)
            return Kind.TAKEN, carrier.pack(self._taken(paused))
        if kind is Kind.ASK and len(payload) == carrier.VERSION.size:
            return Kind.POLICY, self._policy(*carrier.VERSION.unpack(payload))
        raise Broken(f"{kind.name} of {len(payload)} bytes where nobody asks for it")

    def welcome(self, hello: Hello) -> Welcome:
        """Where to go on; UserError if the robot is not the one whose copy this is."""
        config, live = _config(hello), _live(hello)
        known = self._origin()
        if not known:
            place.refuse_taken(self.folder)
            self._write(ORIGIN, {"format": carrier.FORMAT, "run": hello.run})
        elif known != hello.run:
            raise Unwanted(
                f"{self.folder} is a copy of run {known[:8]}..., this robot is run "
                f"{hello.run[:8]}... (a run's folder that was copied, or put back from a backup, "
                "is a run of its own): start the learner with another --out, it gets all rows anew"
            )
        if not (self.folder / place.CONFIG).exists():
            place.begin(self.folder, config)
        settings.refuse_other(place.config_of(self.folder), config, self.folder)
        if self.live is not None and self.live.layout != live.layout:
            raise Unwanted(f"{self.folder} has rows of {self.live.layout}, not of {live.layout}")
        if live != self.live:
            living.write(self.folder, live)
        self._open(live)
        return Welcome(end=self.end, last=self._last(), nonce=secrets.token_hex(carrier.NONCE))

    def close(self) -> None:
        """Nothing needs this: a killed one has lost nothing either."""
        for each in (self._ledger, self._subscriber, self._watch):
            if each is not None:
                each.close()
        self._ledger = self._subscriber = self._watch = None

    def _take(self, payload: bytes) -> str:
        """Put rows on disk, or say why the disk takes none."""
        ledger, live = self._ledger, self.live
        if ledger is None or live is None:
            raise Broken("rows before a hello")
        after, first, records = carrier.unrows(payload, live.layout.kind.size)
        if after != ledger.end:
            raise Broken(f"rows after {after}, the copy ends at {ledger.end}")
        try:
            if records and first > ledger.end:  # lost at the robot; its log says why
                ledger.leave_gap(first)
            self.commit(first, records)
        except Refused as error:
            return str(error)
        return ""

    def commit(self, first: int, records: Sequence[bytes]) -> None:
        """The one place where rows come in."""
        assert self._ledger is not None
        if records:
            self._ledger.commit(first, records)

    def _taken(self, paused: str) -> Taken:
        if self._watch is None:
            self._watch = self._watched()
        beat = None if self._watch is None else self._watch.last()
        source = self._source()
        return Taken(
            end=self.end,
            version=0 if source is None else max(source.versions()),
            paused=paused,
            progress=0 if beat is None else beat.progress,
            said={} if beat is None else dict(beat.said),
        )

    def _policy(self, than: int) -> bytes:
        """The newest one after a version, whole and finite; version 0 if there is none."""
        source = self._source()
        found = None if source is None else source.newer(than)
        if found is None:
            return carrier.policy(0, b"")
        return carrier.policy(found.version, handover.encode(found.arrays))

    def _source(self) -> handover.Subscriber | None:
        if self._subscriber is None:
            try:
                self._subscriber = handover.Subscriber(shared(self.folder) / carrier.MEMORY)
            except UserError:
                return None  # the learner has not made the memory yet
        return self._subscriber

    def _watched(self) -> pulse.Watch | None:
        try:
            return pulse.Watch(self.folder, "learner")
        except UserError:
            return None  # no learner was started yet

    def _open(self, live: Live) -> None:
        if self._ledger is None:
            self._ledger = Ledger(self.folder, live.layout.kind)
        self.live = live

    def _last(self) -> str:
        assert self.live is not None
        with closing(Shelf(self.folder, self.live.layout.kind)) as shelf:
            found = [some[-1] for _, some in shelf.records(max(self.end - 1, 0), self.end)]
        return carrier.mark(found[-1]) if found else ""

    def _origin(self) -> str:
        """Whose copy the folder is; "" if it is nobody's yet."""
        path = self.folder / ORIGIN
        try:
            found = durable.from_json(durable.read_bounded(path, LARGEST))
            return str(found["run"])
        except FileNotFoundError:
            return ""
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise UserError(f"{path} cannot be read: {error}; choose another --out") from error

    def _write(self, name: str, value: Any) -> None:
        data = durable.to_json(value)
        with durable.room_for(name, self.folder, len(data)):
            durable.write(self.folder / f"tmp.{name}", data)
            durable.rename(self.folder / f"tmp.{name}", self.folder / name)


def carried(live: Live) -> dict[str, Any]:
    """What goes to the learner of a robot's settings."""
    return {name: getattr(live, name) for name in CARRIED}


def _config(hello: Hello) -> Config:
    """The robot's config, checked like one that a person wrote."""
    config = checking.check(settings.structured(settings.aged(hello.config), "the robot's config"))
    for name in (config.robot, config.task):
        if ":" in name or "." in name:  # a module: what a stranger names is not imported
            raise Unwanted(
                f'"{name}" is a module of the robot\'s machine: a learner on another machine takes '
                "only robots and tasks that an installed package declares"
            )
    return config


def _live(hello: Hello) -> Live:
    """The robot's settings as far as they are carried; those of its processes stay ours."""
    standard = Live()
    if hello.live.keys() != set(CARRIED):
        raise Unwanted(f"settings {brief(sorted(hello.live))}, want {', '.join(CARRIED)}")
    for name, value in hello.live.items():
        right = type(getattr(standard, name))
        allowed = (int, float) if right is float else right
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise Unwanted(f"{name} = {brief(value)}, want {right.__name__}")
    live = living.check(replace(standard, **hello.live))
    kind = live.layout.kind
    if (hello.layout, hello.size) != (kind.layout, kind.size):
        raise Unwanted(
            f"rows are laid out as {brief(hello.layout)} ({hello.size} bytes), this version of "
            f"ursa has {kind.layout} ({kind.size} bytes): install the same on both machines"
        )
    return live
