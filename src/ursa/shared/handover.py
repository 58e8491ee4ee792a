"""Handover: the newest policy from the learner to the actor, in memory that outlives both.

Two places, each with a version, a length and a digest. A new snapshot is written where the newest
one is not, so that a writer that dies has spoilt nothing; it counts when the digest over version,
length and bytes is right, whatever order the processors saw the stores in. The words `begun` and
`done` around it (a seqlock) only save the reader from hashing what is still being written.
"""

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from ursa.claim import Claim
from ursa.errors import UserError
from ursa.shared import mapped
from ursa.shared.mapped import Mapped

KIND, FORMAT = b"ursahand", 1
PLACES = 2
BEGUN, DONE, VERSION, LENGTH, DIGEST = range(5)  # words of a place; the digest has two
APART = 64  # words from one place to the next: other cache lines


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What the actor acts by: named arrays, every number finite, replaced whole."""

    version: int  # counts up from 1
    arrays: Mapping[str, np.ndarray]


def create(path: Path, *, capacity: int) -> None:
    """Memory for snapshots of at most `capacity` bytes; nothing is published yet."""
    if capacity < 1:
        raise UserError(f"handover: capacity = {capacity} bytes, want at least 1")
    room = (capacity + mapped.PAGE - 1) // mapped.PAGE * mapped.PAGE
    mapped.create(path, KIND, FORMAT, (capacity, room), PLACES * room, [])


def encode(arrays: Mapping[str, np.ndarray]) -> bytes:
    """A snapshot as bytes (its length is the capacity it needs); numbers that are not finite
    are refused."""
    if bad := unsound(arrays):
        raise UserError(
            f"the policy is not published: {bad} holds numbers that are not finite; the robot "
            f"keeps the last good one"
        )
    return safetensors.numpy.save({name: np.asarray(it, order="C") for name, it in arrays.items()})


def unsound(arrays: Mapping[str, np.ndarray]) -> str:
    """Names of arrays with a number that is not finite; empty if all is well."""
    return ", ".join(
        name
        for name, array in arrays.items()
        if np.issubdtype(array.dtype, np.inexact) and not np.isfinite(array).all()
    )


class _Side:
    """What both ends do: find the places, and copy one out if it is whole."""

    def __init__(self, path: Path) -> None:
        self._mapped = Mapped(path, KIND, FORMAT)
        self._capacity, self._room = self._mapped.numbers

    def versions(self) -> list[int]:
        """What each place says it holds; 0 while it is being written."""
        found = []
        for place in range(PLACES):
            begun, done, version = (self._word(place, word) for word in (BEGUN, DONE, VERSION))
            found.append(version if begun == done == version else 0)
        return found

    def copied(self, place: int) -> tuple[int, bytes] | None:
        """Version and bytes of a place, if they belong together."""
        words = self._mapped.words
        at = place * APART
        version, length = words[at + VERSION], words[at + LENGTH]
        claimed = struct.pack("=2Q", words[at + DIGEST], words[at + DIGEST + 1])
        if version == 0 or length > self._capacity:
            return None
        start = self._start(place)
        data = bytes(self._mapped.bytes[start : start + length])
        return (version, data) if digest(version, data) == claimed else None

    def close(self) -> None:
        """Leave; what is published stays."""
        self._mapped.close()

    def _word(self, place: int, word: int) -> int:
        return self._mapped.words[place * APART + word]

    def _start(self, place: int) -> int:
        return mapped.PAGE + place * self._room


class Publisher(_Side):
    """The learner's end; there is one at a time."""

    def __init__(self, path: Path) -> None:
        """Continue after what the last publisher finished."""
        self._claim = Claim(path.with_name(f"{path.name}.writer.lock"))
        try:
            super().__init__(path)
        except UserError:
            self._claim.close()
            raise
        whole = [  # only what readers can see: of two, the one they use must stay
            version if version and self.copied(place) is not None else 0
            for place, version in enumerate(self.versions())
        ]
        self.newest = max(whole)  # version; 0 if there is none
        self._place = whole.index(self.newest)

    def publish(self, version: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Replace the older of the two snapshots; readers have this one when it returns."""
        if version <= self.newest:
            raise ValueError(f"version {version} after version {self.newest}")
        data = encode(arrays)
        if len(data) > self._capacity:
            raise UserError(
                f"a policy of {len(data)} bytes where {self._capacity} were reserved: it changed "
                f"since the run began; start every process of the run again"
            )
        place = 1 - self._place
        first, second = struct.unpack("=2Q", digest(version, data))
        head = {VERSION: version, LENGTH: len(data), DIGEST: first, DIGEST + 1: second}
        self._set(place, BEGUN, version)
        write(self._mapped, self._start(place), data)
        for word, value in head.items():
            self._set(place, word, value)
        self._set(place, DONE, version)
        self.newest, self._place = version, place

    def close(self) -> None:
        super().close()
        self._claim.close()

    def _set(self, place: int, word: int, value: int) -> None:
        self._mapped.words[place * APART + word] = value


class Subscriber(_Side):
    """The actor's end; there may be several."""

    def newer(self, than: int) -> Snapshot | None:
        """The newest whole and finite snapshot after a version, or None: keep what you have.

        Asking costs microseconds. A new snapshot is copied, hashed and opened, tens of
        milliseconds for a large one: not between two ticks of a control loop.
        """
        versions = self.versions()
        for place in sorted(range(PLACES), key=versions.__getitem__, reverse=True):
            if versions[place] <= than:
                continue
            found = self.copied(place)
            if found is None or found[0] <= than:
                continue  # overwritten meanwhile; the next call finds what came
            snapshot = opened(*found)
            if snapshot is not None:
                return snapshot
        return None


def opened(version: int, data: bytes) -> Snapshot | None:
    """The arrays in the bytes, or None if they are not arrays or not finite."""
    try:
        arrays: dict[str, Any] = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, KeyError):  # the latter: numbers NumPy has no word for
        return None
    return None if unsound(arrays) else Snapshot(version=version, arrays=arrays)


def digest(version: int, data: bytes) -> bytes:
    """16 bytes over all that a place holds."""
    return hashlib.blake2b(
        data, digest_size=16, salt=struct.pack("=2Q", version, len(data))
    ).digest()


def write(memory: Mapped, start: int, data: bytes) -> None:
    """The one place where snapshots enter the memory."""
    memory.bytes[start : start + len(data)] = data
