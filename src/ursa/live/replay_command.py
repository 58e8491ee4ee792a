"""`ursa replay`: make a learner again from its log and its journal, and compare, bit by bit."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ursa import checkpoint
from ursa.errors import UserError, listed, unknown
from ursa.journal import Progress
from ursa.live import rounds, settings
from ursa.live.student import Student
from ursa.log.record import Layout
from ursa.log.store import Log
from ursa.run import folder as place
from ursa.run.compiled import keep_programs

Array = np.ndarray


def replay(folder: Path, /, *, since: int | None = None, quiet: bool = False) -> int:
    """Prove that what a robot's learner became follows from what is on disk.

    Takes config, log and journal of a run on a robot, makes every round again, and compares the
    result with the newest checkpoint, every number of it, bit by bit. Exit code 1 if something
    differs: then a row, a round, a setting or the code is not what it was. On another kind of
    machine, or on a GPU without --xla_gpu_deterministic_ops, the last digits may differ.

      ursa replay outputs/a1
      ursa replay outputs/a1 --since 12000      from the checkpoint of that step on, not the start

    Args:
        folder: Where the run was written.
        since: Begin with the checkpoint of this step instead of a newborn learner.
        quiet: No progress line.
    """
    keep_programs()
    live = settings.read(folder)
    found = again(folder, live.layout, since=since, quiet=quiet)
    print(said(folder, found))
    return 1 if found.differences else 0


@dataclass(frozen=True, kw_only=True)
class Again:
    """What making a learner again has shown."""

    name: str  # of the checkpoint it was compared with
    leaves: int
    rounds: int  # that were made again
    updates: int
    differences: tuple[str, ...]  # one line per leaf
    faults: tuple[str, ...]  # of the log


def again(folder: Path, layout: Layout, *, since: int | None = None, quiet: bool = True) -> Again:
    """Make the learner of the newest checkpoint again and compare; the folder stays as it is."""
    student = Student(place.config_of(folder))
    log = Log(folder, layout)
    try:
        target, name = stored(folder, student, None)
        if since is not None:
            start, _ = stored(folder, student, since)
            if int(start["rounds"]) >= int(target["rounds"]):
                raise UserError(f"since = {since}: {name} is not later; leave out --since")
            rounds.restore(student, log, start)
        began = student.rounds, student.updates
        total = int(target["seen"]) + int(target["updates"])
        with Progress(total, quiet=quiet) as progress:
            repeat(
                student,
                log,
                folder,
                int(target["rounds"]),
                lambda: progress.update(student.seen + student.updates, {"round": student.rounds}),
            )
        wanted, made = (named(tree) for tree in (target, student.tree()))
        return Again(
            name=name,
            leaves=len(wanted),
            rounds=student.rounds - began[0],
            updates=student.updates - began[1],
            differences=tuple(differences(wanted, made)),
            faults=tuple(map(str, log.faults)),
        )
    finally:
        log.close()


def repeat(student: Student, log: Log, folder: Path, end: int, told: Callable[[], object]) -> None:
    """The rounds of the journal up to a number; UserError if it does not reach so far."""
    if student.rounds < end:
        for _ in rounds.repeated(student, log, folder):
            told()
            if student.rounds == end:
                return
        raise UserError(
            f"the journal in {folder} has {student.rounds} rounds, the checkpoint was made after "
            f"{end}: a volume of the journal was removed; restore it from a copy"
        )


def stored(folder: Path, student: Student, step: int | None) -> tuple[dict[str, Any], str]:
    """The tree of a checkpoint (None: the newest whole one) and its name, read from a copy.

    From a copy, because reading sets damaged ones aside, and a learner may be writing beside us.
    """
    found = {path.name: path for path in checkpoint.stored(folder / rounds.CHECKPOINTS)}
    if not found:
        raise UserError(f"{folder} holds no checkpoint yet: there is nothing to compare with")
    names = list(found)
    if step is not None:
        names = [name for name in found if name.partition(".")[0] == f"step_{step:09d}"]
        if not names:
            steps = [name.removeprefix("step_").partition(".")[0].lstrip("0") for name in found]
            raise unknown("checkpoint", str(step), steps)
    with tempfile.TemporaryDirectory(prefix="ursa-replay-") as copy:
        for name in names:
            shutil.copytree(found[name], Path(copy) / name)
        tree, meta = checkpoint.load(Path(copy), student.tree())
        whole = checkpoint.stored(Path(copy))[0].name  # damaged ones are set aside by now
    place.refuse_changed(folder, student.config, meta["config"])
    return tree, whole


def named(tree: Any) -> dict[str, Array]:
    """Every leaf on the host, by its path; random keys as their numbers."""
    plain = {}
    for at, leaf in jax.tree_util.tree_leaves_with_path(tree):
        key = checkpoint.is_key(leaf)
        plain[jax.tree_util.keystr(at)] = jax.random.key_data(leaf) if key else leaf
    return {name: np.asarray(leaf) for name, leaf in jax.device_get(plain).items()}


def differences(wanted: Mapping[str, Array], made: Mapping[str, Array]) -> list[str]:
    """Leaves that are not the same to the last bit, one line each."""
    lines = []
    for name in sorted(wanted.keys() | made.keys()):
        one, two = wanted.get(name), made.get(name)
        if one is None or two is None or (one.dtype, one.shape) != (two.dtype, two.shape):
            lines.append(f"{name}: of another shape, or missing")
        elif one.tobytes() != two.tobytes():
            off = one != two
            lines.append(f"{name}: {int(off.sum())} of {one.size} numbers{_by(one, two)}")
    return lines


def said(folder: Path, found: Again) -> str:
    """What was found, for a person."""
    done = f"{found.rounds:,} rounds with {found.updates:,} updates made again"
    lines = [f"log: {fault}" for fault in found.faults]
    if not found.differences:
        lines.append(f"{folder}: {done}; all {found.leaves} leaves of {found.name} are equal")
    else:
        lines.append(
            f"{folder}: {done}; {len(found.differences)} of {found.leaves} leaves of {found.name} "
            f"differ:\n  {listed(found.differences)}"
        )
    return "\n".join(lines)


def _by(one: Array, two: Array) -> str:
    if not np.issubdtype(one.dtype, np.number):
        return ""
    with np.errstate(invalid="ignore"):
        gap = np.abs(one.astype(float) - two.astype(float)).max()
    return f", by up to {gap:.3g}"
