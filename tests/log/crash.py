"""Power loss, simulated: what a disk may hold if the power goes at any moment of a recorded run.

A ledger runs for real in a folder while a `Disk` watches it. After every write the difference
to the last look is kept as pending; a sync makes what is pending in that file (or among the names
of the folder) durable. A crash state is then drawn: a moment, and for each pending write whether
it arrived whole, not at all, in part, or with sectors of zeros or garbage; each pending change of
a name arrived or not.

What this shows: that OUR order of writes, syncs, renames and acknowledgements holds, with SQLite
in the middle of it, whose files are torn like all others. What it takes from SQLite's
documentation instead of showing it: that in WAL mode with synchronous = FULL a COMMIT has synced
the write-ahead log (and the name of a new one) when it returns, with NORMAL or OFF it has not;
that a checkpoint and a close sync the database before the log is reset or removed; and that a
write does not harm bytes outside its range. It does not show that a disk which says "synced" has
synced; only pulling plugs would.
"""

import os
import random
from dataclasses import dataclass, field

import numpy as np

from log.logs import KIND, oracle, oracles, served
from ursa import durable
from ursa.log import volume, witness
from ursa.log.ledger import Ledger
from ursa.log.volume import Volume

SECTOR = 512


@dataclass
class Moment:
    """What is certain and what is on its way, and up to where somebody was told."""

    durable: dict  # file -> bytes
    pending: list  # (file, offset, bytes)
    names: dict  # name -> file
    renames: list  # (name, file or None)
    told: int
    what: str


@dataclass
class Disk:
    """The folder as a disk sees it."""

    root: object
    moments: list = field(default_factory=list)
    told: int = 0
    watching: bool = True
    _durable: dict = field(default_factory=dict)
    _pending: list = field(default_factory=list)
    _names: dict = field(default_factory=dict)
    _renames: list = field(default_factory=list)
    _seen: dict = field(default_factory=dict)
    _listed: dict = field(default_factory=dict)

    def look(self, what, names=True):
        """Keep what changed since the last look as pending."""
        if not self.watching:
            return
        listed = {
            path.name: path.stat().st_ino
            for path in sorted(self.root.iterdir())
            if not path.name.endswith(("-shm", ".lock"))
        }
        for name, file in listed.items():
            new, old = (self.root / name).read_bytes(), self._seen.get(file, b"")
            if new != old:
                self._pending.append((file, *difference(old, new)))
                self._seen[file] = new
        if names:
            gone = [(name, None) for name in self._listed if name not in listed]
            come = [(n, file) for n, file in listed.items() if self._listed.get(n) != file]
            self._renames += come + gone
            self._listed = listed
        self.moments.append(
            Moment(
                durable=dict(self._durable),
                pending=list(self._pending),
                names=dict(self._names),
                renames=list(self._renames),
                told=self.told,
                what=what,
            )
        )

    def synced(self, file):
        """Everything pending in a file is certain now."""
        if file in self._seen:
            self._durable[file] = self._seen[file]
        self._pending = [write for write in self._pending if write[0] != file]

    def synced_names(self, only=None):
        """The names of the folder are certain now, or those of one file."""
        for name, file in self._renames:
            if only in (None, file):
                self._names.pop(name, None)
                if file is not None:
                    self._names[name] = file
        self._renames = [it for it in self._renames if only is not None and it[1] != only]

    def file(self, name):
        return self._listed.get(name)


def difference(old, new):
    """(offset, bytes) of the one write that makes new out of old; it may shorten."""
    common = min(len(old), len(new))
    changed = np.flatnonzero(
        np.frombuffer(old[:common], np.uint8) != np.frombuffer(new[:common], np.uint8)
    )
    start, end = int(changed[0]) if len(changed) else common, len(new)
    if len(old) == len(new):
        while end > start and old[end - 1] == new[end - 1]:
            end -= 1
    return start, new[start:end]


def recorded(patch, root, rng, sabotage=None):
    """A disk that watched a folder while writers worked there, with a protection removed or not."""
    disk = Disk(root)
    real = {
        "write": durable.write,
        "folder": durable.sync_folder,
        "put": witness.write,
        "sync": witness.sync,
        "commit": Volume.commit,
        "fold": Volume.fold,
        "close": Volume.close,
    }

    def write(path, data):
        real["write"](path, data)
        disk.look(f"wrote {path.name}")
        disk.synced(path.stat().st_ino)

    def sync_folder(folder):
        disk.look("renamed")
        real["folder"](folder)
        disk.synced_names()

    def put(file, data, offset):
        real["put"](file, data, offset)
        disk.look("witness written")

    def sync(file):
        real["sync"](file)
        disk.synced(os.fstat(file).st_ino)
        disk.look("witness synced")

    def commit(self, first, records):
        real["commit"](self, first, records)
        disk.look("commit on its way")
        if self.connection.execute("PRAGMA synchronous").fetchone()[0] >= 2:
            log = disk.file(f"{self._path.name}-wal")
            disk.synced(log)
            disk.synced_names(log)  # its own only: that SQLite syncs the folder is not relied on
        disk.look("commit done")

    def fold(self):
        real["fold"](self)
        disk.look("fold on its way")
        disk.synced(disk.file(self._path.name))
        disk.look("folded")

    def close(self):
        real["close"](self)
        disk.look("close folds", names=False)
        disk.synced(disk.file(self._path.name))
        disk.look("log removed")

    patch.setattr(durable, "write", write)
    patch.setattr(durable, "sync_folder", sync_folder)
    patch.setattr(witness, "write", put)
    patch.setattr(witness, "sync", sync)
    patch.setattr(Volume, "commit", commit)
    patch.setattr(Volume, "fold", fold)
    patch.setattr(Volume, "close", close)
    patch.setattr(volume, "CHECKPOINT", 2)
    if sabotage:
        sabotage(patch)
    workload(disk, rng)
    disk.watching = False
    return disk


def workload(disk, rng, cycles=2, commits=6):
    """Writers one after another: some close, some are left as a kill leaves them."""
    for cycle in range(cycles):
        ledger = Ledger(disk.root, KIND)
        for _ in range(commits):
            end = ledger.end + rng.randint(1, 6)
            disk.told = ledger.commit(ledger.end, oracles(ledger.end, end))
            disk.look("told")
        if cycle % 2:
            ledger.close()
        else:
            ledger._leave()
            ledger.close()


def crashed(moment, rng):
    """One crash state: name -> bytes."""
    files = {file: bytearray(data) for file, data in moment.durable.items()}
    for file, offset, data in moment.pending:
        apply(files.setdefault(file, bytearray()), offset, data, rng)
    names = dict(moment.names)
    kept = rng.choice(("all", "some", "first"))
    upto = rng.randint(0, len(moment.renames))
    for index, (name, file) in enumerate(moment.renames):
        if kept == "all" or (kept == "some" and rng.random() < 0.5) or index < upto:
            names.pop(name, None)
            if file is not None:
                names[name] = file
    state = {name: bytes(files.get(file, b"")) for name, file in names.items()}
    for name in [name for name in state if name.endswith(".db")]:
        if rng.random() < 0.2:  # SQLite's index of the log: it must not trust an old one
            state[f"{name}-shm"] = rng.randbytes(32768)
    return state


def apply(held, offset, data, rng):
    """A pending write reaches the disk in one of the ways that a power cut allows."""
    way = rng.choice(("whole", "not", "prefix", "zero", "garbage", "sectors"))
    if way == "not":
        return
    if way in ("zero", "garbage"):
        data = bytes(len(data)) if way == "zero" else rng.randbytes(len(data))
    if way == "prefix":
        data = data[: rng.randint(0, len(data))]
    at = 0
    while at < len(data):
        upto = min(len(data), at + SECTOR - (offset + at) % SECTOR)
        piece = data[at:upto]
        if way == "sectors":
            piece = rng.choice((piece, None, bytes(len(piece)), rng.randbytes(len(piece))))
        if piece is not None:
            start = offset + at
            held.extend(bytes(max(0, start - len(held))))
            held[start : start + len(piece)] = piece
        at = upto


def written(folder, state):
    for path in folder.iterdir():
        path.unlink()
    for name, data in state.items():
        (folder / name).write_bytes(data)


def violations(folder, told, total):
    """What is wrong after a crash: records lost, changed or invented, and false alarms."""
    found, faults, end = served(folder)
    wrong = [f"record {n} was acknowledged and is lost" for n in range(told) if n not in found]
    wrong += [f"record {n} is not what was written" for n in found if found[n] != oracle(n)]
    wrong += [f"false alarm: {fault}" for fault in faults]
    return wrong + ([f"ends at {end} of {total}"] if end > total else [])


def goes_on(folder, told, total):
    """A new writer finds at least what was told, adds to it, and again: nothing is lost."""
    wrong = []
    for _ in range(2):
        ledger = Ledger(folder, KIND)
        if not told <= ledger.end <= total:
            wrong.append(f"a new writer begins at {ledger.end}, told {told} of {total}")
        told = ledger.commit(ledger.end, oracles(ledger.end, ledger.end + 3))
        total = told
        ledger._leave()
        ledger.close()
        wrong += violations(folder, told, told)
    return wrong


def explore(disk, folder, states, seed, every=50):
    """Draw crash states and check each until one is bad; returns what is wrong with it."""
    rng, total = random.Random(seed), disk.told
    for index in range(states):
        moment = disk.moments[rng.randrange(len(disk.moments))]
        written(folder, crashed(moment, rng))
        wrong = violations(folder, moment.told, total)
        if not wrong and index % every == 0:
            wrong = goes_on(folder, moment.told, total)
        if wrong:
            return [f"seed {seed}, state {index}, {moment.what}", *wrong]
    return []
