"""Carrier: what a robot and a learner on two machines say to each other, as bytes. Pure.

The robot asks and the learner answers, one frame each in turn, so neither ever writes while the
other does. The robot's log is the truth: rows go to the learner by their number after they are on
disk here, and count as taken when they are on disk there. Nobody remembers what was sent: after
any break the learner says where its copy ends, and the robot goes on from there.

    HELLO -> WELCOME or REFUSED     who I am; where the copy ends
    ROWS  -> TAKEN                  some rows, or none; where the copy ends now, what is new
    ASK   -> POLICY                 newer than this version, please

Each frame carries its number and a digest with the key of the run over number, direction and
conversation: cut, changed, repeated, reordered or recorded ones do not open.
"""

import enum
import hashlib
import hmac
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

from ursa import durable
from ursa.errors import UserError, brief
from ursa.shared import handover

FORMAT = 1
MOST = 512  # rows in a frame
SHORT = 1 << 18  # bytes of a frame that is not rows or a policy
LARGEST = 1 << 29  # bytes of a policy
NONCE, DIGEST = 16, 32
HEAD = struct.Struct("<QB")  # number of the frame, kind
ROWS = struct.Struct("<QQI")  # where the copy should end, number of the first row, how many
VERSION = struct.Struct("<Q")
MEMORY = "policy"  # where snapshots lie in the shared memory of a run, as `snapshot.memory` says
ROBOT, LEARNER = b"robot", b"learner"  # who speaks
NUMBERS = 2**63  # of rows, versions and counts: below


class Broken(Exception):
    """This conversation is over, nothing of the last frame counts; make another."""


class Unwanted(UserError):
    """The two sides do not belong together; trying again would not help."""


class Kind(enum.IntEnum):
    HELLO, WELCOME, REFUSED, ROWS, TAKEN, ASK, POLICY = range(1, 8)


@dataclass(frozen=True, kw_only=True)
class Hello:
    """Who the robot is: one run, its rows and its settings."""

    run: str  # identity of the robot's folder
    layout: str  # of its rows
    size: int  # bytes of a row
    config: Mapping[str, Any]
    live: Mapping[str, Any]  # those of its settings that a learner needs
    nonce: str
    format: int = FORMAT


@dataclass(frozen=True, kw_only=True)
class Welcome:
    """Where the learner's copy ends."""

    end: int
    last: str  # digest of the row before; "" if there is none, or it cannot be read
    nonce: str
    format: int = FORMAT


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What the learner has."""

    end: int  # rows before this number are on disk there
    version: int = 0  # of its newest policy
    paused: str = ""  # why it takes no rows just now
    progress: int = 0  # updates
    said: Mapping[str, Any] = field(default_factory=dict)  # what it shows of itself


T = TypeVar("T", Hello, Welcome, Taken)


def seal(
    key: bytes, speaker: bytes, session: bytes, number: int, kind: Kind, payload: bytes
) -> bytes:
    """A frame, as it goes over the wire."""
    head = HEAD.pack(number, kind)
    return _digest(key, speaker, session, head, payload) + head + payload


def unseal(
    key: bytes, speaker: bytes, session: bytes, number: int, frame: bytes
) -> tuple[Kind, bytes]:
    """What is in frame `number` of a speaker; Broken if it is not that, to the last bit."""
    body = memoryview(frame)[DIGEST:]
    if len(body) < HEAD.size:
        raise Broken(f"a frame of {len(frame)} bytes was cut")
    head, payload = body[: HEAD.size], body[HEAD.size :]
    if not hmac.compare_digest(_digest(key, speaker, session, head, payload), frame[:DIGEST]):
        raise Broken("a frame that is damaged, or not of this conversation")
    found, kind = HEAD.unpack(head)
    if found != number:
        raise Broken(f"frame {found} where {number} is due: repeated, reordered or lost")
    if kind not in set(Kind):
        raise Broken(f"a frame of kind {kind}")
    return Kind(kind), bytes(payload)


def session(hello: str, welcome: str) -> bytes:
    """What all frames after the greeting have in common, and no other conversation has."""
    return hashlib.blake2b(f"{hello} {welcome}".encode(), digest_size=DIGEST).digest()


def pack(said: Hello | Welcome | Taken) -> bytes:
    return durable.to_json(asdict(said))


def unpack(kind: type[T], payload: bytes) -> T:
    """What the other side said, of the right names and kinds; Unwanted: of another format."""
    try:
        raw = durable.from_json(payload)
    except ValueError as error:
        raise Broken(f"{kind.__name__}: {error}") from error
    if not isinstance(raw, dict):
        raise Broken(f"{kind.__name__}: {brief(raw)}")
    told = raw.get("format")
    if kind is not Taken and told != FORMAT:
        raise Unwanted(
            f"the other side speaks format {brief(told)}, this one {FORMAT}: install the same "
            "version of ursa on both machines"
        )
    wanted = {each.name: each.type for each in fields(kind)}
    if raw.keys() != wanted.keys():
        raise Broken(f"{kind.__name__} with {brief(sorted(raw))}")
    for name, value in raw.items():
        right = wanted[name] if wanted[name] in (str, int) else dict
        if not isinstance(value, right) or isinstance(value, bool):  # pyright: ignore
            raise Broken(f"{kind.__name__}: {name} = {brief(value)}")
        if right is int and not 0 <= value < NUMBERS:
            raise Broken(f"{kind.__name__}: {name} = {brief(value)}")
    return kind(**raw)


def rows(after: int, first: int, records: Sequence[bytes]) -> bytes:
    """Rows that follow one another; between `after` and `first` they are lost for good."""
    return ROWS.pack(after, first, len(records)) + b"".join(records)


def unrows(payload: bytes, size: int) -> tuple[int, int, list[bytes]]:
    """The same: where the copy should end, the number of the first, rows of so many bytes."""
    if len(payload) < ROWS.size:
        raise Broken("rows without a head")
    after, first, count = ROWS.unpack_from(payload)
    if count > MOST or len(payload) != ROWS.size + count * size or not after <= first < NUMBERS:
        raise Broken(f"{count} rows of {size} bytes from {first} in {len(payload)} bytes")
    starts = range(ROWS.size, len(payload), size) if count else ()
    return after, first, [payload[at : at + size] for at in starts]


def most(size: int) -> int:
    """Bytes of the longest frame that a robot with such rows sends."""
    return max(SHORT, MOST * size + SHORT)


def policy(version: int, data: bytes) -> bytes:
    """A snapshot that is whole when its digest is right; version 0: there is none."""
    return VERSION.pack(version) + handover.digest(version, data) + data


def unpolicy(payload: bytes) -> tuple[int, bytes]:
    """Version and bytes of a whole snapshot."""
    if len(payload) < VERSION.size + 16:
        raise Broken("a policy without a head")
    (version,) = VERSION.unpack_from(payload)
    told, data = payload[VERSION.size : VERSION.size + 16], payload[VERSION.size + 16 :]
    if handover.digest(version, data) != told:
        raise Broken(f"policy {version} is not what was sent")
    return version, data


def mark(record: bytes) -> str:
    """A row, short enough to compare."""
    return hashlib.blake2b(record, digest_size=16).hexdigest()


def _digest(key: bytes, speaker: bytes, session: bytes, *parts: bytes | memoryview) -> bytes:
    found = hashlib.blake2b(session, key=key, person=speaker, digest_size=DIGEST)
    for part in parts:
        found.update(part)
    return found.digest()
