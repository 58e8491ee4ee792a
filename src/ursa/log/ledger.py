"""Ledger: numbered records that are on disk, for good, when `commit` returns; one writer.

A commit that the disk refuses counts for nothing and may be tried again with the same records:
if the disk was full in the same volume, after any other error in a new one.
"""

import contextlib
import errno
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ursa import durable
from ursa.claim import Claim
from ursa.errors import UserError
from ursa.log.shelf import Shelf
from ursa.log.volume import About, Kind, Volume
from ursa.log.witness import Witness
from ursa.shared.place import refuse_remote

SAME_VOLUME = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY)  # nothing was harmed, only refused


class Refused(UserError):
    """The disk took nothing of a commit; what was acknowledged before is intact."""


class Ledger:
    """The writer of a ledger."""

    def __init__(self, folder: Path, kind: Kind) -> None:
        """Continue, or begin, the ledger of a kind in a folder; refused if somebody writes it."""
        self._folder, self._kind = folder, kind
        self._volume: tuple[Volume, Witness] | None = None
        if not folder.is_dir():  # one that is there is opened on a full disk, too, and waits
            with durable.room_for(kind.name, folder, 0):
                durable.make_folder(folder)
        refuse_remote(folder)
        self._claim = Claim(folder / f"{kind.name}.lock")
        try:
            with closing(Shelf(folder, kind)) as shelf:
                self.faults = shelf.faults  # of a first look; `Shelf.records` finds the rest
                self.end = shelf.end  # the number of the next record
                self._newest = shelf.newest
                rest = shelf.unwitnessed()
            # Perhaps they never reached the disk (a sync failed, then the writer died): they
            # count once they are written again.
            self.commit(self.end, rest)
        except (UserError, OSError):
            self.close()
            raise

    def commit(self, first: int, records: Sequence[bytes]) -> int:
        """Put records on disk, all or none; only when it returns may they be acknowledged.

        Returns `end`. Numbers follow one another: a gap or a second record of a number is an
        error of the program. Refused: nothing counts, call again with the same records.
        """
        if first != self.end:
            raise ValueError(f"{self._kind.name}: record {first} where {self.end} is the next")
        if any(len(data) != self._kind.size for data in records):
            raise ValueError(f"{self._kind.name}: every record has {self._kind.size} bytes")
        if not records:
            return self.end
        self._refuse_full(len(records))
        volume, witness = self._volume or self._begin(first)
        try:
            volume.commit(first, records)
        except (sqlite3.Error, OSError) as error:
            if _code(error) not in SAME_VOLUME:
                self._leave()
            raise self._refused(error) from error
        try:
            witness.acknowledge(first + len(records))
        except OSError as error:
            self._leave()
            raise self._refused(error) from error
        self.end = first + len(records)
        try:
            volume.fold()
        except (sqlite3.Error, OSError) as error:  # the records are safe where they are
            if _code(error) not in SAME_VOLUME:
                self._leave()
        return self.end

    def leave_gap(self, to: int) -> None:
        """Records up to `to` are lost and will not come: go on after them, and let it be seen."""
        if to <= self.end:
            raise ValueError(f"{self._kind.name}: a gap to {to} where {self.end} is the next")
        self._refuse_full(1)
        if self._volume is not None:
            self._close_volume()
        self._begin(to)
        self.end = to

    def close(self) -> None:
        """Nothing needs this: a killed writer has lost nothing either."""
        if self._volume is not None:
            self._close_volume()
        self._claim.close()

    def _begin(self, begin: int) -> tuple[Volume, Witness]:
        """A new volume: first its witness, so that no volume is ever without."""
        self._newest += 1
        stem = self._folder / f"{self._kind.name}-{self._newest:06d}"
        about = About(number=self._newest, begin=begin, kind=self._kind)
        files = [stem.with_suffix(suffix) for suffix in (".ack", ".db")]
        try:
            witness = Witness(files[0], self._newest, begin)
            try:
                volume = Volume(files[1], about)
            except (sqlite3.Error, OSError):
                witness.close()
                raise
        except (sqlite3.Error, OSError) as error:
            for file in files:  # nothing is in them; a full disk should not fill with those
                for path in (file, file.with_name(f"tmp.{file.name}")):
                    with contextlib.suppress(OSError):
                        path.unlink()
            raise self._refused(error) from error
        self._volume = volume, witness
        return self._volume

    def _leave(self) -> None:
        """Never touch this volume again."""
        if self._volume is not None:
            volume, witness = self._volume
            self._volume = None
            volume.leave()
            witness.close()

    def _close_volume(self) -> None:
        assert self._volume is not None
        volume, witness = self._volume
        self._volume = None
        with contextlib.suppress(sqlite3.Error, OSError):
            volume.close()
        witness.close()

    def _refuse_full(self, records: int) -> None:
        """Stop while the disk still has room for SQLite to be tidy."""
        need = records * (self._kind.size + 64) + durable.SLACK
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            raise self._refused(error) from error
        if free < need:
            raise self._refused(OSError(errno.ENOSPC, f"only {free / 1e6:.0f} MB are free"))

    def _refused(self, error: sqlite3.Error | OSError) -> Refused:
        full = _code(error) in (sqlite3.SQLITE_FULL, -errno.ENOSPC, -errno.EDQUOT)
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        hint = "free some space" if full else "check the disk"
        return Refused(
            f"could not write {self._kind.name} from {self.end} on to {self._folder}: {told}; "
            f"all {self.end} before are intact; {hint}, recording goes on by itself"
        )


def _code(error: sqlite3.Error | OSError) -> int:
    """SQLite's primary code, or minus the number of the system's error."""
    if isinstance(error, OSError):
        return -(error.errno or errno.EIO)
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_IOERR) & 0xFF
