"""Power loss, simulated: what a disk may hold if the power goes at any moment of a recorded run.

A program runs for real in a folder while a `Disk` watches it. After every write the difference
to the last look is kept as pending; a sync makes what is pending in that file (or among the names
of that folder) durable. A crash state is then drawn: a moment, and for each pending write whether
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

import hashlib
import itertools
import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from log.logs import quick
from ursa import checkpoint, durable
from ursa.log import volume, witness
from ursa.log.volume import Volume

SECTOR = 512
GARBAGE = [random.Random(number).randbytes(32768) for number in range(3)]


@dataclass(frozen=True)
class Moment:
    """What is certain and what is on its way, and what somebody was told by then."""

    durable: dict  # file -> bytes
    pending: list  # (file, offset, bytes)
    names: dict  # (folder, name) -> file
    renames: list  # (folder, name, file or None)
    folders: set  # which of the files are folders
    told: Any
    what: str


@dataclass
class Disk:
    """A folder and all below it, as a disk sees them. Files have numbers, 0 is the folder."""

    root: Path
    told: Any = 0
    moments: list = field(default_factory=list)
    watching: bool = True
    _durable: dict = field(default_factory=dict)
    _pending: list = field(default_factory=list)
    _names: dict = field(default_factory=dict)
    _renames: list = field(default_factory=list)
    _seen: dict = field(default_factory=dict)
    _listed: dict = field(default_factory=dict)
    _folders: set = field(default_factory=lambda: {0})
    _numbers: dict = field(default_factory=dict)  # of the system -> ours: it uses its own again
    _fresh: Any = field(default_factory=lambda: itertools.count(1))

    def look(self, what, names=True):
        """Keep what changed since the last look as pending."""
        if not self.watching:
            return
        listed, contents = {}, {}
        self._list(self.root, 0, listed, contents)
        for file, new in contents.items():
            old = self._seen.get(file, b"")
            if new != old:
                self._pending.append((file, *difference(old, new)))
                self._seen[file] = new
        if names:
            gone = [(*at, None) for at in self._listed if at not in listed]
            come = [(*at, file) for at, file in listed.items() if self._listed.get(at) != file]
            self._renames += come + gone
            self._listed = listed
            living = {*listed.values()}
            self._numbers = {key: it for key, it in self._numbers.items() if it in living}
        self.moments.append(
            Moment(
                durable=dict(self._durable),
                pending=list(self._pending),
                names=dict(self._names),
                renames=list(self._renames),
                folders=set(self._folders),
                told=self.told,
                what=what,
            )
        )

    def _list(self, folder, number, listed, contents):
        for path in sorted(folder.iterdir()):
            if path.name.endswith(("-shm", ".lock")):
                continue
            file = self._number(path.stat().st_ino)
            listed[number, path.name] = file
            if path.is_dir():
                self._folders.add(file)
                self._list(path, file, listed, contents)
            else:
                contents[file] = path.read_bytes()

    def _number(self, inode):
        if inode not in self._numbers:
            self._numbers[inode] = next(self._fresh)
        return self._numbers[inode]

    def synced(self, inode):
        """Everything pending in a file is certain now."""
        file = self._numbers.get(inode)
        if file in self._seen:
            self._durable[file] = self._seen[file]
        self._pending = [write for write in self._pending if write[0] != file]

    def synced_names(self, folder, only=None):
        """The names in a folder are certain now, or that of one file."""
        number = 0 if folder == self.root else self._numbers.get(folder.stat().st_ino)
        kept = []
        for at, name, file in self._renames:
            if at != number or (only is not None and self._numbers.get(only) != file):
                kept.append((at, name, file))
                continue
            self._names.pop((at, name), None)
            if file is not None:
                self._names[at, name] = file
        self._renames = kept


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


def watch(patch, disk):
    """From now on the disk sees every write, sync and rename of ours; `watching` ends it."""
    real = {
        "write": durable.write,
        "folder": durable.sync_folder,
        "put": witness.write,
        "sync": witness.sync,
        "commit": Volume.commit,
        "fold": Volume.fold,
        "close": Volume.close,
        "rmtree": shutil.rmtree,
    }

    def write(path, data):
        real["write"](path, data)
        disk.look(f"wrote {path.name}")
        disk.synced(path.stat().st_ino)

    def sync_folder(folder):
        disk.look("renamed")
        real["folder"](folder)
        disk.synced_names(folder)

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
            log = beside(self._path).stat().st_ino
            disk.synced(log)
            # Its own name only: that SQLite syncs the folder is not relied on.
            disk.synced_names(self._path.parent, log)
        disk.look("commit done")

    def fold(self):
        real["fold"](self)
        disk.look("fold on its way")
        disk.synced(self._path.stat().st_ino)
        disk.look("folded")

    def close(self):
        real["close"](self)
        disk.look("close folds", names=False)
        disk.synced(self._path.stat().st_ino)
        disk.look("log removed")

    def rmtree(path, **options):
        disk.look("before it is removed")
        real["rmtree"](path, **options)
        disk.look("removed")

    patch.setattr(durable, "write", write)
    patch.setattr(durable, "sync_folder", sync_folder)
    patch.setattr(witness, "write", put)
    patch.setattr(witness, "sync", sync)
    patch.setattr(Volume, "commit", commit)
    patch.setattr(Volume, "fold", fold)
    patch.setattr(Volume, "close", close)
    patch.setattr(volume, "CHECKPOINT", 2)
    patch.setattr(checkpoint.shutil, "rmtree", rmtree)


def beside(path):
    """SQLite's write-ahead log of a database."""
    return path.with_name(f"{path.name}-wal")


def crashed(moment, rng):
    """One crash state: path below the folder -> bytes, or None for a folder."""
    files = {file: bytearray(data) for file, data in moment.durable.items()}
    for file, offset, data in moment.pending:
        apply(files.setdefault(file, bytearray()), offset, data, rng)
    names = dict(moment.names)
    kept = rng.choice(("all", "some", "first"))
    upto = rng.randint(0, len(moment.renames))
    for index, (folder, name, file) in enumerate(moment.renames):
        if kept == "all" or (kept == "some" and rng.random() < 0.5) or index < upto:
            names.pop((folder, name), None)
            if file is not None:
                names[folder, name] = file
    state = {}
    below(state, "", 0, moment, names, files)
    for name in [name for name in state if name.endswith(".db")]:
        if rng.random() < 0.2:  # SQLite's index of the log: it must not trust an old one
            state[f"{name}-shm"] = rng.choice(GARBAGE)
    return state


def below(state, path, folder, moment, names, files):
    """The names in a folder, and in those in it."""
    for (parent, name), file in names.items():
        if parent == folder:
            whole = f"{path}{name}"
            state[whole] = None if file in moment.folders else bytes(files.get(file, b""))
            if file in moment.folders:
                below(state, f"{whole}/", file, moment, names, files)


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
    """Put a crash state on a real disk, in place of what was there."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for name, data in state.items():
        if data is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(data)


def folders(tmp_path):
    """Fixture: one folder to run in and one to crash in."""
    root = quick(tmp_path)
    for name in ("run", "crashed"):
        (root / name).mkdir()
    yield root / "run", root / "crashed"
    shutil.rmtree(root, ignore_errors=True)


def explore(disks, folder, states, seed, check):
    """Draw crash states until one is bad: what is wrong with it, and how many differ.

    `check(folder, told)` opens a state and says what is wrong. A state that was drawn before, with
    the same told, is counted and not opened again: nothing in it could come out otherwise.
    """
    rng, known = random.Random(seed), set()
    moments = [moment for disk in disks for moment in disk.moments]
    for index in range(states):
        moment = moments[rng.randrange(len(moments))]
        state = crashed(moment, rng)
        print_ = fingerprint(state, moment.told)
        if print_ in known:
            continue
        known.add(print_)
        written(folder, state)
        if wrong := check(folder, moment.told):
            return [f"seed {seed}, state {index}, {moment.what}", *wrong], len(known)
    return [], len(known)


def fingerprint(state, told):
    found = hashlib.blake2b(repr(told).encode(), digest_size=16)
    for name, data in sorted(state.items()):
        found.update(f"{name} {-1 if data is None else len(data)} ".encode())
        found.update(data or b"")
    return found.digest()
