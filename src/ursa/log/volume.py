"""Volume: one SQLite file of numbered records, written by one process, once, in order.

A writer that starts, or whose disk made an error, begins another volume; an old one is only read.
So a sync that failed is never tried again on the same file, and what a dead writer left is never
changed. A volume has its file, SQLite's two beside it while it is open or after a kill, and its
witness. The file gets its name when its tables are on disk.
"""

import contextlib
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ursa import durable

APPLICATION, FORMAT = 0x55525341, 1  # "URSA"
CHECKPOINT = 64  # commits until the write-ahead log is folded into the database
CHUNK = 1024  # records read at once; a longer look would hold up the fold
WAIT = 5.0  # seconds for a reader to let go
DAMAGE = (sqlite3.Error, UnicodeDecodeError)  # the latter where its message quotes what is damaged
TABLES = """
CREATE TABLE about (id INTEGER PRIMARY KEY, crc INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE record (number INTEGER PRIMARY KEY, crc INTEGER NOT NULL, data BLOB NOT NULL);
"""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What the records of a ledger are."""

    name: str  # of its files
    layout: str  # what the bytes of a record mean; another layout is refused
    size: int  # bytes of a record


@dataclass(frozen=True, kw_only=True)
class About:
    """What a volume says about itself."""

    number: int
    begin: int  # number of its first record
    kind: Kind


class Volume:
    """The writer's hand on a new volume."""

    def __init__(self, path: Path, about: About) -> None:
        """Make the file. sqlite3.Error or OSError: there is none."""
        self._path = path
        self._seed = seed(about.kind)
        self._commits = 0
        temporary = path.with_name(f"tmp.{path.name}")
        for leftover in ("", "-wal", "-shm", "-journal"):
            temporary.with_name(temporary.name + leftover).unlink(missing_ok=True)
        making = sqlite3.connect(temporary, isolation_level=None, factory=Connection)
        try:
            making.execute(f"PRAGMA application_id = {APPLICATION}")
            making.execute(f"PRAGMA user_version = {FORMAT}")
            making.executescript(TABLES)
            data = durable.to_json(asdict(about))
            making.execute("INSERT INTO about VALUES (1, ?, ?)", (zlib.crc32(data), data))
            if making.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                raise sqlite3.OperationalError("this file system does not allow SQLite's WAL mode")
        finally:
            making.close()
        durable.write(temporary, temporary.read_bytes())  # closed: SQLite will not notice
        durable.rename(temporary, path)
        self.connection = sqlite3.connect(
            path, isolation_level=None, timeout=WAIT, factory=Connection
        )
        self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute("PRAGMA fullfsync = ON")  # on a Mac a plain sync does not do
        self.connection.execute("PRAGMA wal_autocheckpoint = 0")  # it would hide its errors

    def commit(self, first: int, records: Sequence[bytes]) -> None:
        """Put records on disk, all or none."""
        rows = [
            (first + index, checksum(first + index, data, self._seed), data)
            for index, data in enumerate(records)
        ]
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.executemany("INSERT INTO record VALUES (?, ?, ?)", rows)
            self.connection.execute("COMMIT")
        except sqlite3.Error:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        self._commits += 1

    def fold(self) -> None:
        """Now and then move the write-ahead log into the database; nothing waits for it."""
        if self._commits >= CHECKPOINT:
            self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._commits = 0

    def close(self) -> None:
        """All is well: SQLite folds its log into the database and takes it away."""
        self.connection.close()

    def leave(self) -> None:
        """Let go after an error without touching the files again; what is in them may be read.

        While somebody else looks into a database, closing it folds nothing; and who only reads
        never does.
        """
        with contextlib.suppress(sqlite3.Error, OSError, ValueError):
            guard = _look(self._path)
            with contextlib.suppress(sqlite3.Error):
                self.connection.close()
            guard.close()
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()


class Connection(sqlite3.Connection):
    """The one place where the databases are touched."""


class OtherFormat(ValueError):
    """A volume of another version of ursa, or one that is damaged just there."""


class Pages:
    """A reader's look into a volume, beside its writer or long after it."""

    def __init__(self, path: Path) -> None:
        """Open it; ValueError says what is wrong with it."""
        try:
            self._connection = _look(path)
        except DAMAGE as error:
            raise ValueError(f"{path.name} cannot be read: {error}") from error
        self._connection.text_factory = bytes  # damage may turn bytes into a text
        try:
            self.about = _about(path, self._connection)
        except sqlite3.Error as error:
            self._connection.close()
            raise ValueError(f"{path.name} cannot be read: {error}") from error
        except ValueError:
            self._connection.close()
            raise
        self._seed = seed(self.about.kind)

    def records(self, first: int, end: int) -> tuple[dict[int, bytes], set[int]]:
        """Numbers with their bytes, and numbers that are there but damaged; at most CHUNK."""
        end = min(end, first + CHUNK)
        try:
            found = self._select(first, end)
        except sqlite3.Error:  # a page is damaged: the others may still be read
            found = [row for number in range(first, end) for row in self._one(number)]
        good: dict[int, bytes] = {}
        bad: set[int] = set()
        for number, crc, data in found:
            whole = isinstance(data, bytes) and len(data) == self.about.kind.size
            if whole and crc == checksum(number, data, self._seed) and number not in good:
                good[number] = data
            else:
                bad.add(number)
        return {number: data for number, data in good.items() if number not in bad}, bad

    def last(self) -> int:
        """The number after the highest record; the begin of the volume if that cannot be read."""
        try:
            row = self._connection.execute("SELECT max(number) FROM record").fetchone()
        except sqlite3.Error:
            return self.about.begin
        return self.about.begin if row[0] is None else row[0] + 1

    def close(self) -> None:
        self._connection.close()

    def _select(self, first: int, end: int) -> list[tuple]:
        question = "SELECT number, crc, data FROM record WHERE number >= ? AND number < ?"
        return self._connection.execute(question, (first, end)).fetchall()

    def _one(self, number: int) -> list[tuple]:
        try:
            return self._select(number, number + 1)
        except sqlite3.Error:
            return [(number, None, None)]


def seed(kind: Kind) -> int:
    """Where the checksums of a kind begin, so that no record passes for one of another kind."""
    return zlib.crc32(durable.to_json(asdict(kind)))


def checksum(number: int, data: bytes, start: int) -> int:
    """Over the number and the record."""
    return zlib.crc32(data, zlib.crc32(number.to_bytes(8, "little"), start))


def _look(path: Path) -> sqlite3.Connection:
    """A connection that only reads. SQLite keeps two files beside the database while it does."""
    if not path.exists():  # SQLite would only say that it cannot open it
        raise ValueError(f"{path.name} is missing")
    address = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=WAIT)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except DAMAGE as error:
        connection.close()
        if not isinstance(error, sqlite3.OperationalError):
            raise
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # A folder that may not be written, of a run that ended well: nothing will change there.
        return sqlite3.connect(f"{address}&immutable=1", uri=True, isolation_level=None)
    return connection


def _about(path: Path, connection: sqlite3.Connection) -> About:
    numbers = [
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    ]
    if numbers[0] != APPLICATION:
        raise ValueError(f"{path.name} is no ledger of ursa")
    if numbers[1] != FORMAT:
        raise OtherFormat(
            f"{path} is a ledger of format {numbers[1]}, this version of ursa reads format "
            f"{FORMAT}: use the version that wrote it, or another folder"
        )
    rows = connection.execute("SELECT crc, data FROM about").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][1], bytes) or zlib.crc32(rows[0][1]) != rows[0][0]:
        raise ValueError(f"{path.name} does not say what it holds: that part of it is damaged")
    try:  # whole, but perhaps of somebody's own making
        told = durable.from_json(rows[0][1])
        return About(
            number=int(told["number"]), begin=int(told["begin"]), kind=Kind(**told["kind"])
        )
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"{path.name} does not say what it holds: {error!r:.80}") from None
