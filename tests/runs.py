"""Runs for tests: two tiny configs that all tests share, deaths at chosen instants, comparisons."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import safetensors.numpy

from ursa import checkpoint, durable
from ursa.journal import Journal
from ursa.run.settings import configure
from ursa.run.trainer import Trainer

# Lines and checkpoints that do not fall together, and a roll-back that is soon due.
OFTEN = {"steps": 640, "train": {"checkpoint_every": 128, "log_every": 48, "patience": 8}}
POINT = configure("tiny", {"robot": "point", "task": "point"} | OFTEN)
A1 = configure("tiny", {"skill": {"commit": "window", "window": 3}} | OFTEN)
TWO = replace(POINT, seeds=2)
LABELS = {"time", "time/seconds"}  # what two equal runs may differ in


@contextmanager
def quickly(quick: bool = True) -> Iterator[None]:
    """Compile without effort: these programs run for a second."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", quick)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


def lines(folder: Path) -> list[dict]:
    """The journal without clocks."""
    text = (folder / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in LABELS} for line in text]


def arrays(path: Path) -> dict[str, np.ndarray]:
    return safetensors.numpy.load(path.read_bytes())


def left(folder: Path) -> dict[str, bytes]:
    """What a run has come to, byte by byte: newest checkpoint, rows, agents."""
    newest = checkpoint.stored(folder / "checkpoints")[0]
    files = [newest / "arrays.safetensors", *sorted((folder / "rows").iterdir())]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    for path in sorted((folder / "agent").rglob("*.safetensors")):
        for name, array in sorted(arrays(path).items()):
            found[f"{path.relative_to(folder)}:{name}"] = array.tobytes()
    for path in sorted((folder / "agent").rglob("*.npz")):
        found |= {f"{path.relative_to(folder)}:{k}": v.tobytes() for k, v in np.load(path).items()}
    return found


def differing(mine: Path, theirs: Path) -> list[str]:
    """Files and arrays in which two runs differ."""
    first, second = left(mine), left(theirs)
    return [n for n in sorted(first | second) if first.get(n) != second.get(n)]


class Killed(BaseException):
    """The process dies here; nobody may catch it."""


class Fate:
    """Counts instants: columns, files half written, names given, lines. At the chosen one the
    folder is copied as it lies there, which is what a SIGKILL would leave, and the run ends."""

    def __init__(self, monkeypatch, out: Path, grave: Path, instant: int | None = None) -> None:
        self.out, self.grave, self.instant, self.count = out, grave, instant, 0
        self.kinds: list[str] = []
        write, rename, turn, tell = durable.write, durable.rename, Trainer.turn, Journal.write

        def half_written(path: Path, data: bytes) -> None:
            if self.now("half a file"):
                path.write_bytes(data[: len(data) // 2])
                self.die()
            write(path, data)

        def renamed(old: Path, new: Path) -> None:
            self.pass_by("before a rename")
            rename(old, new)
            self.pass_by("after a rename")

        def turned(trainer: Trainer, *words):
            self.pass_by("before a column")
            return turn(trainer, *words)

        def told(journal: Journal, *words) -> None:
            self.pass_by("before a line")
            tell(journal, *words)
            self.pass_by("after a line")

        monkeypatch.setattr(durable, "write", half_written)
        monkeypatch.setattr(durable, "rename", renamed)
        monkeypatch.setattr(Trainer, "turn", turned)
        monkeypatch.setattr(Journal, "write", told)

    def now(self, kind: str) -> bool:
        self.count += 1
        self.kinds.append(kind)
        return self.count == self.instant

    def pass_by(self, kind: str) -> None:
        if self.now(kind):
            self.die()

    def die(self) -> None:
        shutil.copytree(self.out, self.grave)
        raise Killed


def environment() -> dict[str, str]:
    """For a process that compiles as `quickly` does."""
    return {**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
