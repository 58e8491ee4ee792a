"""`ursa train`: flags over a preset, checked whole before anything starts. No JAX until it does."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from tyro.conf import arg

from ursa.config import Config
from ursa.errors import UserError
from ursa.flags import parsed
from ursa.presets import PRESETS, Name, preset
from ursa.run import folder, preflight, settings, start, stop

INTERRUPTED = 130
DESCRIPTION = """\
Let a robot discover what it can do; everything it learns goes into one folder.

  ursa train                                         a simulated A1, minutes on a laptop
  ursa train --robot point --task point --preset tiny --out outputs/first
  ursa train --preset paper --seeds 5 --out outputs/a1       one GPU, the paper's numbers
  ursa train --method dominic --skill.commit window --world.deter 64
  ursa train --resume outputs/a1                     go on after a stop, a crash or a power cut

A preset is a whole set of settings: paper (one GPU), literal (the same, as printed), desktop (one
core, two hours: it walks, seldom safely), laptop (two cores, minutes: postures), tiny (tests).
Every setting below can be changed; the defaults shown are those of the chosen preset, so
`ursa train --preset paper --help` shows the paper's. Ctrl-C saves and says how to go on.
Afterwards `ursa look FOLDER` draws the skills and compares them with chance.
"""


@dataclass(frozen=True, kw_only=True)
class Flags(Config):
    """Every setting, and how to run."""

    # where the other settings come from
    preset: Name = "laptop"
    steps: Annotated[int | None, arg(metavar="INT")] = None  # short for --train.steps
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None  # where to write; unset: a new one
    resume: Annotated[Path | None, arg(metavar="FOLDER")] = None  # go on with the run there
    quiet: bool = False  # no progress line

    @property
    def config(self) -> Config:
        """The settings alone."""
        kept = {item.name: getattr(self, item.name) for item in fields(Config)}
        if self.steps is not None:
            kept["train"] = replace(self.train, steps=self.steps)
        return Config(**kept)


def train(arguments: Sequence[str]) -> int:
    """Let a robot discover what it can do (see `ursa train --help`)."""
    with stop.on_signal() as asked:
        with asked.answering(stop.STARTING):
            flags = parse(arguments)
            config, out = settled(flags)
            preflight.check(config)
            if flags.resume is None:
                folder.refuse_taken(out)
            asked.early()
            if not flags.quiet:
                print(start.LOADING, file=sys.stderr, flush=True)
            from ursa.run import train as lockstep  # JAX takes seconds: not for a mistake in a flag
        started = time.monotonic()
        trainer = lockstep.train(
            config, out, resume=flags.resume is not None, quiet=flags.quiet, asked=asked
        )
    said = lockstep.farewell(trainer, out, time.monotonic() - started)
    print(said, file=sys.stderr)
    return INTERRUPTED if trainer.column < trainer.plan.columns else 0


F = TypeVar("F", bound=Flags)


def parse(arguments: Sequence[str]) -> Flags:
    """Flags from words, with the chosen preset (or the run to resume) as defaults."""
    _, base, kept = begun(arguments)
    return understood(Flags, arguments, base, kept, "ursa train", DESCRIPTION)


def begun(arguments: Sequence[str]) -> tuple[Path | None, Config, dict[str, Any]]:
    """The run to resume, the config whose values are the defaults, and the preset if named."""
    told = {name: _value(arguments, name) for name in ("preset", "resume")}
    if told["resume"] is not None:
        if told["preset"] is not None:
            raise UserError("--resume goes on with the settings of that run: leave out --preset")
        return Path(told["resume"]), folder.config_of(Path(told["resume"])), {}
    name = told["preset"] or Flags.preset
    known = name in PRESETS  # tyro refuses the other words
    base = preset(name if known else Flags.preset)
    return None, base, {"preset": name} if told["preset"] and known else {}


def understood(
    kind: type[F],
    arguments: Sequence[str],
    base: Config,
    kept: Mapping[str, Any],
    program: str,
    description: str,
) -> F:
    """Flags of a kind, where whatever is not said is as in `base` and `kept`."""
    values = {item.name: getattr(base, item.name) for item in fields(Config)}
    default = kind(**values, **kept)
    return parsed(kind, arguments, program, default=default, description=description)


def settled(flags: Flags) -> tuple[Config, Path]:
    """The config to run and where; a run that goes on keeps its settings."""
    config = flags.config
    if flags.resume is None:
        return config, flags.out or folder.unused(config.robot, config.task, config.method)
    if flags.out is not None:
        raise UserError("--resume writes where that run has written: leave out --out")
    settings.refuse_other(folder.config_of(flags.resume), config, flags.resume)
    return config, flags.resume


def _value(arguments: Sequence[str], name: str) -> str | None:
    """The word that follows a flag, looked up before the flags are understood."""
    for index, word in enumerate(arguments):
        if word == f"--{name}" and index + 1 < len(arguments):
            return arguments[index + 1]
        if word.startswith(f"--{name}="):
            return word.partition("=")[2]
    return None
