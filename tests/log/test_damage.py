"""Damage to a log is found: each record is served as it was written, or reported as lost.

One file is damaged at a time. What no log can notice by itself is that its last volume was
removed whole, with its witness: the learner's journal knows better, see `test_journal`.
"""

import random
import shutil
import sqlite3
from contextlib import closing

import pytest

import sizes
from log.logs import KIND, oracle, oracles, quick, served
from sizes import patience, size
from ursa.errors import UserError
from ursa.log import volume, witness
from ursa.log.ledger import Ledger
from ursa.log.volume import Pages
from ursa.log.witness import Said

SEED, TOTAL = sizes.SEED + 5, 90
TIMES = size("URSA_DAMAGES") * 2 // 3


@pytest.fixture
def folder(tmp_path):
    root = quick(tmp_path)
    yield root / "run"
    shutil.rmtree(root, ignore_errors=True)


def recorded(folder):
    """Three volumes of 30 records: one closed, two as a kill leaves them."""
    folder.mkdir()
    for last in (30, 60, 90):
        ledger = Ledger(folder, KIND)
        while ledger.end < last:
            ledger.commit(ledger.end, oracles(ledger.end, ledger.end + 5))
        if last > 30:
            ledger._leave()
        ledger.close()
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.suffix not in (".lock", ".db-shm") and path.stat().st_size
    }


def flip(data, rng, _):
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def scribble(data, rng, _):
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 64)) + data[at + 64 :]


def zero(data, rng, _):
    at = rng.randrange(len(data)) // 512 * 512
    return data[:at] + bytes(512) + data[at + 512 :]


def cut(data, rng, _):
    return data[: rng.randrange(len(data))]


def grow(data, rng, _):
    return data + rng.randbytes(rng.randint(1, 4096))


def remove(data, rng, _):
    return None


def another(data, rng, files):
    """The file of another volume under this one's name."""
    return files[rng.choice(sorted(files))]


HARMS = (flip, flip, flip, scribble, scribble, zero, cut, grow, remove, another)


def undetected(found, faults):
    """Records that are served wrong, or neither served nor reported."""
    wrong = [number for number in found if number >= TOTAL or found[number] != oracle(number)]
    told = {number for fault in faults for number in range(fault.first, fault.end)}
    for fault in faults:
        if fault.kind == "volume":  # perhaps nobody knows how much was in it: all 30
            told.update(range(fault.first, fault.first // 30 * 30 + 30))
    return wrong + [number for number in range(TOTAL) if number not in {*found, *told}]


def harmed(folder, times):
    """Damage a log so often, each time afresh, until something goes unnoticed: that, and how often
    something was reported."""
    files, rng = recorded(folder), random.Random(SEED)
    print(f"seed {SEED}")
    reported = 0
    for index in range(times):
        name, harm = rng.choice(sorted(files)), rng.choice(HARMS)
        shutil.rmtree(folder)
        folder.mkdir()
        damaged = {**files, name: harm(files[name], rng, files)}
        for other, data in damaged.items():
            if data is not None:
                (folder / other).write_bytes(data)
        try:
            found, faults, _ = served(folder)
        except UserError:  # of another version, it says: seen
            reported += 1
            continue
        reported += bool(faults)
        if lost := undetected(found, faults):
            return reported, [(index, harm.__name__, name, lost)]
    return reported, []


@pytest.mark.timeout(patience("URSA_DAMAGES"))
def test_of_2000_damaged_logs_none_goes_unnoticed(folder):
    reported, unnoticed = harmed(folder, TIMES)
    assert unnoticed == []
    assert (
        reported > 0.4 * TIMES
    )  # the rest hit bytes that carry nothing, and every record was served


def test_without_checksums_of_records_damage_would_be_served(folder, monkeypatch):
    monkeypatch.setattr(volume, "checksum", lambda number, data, start: 0)
    assert harmed(folder, 300)[1]


def test_without_the_witness_a_lost_tail_would_go_unnoticed(folder, monkeypatch):
    """Then a volume is believed about its own end."""

    def believed(path):
        try:
            pages = Pages(path.with_suffix(".db"))
        except ValueError:
            return None
        about, end = pages.about, pages.last()
        pages.close()
        return Said(number=about.number, writes=1, begin=about.begin, end=end)

    monkeypatch.setattr(witness, "read", believed)
    assert harmed(folder, 300)[1]


def test_a_volume_whose_damage_is_in_sqlite_s_own_words_is_closed_again(folder, monkeypatch):
    with closing(Ledger(folder, KIND)) as ledger:
        ledger.commit(0, oracles(0, 3))
    path = folder / "toy-000001.db"
    # SQLite quotes the name of the table, and Python cannot decode that.
    path.write_bytes(path.read_bytes().replace(b"tablerecordrecord", b"table\xf5ecordrecord"))
    opened, connect = [], sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *at, **how: opened.append(connect(*at, **how)) or opened[-1]
    )
    with pytest.raises(ValueError, match=r"toy-000001\.db cannot be read: 'utf-8' codec"):
        Pages(path)
    assert opened
    for each in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            each.execute("SELECT 1")


def test_a_new_writer_goes_on_after_damage_and_the_hole_stays_known(folder):
    files = recorded(folder)
    (folder / "toy-000003.db-wal").unlink()  # as if only the database had been copied
    assert "toy-000003.db-wal" in files
    before = [(fault.kind, fault.first, fault.end) for fault in served(folder)[1]]
    assert before == [("missing", 60, 90)]
    ledger = Ledger(folder, KIND)
    assert ledger.end == 90  # the witness knows what was acknowledged
    ledger.commit(90, oracles(90, 95))
    ledger.close()
    found, faults, end = served(folder)
    assert sorted(found) == [*range(60), *range(90, 95)]
    assert [(fault.kind, fault.first, fault.end) for fault in faults] == before
    assert end == 95


def edited(folder, statement):
    recorded(folder)
    database = sqlite3.connect(folder / "toy-000001.db")
    database.execute(statement)
    database.commit()
    database.close()
    return [(fault.kind, fault.first, fault.end) for fault in served(folder)[1]]


@pytest.mark.parametrize(
    ("statement", "faults"),
    [
        (
            "DELETE FROM record WHERE number IN (4, 5, 6, 20)",
            [("missing", 4, 7), ("missing", 20, 21)],
        ),
        ("DELETE FROM record WHERE number >= 25", [("missing", 25, 30)]),  # a tail, before others
        ("UPDATE record SET data = zeroblob(100) WHERE number = 7", [("damaged", 7, 8)]),
        ("UPDATE record SET data = 'text' WHERE number = 7", [("damaged", 7, 8)]),
        ("UPDATE record SET crc = 1.5 WHERE number BETWEEN 7 AND 9", [("damaged", 7, 10)]),
        # The record of another number in its place: a duplicate.
        (
            "UPDATE record SET (crc, data) = (SELECT crc, data FROM record WHERE number = 3) "
            "WHERE number = 7",
            [("damaged", 7, 8)],
        ),
        ("UPDATE record SET number = 1000 WHERE number = 7", [("missing", 7, 8)]),
        ("UPDATE about SET data = 'x'", [("volume", 0, 30)]),
        ("DROP TABLE record", [("damaged", 0, 30)]),
    ],
)
def test_a_fault_has_its_range(folder, statement, faults):
    assert edited(folder, statement) == faults


def test_a_volume_under_another_number_is_not_believed(folder):
    recorded(folder)
    for suffix in ("db", "ack"):
        (folder / f"toy-000001.{suffix}").rename(folder / f"toy-000004.{suffix}")
    found, faults, _ = served(folder)
    assert sorted(found) == list(range(30, 90))
    assert [(fault.kind, fault.first) for fault in faults] == [("missing", 0), ("volume", 90)]
