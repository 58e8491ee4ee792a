"""`ursa.train`: the same as the command, for Python."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ursa.errors import UserError
from ursa.run import folder, preflight, settings, stop

if TYPE_CHECKING:
    from ursa.run.agent import Agent

LOADING = "loading JAX and making the agent: some ten to thirty seconds on a CPU"


def train(
    preset: str = "laptop",
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    quiet: bool = False,
    **changes: Any,
) -> "Agent":
    """Train, and return the agent of the first seed; the others: `Agent.load(out, seed=1)`.

    `changes` are settings: `robot="point"`, `seeds=3`, `steps=10_000`, `world={"deter": 64}`.
    Everything is written into `out`. `resume` goes on with the run in a folder instead. Ctrl-C
    saves, says how to go on and raises KeyboardInterrupt; before the first step there is nothing
    to save.
    """
    if resume is not None:
        if changes or out is not None:
            given = ", ".join([*changes, *(["out"] if out is not None else [])])
            raise UserError(f"resume goes on with the settings of that run: leave out {given}")
        place = Path(resume)
        config = folder.config_of(place)
    else:
        config = settings.configure(preset, changes)
        default = folder.unused(config.robot, config.task, config.method)
        place = default if out is None else Path(out)
    with stop.on_signal() as asked:
        with asked.answering(stop.STARTING):
            preflight.check(config)
            if not quiet:
                print(LOADING, file=sys.stderr, flush=True)
            from ursa.run import train as lockstep  # JAX takes seconds: not for a mistake in a name
            from ursa.run.agent import Agent
        started = time.monotonic()
        trainer = lockstep.train(config, place, resume=resume is not None, quiet=quiet, asked=asked)
    if not quiet:
        print(lockstep.farewell(trainer, place, time.monotonic() - started))
    if trainer.column < trainer.plan.columns:
        raise KeyboardInterrupt
    return Agent.load(place, config.seed)
