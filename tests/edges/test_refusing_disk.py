"""A disk that is full or fails, at every single operation: the old is kept, the user is told.

Each save is tried again and again with one more operation let through before the disk refuses,
until it goes through whole.
"""

import builtins
import contextlib
import errno
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edges.hostile import AGENT, row
from log.logs import quick
from trees import same, small
from ursa import checkpoint, durable, segments
from ursa.errors import UserError
from ursa.journal import Journal, read
from ursa.run import folder as runs
from ursa.run import publish
from ursa.segments import Segments
from ursa.skill.repertoire import Repertoire

REFUSALS = (errno.ENOSPC, errno.EIO, errno.EROFS)
MOST = 60  # operations of one save


class Disk:
    """Lets so many operations through, then refuses one (or, full for good, every one)."""

    def __init__(self, patch: pytest.MonkeyPatch, allowed: int, number: int, lasting: bool) -> None:
        self.allowed, self.number, self.lasting = allowed, number, lasting
        self.count, self.refused = 0, False
        self.synced: list[int] = []  # files, in the order of their syncs
        self.failed: set[int] = set()
        self._sync, self._replace = os.fsync, os.replace
        patch.setattr(os, "fsync", self.fsync)
        patch.setattr(os, "replace", self.replace)
        patch.setattr(durable, "open", self.open, raising=False)

    def asked(self) -> None:
        self.count += 1
        now = self.count > self.allowed if self.lasting else self.count == self.allowed + 1
        if now:
            self.refused = True
            raise OSError(self.number, os.strerror(self.number))

    def fsync(self, descriptor: int) -> None:
        file = os.fstat(descriptor).st_ino
        self.synced.append(file)
        try:
            self.asked()
        except OSError:
            self.failed.add(file)
            raise
        self._sync(descriptor)

    def replace(self, old: Path, new: Path) -> None:
        self.asked()
        self._replace(old, new)

    def open(self, path: Path, mode: str):
        """A file that takes half of what it is given when the disk refuses."""
        self.asked()
        file = builtins.open(path, mode)  # noqa: SIM115, closed by Half
        write = file.write

        class Half:
            def __enter__(half):
                return half

            def __exit__(half, *_):
                file.close()

            def __getattr__(half, name):
                return getattr(file, name)

            def write(half, data):
                try:
                    self.asked()
                except OSError:
                    write(data[: len(data) // 2])
                    raise
                return write(data)

        return Half()

    def tried_again(self) -> bool:
        """Whether a file was synced again after a sync of it had failed."""
        return any(self.synced.count(file) > 1 for file in self.failed)


def saves_checkpoint(folder: Path, value: int) -> None:
    checkpoint.save(folder, 5, small(value), {})


def reads_checkpoint(folder: Path) -> int:
    return int(checkpoint.load(folder, small(0))[0]["y"]["n"])


def saves_agent(folder: Path, value: int) -> None:
    tree = {"actor": {"weight": np.full((2, 3), value, np.float32)}}
    publish.write(folder / "agent.safetensors", tree, value, half=False)


def reads_agent(folder: Path) -> int:
    publish.read(folder / "agent.safetensors", AGENT)
    return publish.steps(folder / "agent.safetensors")


def saves_repertoire(folder: Path, value: int) -> None:
    rows = np.random.default_rng(0).standard_normal((value, 2)).astype(np.float32)
    Repertoire.empty(8, 2, 2, distinct_skills=1).add(rows).save(folder / "repertoire.npz")


def reads_repertoire(folder: Path) -> int:
    return int(Repertoire.load(folder / "repertoire.npz").filled)


def saves_settings(folder: Path, value: int) -> None:
    runs.write_whole(folder / "config.json", durable.to_json({"value": value}))


def reads_settings(folder: Path) -> int:
    return durable.from_json((folder / "config.json").read_bytes())["value"]


WRITERS = {
    "checkpoint": (saves_checkpoint, reads_checkpoint),
    "agent": (saves_agent, reads_agent),
    "repertoire": (saves_repertoire, reads_repertoire),
    "settings": (saves_settings, reads_settings),
}


def endured(folder: Path, save: Callable, look: Callable, number: int, lasting: bool) -> list[str]:
    """What is wrong with how a save met a disk that refuses at each of its operations."""
    wrong, sound = [], folder.with_name("sound")
    sound.mkdir(parents=True)
    save(sound, 3)
    for allowed in range(MOST):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sound, folder)
        told = ""
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, allowed, number, lasting)
            try:
                save(folder, 4)
            except UserError as error:
                told = str(error)
        found = look(folder)
        if not disk.refused:
            return [*wrong, *([] if found == 4 else [f"nothing refused, but {found} is there"])]
        at = f"operation {allowed + 1}"
        if not (told and os.strerror(number) in told and str(folder) in told):
            wrong.append(f"{at}: told {told!r}")
        if found not in (3, 4):
            wrong.append(f"{at}: {found} is there")
        if disk.tried_again():
            wrong.append(f"{at}: a failed sync was tried again")
        save(folder, 4)  # space has come back
        if look(folder) != 4:
            wrong.append(f"{at}: {look(folder)} is there after another try")
        if left := [it.name for it in folder.iterdir() if it.name.startswith("tmp.")]:
            wrong.append(f"{at}: {left} lies about")
    return [*wrong, f"more than {MOST} operations"]


@pytest.fixture
def folder(tmp_path):
    root = quick(tmp_path)
    yield root / "run"
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.parametrize(
    ("number", "lasting"),
    [(errno.ENOSPC, True), (errno.ENOSPC, False), (errno.EIO, False), (errno.EROFS, True)],
    ids=["full for good", "full once", "an error", "read only from here on"],
)
@pytest.mark.parametrize("what", WRITERS)
def test_a_refusal_at_any_operation_costs_the_new_one_only(folder, what, number, lasting):
    assert endured(folder, *WRITERS[what], number, lasting) == []


def test_a_checkpoint_has_enough_operations_to_refuse(tmp_path, monkeypatch):
    """Three files opened, written, synced; their folder; the rename; the folder above."""
    saves_checkpoint(tmp_path, 1)
    disk = Disk(monkeypatch, MOST, errno.EIO, lasting=False)
    saves_checkpoint(tmp_path, 2)
    assert disk.count == 3 * 3 + 1 + 1 + 1


@pytest.mark.parametrize("number", REFUSALS, ids=os.strerror)
def test_rows_outlast_a_refusal_at_any_operation(tmp_path, number):
    for allowed in range(MOST):
        folder = tmp_path / str(allowed)
        store = Segments(folder)
        for _ in range(2):
            store.append(row())
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, allowed, number, lasting=False)
            with contextlib.suppress(UserError):
                store.seal()
        assert store.columns == 2  # sealed or still in memory
        store.seal()
        ((first, rows),) = segments.load(folder, store.manifest)
        assert (first, len(rows.reward)) == (0, 2)
        assert not disk.tried_again()
        if not disk.refused:
            break
    assert allowed == 6  # folder made for good; opened, written, synced, renamed, folder synced


def test_the_kernel_itself_refuses_a_file_that_grows_too_large(tmp_path):
    saves_checkpoint(tmp_path, 1)
    large = {"x": np.zeros(50_000, np.float32)}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(UserError, match=r"could not write checkpoint 6 .*File too large"):
            checkpoint.save(tmp_path, 6, large, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert reads_checkpoint(tmp_path) == 1
    assert same(checkpoint.load(tmp_path, small(0))[0], small(1))


# The journal: a full disk costs lines, never the run


def lines_after(folder: Path, refusing: str, number: int, steps: range) -> list[int]:
    """Steps whose lines are there, when one call fails at some of the steps."""
    real = {name: getattr(os, name) for name in ("write", "fsync", "ftruncate")}
    with Journal(folder, tensorboard=False) as journal, pytest.MonkeyPatch.context() as patch:
        now = 0

        def fails(name: str, *words):
            if now not in steps or (name, refusing) == ("ftruncate", "write"):
                return real[name](*words)
            if name == "write":  # half a line is taken
                real[name](words[0], words[1][: len(words[1]) // 2])
            raise OSError(number, os.strerror(number))

        names = {"write": ["write"], "fsync": ["fsync"], "both": ["write", "ftruncate"]}[refusing]
        for name in names:
            patch.setattr(os, name, lambda *words, name=name: fails(name, *words))
        for now in range(10):
            journal.write(now, {"reward": float(now)})
            journal.sync()
    return [event["step"] for event in read(folder)]


@pytest.mark.parametrize("number", REFUSALS, ids=os.strerror)
def test_a_journal_loses_the_lines_that_were_refused_and_no_other(tmp_path, number, caplog):
    assert lines_after(tmp_path, "write", number, range(3, 6)) == [0, 1, 2, 6, 7, 8, 9]
    assert len(caplog.records) == 1  # told once
    assert "loses lines from step 3 on" in caplog.text


def test_a_journal_whose_sync_fails_goes_on_and_is_not_synced_again(tmp_path, caplog):
    assert lines_after(tmp_path, "fsync", errno.EIO, range(3, 6)) == list(range(10))
    assert len(caplog.records) == 1
    assert "if the power fails" in caplog.text


def test_a_journal_that_cannot_even_be_cut_goes_on(tmp_path):
    """Half a line stays, and spoils the next one that is written; the run does not end."""
    assert lines_after(tmp_path, "both", errno.EIO, range(3, 4)) == [0, 1, 2, 5, 6, 7, 8, 9]


# Sabotage: the same checks on a program without its protections


def test_writing_in_place_is_caught(tmp_path, monkeypatch):
    def in_place(path: Path, data: bytes) -> None:
        with durable.room_for(path.name, path.parent, len(data)):
            durable.write(path, data)

    monkeypatch.setattr(runs, "write_whole", in_place)
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):  # what is there is torn
        endured(tmp_path / "run", *WRITERS["settings"], errno.ENOSPC, False)


def test_swallowing_the_error_is_caught(tmp_path, monkeypatch):
    write = runs.write_whole

    def hushed(path: Path, data: bytes) -> None:
        try:
            write(path, data)
        except UserError:
            return

    monkeypatch.setattr(runs, "write_whole", hushed)
    found = endured(tmp_path / "run", *WRITERS["settings"], errno.EIO, False)
    assert any("told ''" in it for it in found)


def test_syncing_again_is_caught(tmp_path, monkeypatch):
    fsync = durable.os.fsync

    def stubborn(path: Path, data: bytes) -> None:
        with open(path, "wb") as file:
            file.write(data)
            file.flush()
            try:
                os.fsync(file.fileno())
            except OSError:
                os.fsync(file.fileno())

    assert fsync is os.fsync
    monkeypatch.setattr(durable, "write", stubborn)
    found = endured(tmp_path / "run", *WRITERS["settings"], errno.EIO, False)
    assert any("a failed sync was tried again" in it for it in found)


def test_a_journal_that_does_not_cut_half_lines_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "ftruncate", lambda *_: None)
    found = lines_after(tmp_path, "write", errno.ENOSPC, range(3, 6))
    assert found != [0, 1, 2, 6, 7, 8, 9]
