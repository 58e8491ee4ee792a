"""Training in lock-step: which update robots act by is settled, so a run follows from its config.

Every checkpoint is preceded by a line in the journal: nothing half-counted needs to be saved, and
a resumed run writes the lines that the killed one would have written.
"""

import logging
import sys
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ursa import checkpoint, segments
from ursa.config import Config
from ursa.env.arena import Outcome
from ursa.errors import UserError
from ursa.journal import Journal, Progress, duration
from ursa.run import folder, preflight, rollback, settings
from ursa.run.compiled import keep_programs
from ursa.run.diary import Diary
from ursa.run.plan import Plan, backend
from ursa.run.publish import publish
from ursa.run.stop import COMPILING, STARTING, Asked
from ursa.run.trainer import Trainer
from ursa.segments import Segments

Stop = Callable[[], bool]
log = logging.getLogger(__name__)


def train(
    config: Config,
    out: Path,
    *,
    resume: bool = False,
    quiet: bool = False,
    stop: Stop = lambda: False,
    asked: Asked | None = None,
) -> Trainer:
    """Run a config to its end (or until `stop`), writing everything into `out`.

    `asked`: signals. They end a run as `stop` does, or the start of a new one, which then has
    written nothing.
    """
    asked = Asked() if asked is None else asked
    with ExitStack() as claim:
        with asked.answering(STARTING):
            sizes = preflight.check(config)
            keep_programs()
            device, precision, _ = backend()
            preflight.check_memory(config, sizes, free_memory())
            asked.early()
            if resume:
                claim.enter_context(folder.claimed(out))
                settings.refuse_other(folder.config_of(out), config, out)
                trainer = Trainer(config)
            else:
                folder.refuse_taken(out)
                trainer = Trainer(config)
                asked.early()  # the last time that nothing has been written
                claim.enter_context(folder.claimed(out))
                folder.begin(out, config)
        skew = folder.note(out, device, folder.words())
        if skew:
            log.warning("resumed elsewhere, so perhaps not bit for bit: %s", "; ".join(skew))
        store, seconds = begin(trainer, out)
        if not quiet and trainer.column < trainer.plan.columns:
            print(banner(trainer, out, device, precision), file=sys.stderr, flush=True)
        begun = trainer.steps if resume else None
        journal = Journal(out, seeds=config.seeds, first=config.seed, resume=begun)
        progress = Progress(config.train.steps, device=device, precision=precision, quiet=quiet)
        with journal, progress:
            Loop(trainer, store, journal, progress, out, seconds).run(stop, asked)
        return trainer


class Loop:
    """Columns until the end, with a line and a checkpoint every so often."""

    def __init__(
        self,
        trainer: Trainer,
        store: Segments,
        journal: Journal,
        progress: Progress,
        out: Path,
        seconds: float,
    ) -> None:
        """`seconds`: how long the run has taken before."""
        train = trainer.config.train
        self.trainer, self.store, self.journal, self.out = trainer, store, journal, out
        self.progress, self._started = progress, time.monotonic() - seconds
        self._log_every = max(1, train.log_every // train.robots)
        self._save_every = max(1, train.checkpoint_every // train.robots)
        self._diary = Diary(trainer.config.seeds)
        self._lived: Outcome | None = None  # of the last column, not in the diary yet
        self._saved = trainer.column
        self._compiled: set[str] = set()  # programs that this process has used

    def run(self, stop: Stop, asked: Asked | None = None) -> None:
        """Until the end or until told to stop; what was done is saved either way."""
        trainer, asked = self.trainer, Asked() if asked is None else asked
        while trainer.column < trainer.plan.columns and not stop() and not asked():
            self._lived = self._turn(asked)
            column = trainer.column
            if column % self._log_every == 0 or column % self._save_every == 0:
                self.line()
                # A scheduled checkpoint waits for seeds that fail: it is what they go back to.
                overdue = column // self._save_every > self._saved // self._save_every
                if overdue and not trainer.trouble.pending():
                    self.save()
        if trainer.column > self._saved:
            if trainer.column % self._log_every and trainer.column % self._save_every:
                self.line()
            self.save()

    def _turn(self, asked: Asked) -> Outcome:
        """One column; says so where that means to compile, and what it takes is no one's pace."""
        trainer = self.trainer
        new = used(trainer.plan, trainer.column) - self._compiled
        if not new:
            return trainer.turn(self._write)
        self._compiled |= new
        self.progress.pause(compiling(new))
        with asked.answering(COMPILING):
            found = trainer.turn(self._write)
            trainer.settle()
        if UPDATE in self._compiled:
            self.progress.start(trainer.steps)
        return found

    def _write(self) -> None:
        """The row that is being acted on goes to the store, what led to it into the diary."""
        self.store.append(self.trainer.collector.row)
        self._note()

    def _note(self) -> None:
        if self._lived is not None:
            self._diary.add(self._lived)
        self._lived = None

    def line(self) -> None:
        """Tell what happened since the last line; roll back who needs it."""
        self._note()
        trainer = self.trainer
        told = jax.device_get(trainer.told())
        events = {**self._diary.close(), **fetched(trainer, told)}
        if told:
            dropped = trainer.names.index(rollback.DROPPED)
            rollback.watch(trainer, np.stack(told)[..., dropped], self.out)
        events |= {
            "learn/updates": trainer.updates,
            "learn/failures": trainer.trouble.failures.tolist(),
            "learn/rollbacks": trainer.trouble.rollbacks.tolist(),
            "time/seconds": round(self.seconds, 3),
        }
        self.journal.write(trainer.steps, events)
        self.progress.update(trainer.steps, headline(events))

    @property
    def seconds(self) -> float:
        """How long the run has taken, over all starts."""
        return time.monotonic() - self._started

    def save(self) -> None:
        """A checkpoint, the rows it refers to, and the agents for use."""
        trainer = self.trainer
        self.journal.sync()
        self.store.seal()
        meta = {
            "config": asdict(trainer.config),
            "segments": self.store.manifest,
            "seconds": round(self.seconds, 3),
        }
        checkpoint.save(self.out / "checkpoints", trainer.steps, trainer.tree(), meta)
        self._saved = trainer.column
        publish(trainer.learner, trainer.config, trainer.steps, self.out / "agent")


def fetched(trainer: Trainer, told: list[Any]) -> dict[str, list[float]]:
    """Means of the updates since the last line, and the state of the skill corridor."""
    found: dict[str, Any] = {}
    if told:
        means = np.mean(told, axis=0)  # (seeds, metrics)
        found = {name: means[:, i].tolist() for i, name in enumerate(trainer.names)}
    law = jax.device_get(trainer.programs.law_metrics(trainer.learner))
    return found | {name: np.asarray(value).tolist() for name, value in law.items()}


REPLAY, ACTING, UPDATE = "the replay", "the acting program", "the update"


def used(plan: Plan, column: int) -> set[str]:
    """The programs that a column needs; each is compiled when it is first used."""
    found = {ACTING} if column >= plan.prefill else set()
    if column % plan.stride == 0:
        found.add(UPDATE if plan.updates_at(column) else REPLAY)
    return found


def compiling(new: Collection[str]) -> str:
    """Why nothing seems to happen."""
    names = " and ".join(name for name in (REPLAY, ACTING, UPDATE) if name in new)
    long = "a minute or two, unless it was done before; Ctrl-C waits for it"
    return f"compiling {names}: {long if UPDATE in new else 'seconds'}"


SHOWN = {
    "reward": "robot/reward",
    "unsafe": "robot/unsafe",
    "speed": "robot/speed",
    "entropy": "repertoire/entropy",
    "delta": "repertoire/delta",
    "l_skill": "lambda/skill",
    "l_safe": "lambda/safe",
}


def headline(events: Mapping[str, Any]) -> dict[str, float]:
    """What the progress line tells, averaged over seeds."""
    return {short: float(np.mean(events[name])) for short, name in SHOWN.items() if name in events}


def begin(trainer: Trainer, out: Path) -> tuple[Segments, float]:
    """Put the newest sound checkpoint of a folder into the trainer, if there is any.

    Returns the store of rows that fits, and the seconds the run has taken so far.
    """
    rows, needed = out / "rows", trainer.plan.capacity + trainer.plan.stride - 1  # some may wait
    if not checkpoint.stored(out / "checkpoints"):
        if (out / "agent").exists():
            raise UserError(
                f"{out} holds an agent but none of the checkpoints to go on from; put "
                f"{out / 'checkpoints'} back, or start another run with --out"
            )
        return Segments(rows), 0.0

    def there(meta: dict[str, Any]) -> None:
        kinds = {"config": dict, "segments": list, "seconds": float | int}
        if lacking := [name for name in kinds if not isinstance(meta.get(name), kinds[name])]:
            raise UserError(f"its meta.json does not give {', '.join(lacking)}")
        segments.verify(rows, meta["segments"], needed)

    tree, meta = checkpoint.load(out / "checkpoints", trainer.tree(), there)
    folder.refuse_changed(out, trainer.config, meta["config"])
    trainer.restore(tree, segments.load(rows, meta["segments"], needed))
    # A kill may have come between the checkpoint and this.
    publish(trainer.learner, trainer.config, trainer.steps, out / "agent")
    return Segments(rows, meta["segments"]), float(meta["seconds"])


def free_memory() -> float | None:
    """Bytes the device can still give, or None if it does not tell."""
    device = jax.devices()[0]
    if device.platform == "cpu":
        return preflight.host_memory()
    told = device.memory_stats() or {}
    return told["bytes_limit"] - told.get("bytes_in_use", 0) if "bytes_limit" in told else None


def banner(trainer: Trainer, out: Path, device: str, precision: str) -> str:
    """What is about to happen."""
    config, plan = trainer.config, trainer.plan
    updates = sum(map(plan.updates_at, range(plan.columns)))
    start = f"from step {trainer.steps:,}, " if trainer.column else ""
    last = config.seed + config.seeds - 1
    seeds = f"seeds {config.seed} to {last}" if config.seeds > 1 else f"seed {config.seed}"
    robots = f"{config.train.robots} robots" if config.train.robots > 1 else "1 robot"
    lines = {
        "run": f"{config.method} on {config.robot} / {config.task}, {seeds}, {robots} each",
        "steps": f"{start}{config.train.steps:,} of each seed, {config.train.prefill:,} at random",
        "updates": f"{updates:,}, one per {config.train.steps_per_update} steps",
        "device": f"{device}, {precision}",
        "replay": megabytes(preflight.replay_bytes(config, plan.sizes)),
        "writes to": str(out),
    }
    return "\n".join(f"  {name:<10}{value}" for name, value in lines.items())


def megabytes(size: int) -> str:
    """A size in bytes, as somebody wants to read it.

    >>> megabytes(32_000), megabytes(5_260_000), megabytes(1_234_500_000)
    ('under 0.1 MB', '5.3 MB', '1,234 MB')
    """
    if size < 1e5:
        return "under 0.1 MB"
    return f"{size / 1e6:,.{1 if size < 1e7 else 0}f} MB"


def farewell(trainer: Trainer, out: Path, seconds: float) -> str:
    """What has happened, and what to do next."""
    if trainer.column < trainer.plan.columns:
        return (
            f"stopped at step {trainer.steps:,} of {trainer.config.train.steps:,}, all saved; "
            f"go on with: ursa train --resume {out}"
        )
    return f"done in {duration(seconds)}: {out}; see what it learnt with: ursa look {out}"
