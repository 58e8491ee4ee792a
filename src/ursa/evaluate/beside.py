"""Beside: results in a folder that new ones are to be written into.

A folder holds the seeds of one method under one set of settings, measured alike; numbers of
another run among them would be compared with them, or written over.
"""

from collections.abc import Sequence
from pathlib import Path

from ursa.errors import UserError
from ursa.evaluate import results
from ursa.evaluate.group import differing, where
from ursa.evaluate.results import Results, Source
from ursa.evaluate.study import Job


def refuse_strangers(place: Path, jobs: Sequence[Job]) -> None:
    """Results that are there already must be of the same settings, and measured alike.

    That holds for those that would be replaced as well; only a file that cannot be read is no loss.
    """
    again = {results.name(it.agent.seed) for it in jobs}
    for file in sorted(place.glob(results.name("*"))):
        try:
            kept = results.load(file)
        except UserError:
            if file.name in again:
                continue
            raise
        if other := _differs(kept, jobs[0]):
            raise UserError(
                f"{file} is of {where(kept)}, {other}: give another folder with --out, or take it "
                "away"
            )


def _differs(kept: Results, job: Job) -> str:
    """In what results differ from those that a job will leave; "" if in nothing that matters."""
    if odd := differing(results.settings(job.agent.config), kept.config):
        return f"which was trained with other settings ({odd})"
    if kept.source.steps != job.agent.steps:
        return f"which lived {kept.source.steps:,} control steps, not {job.agent.steps:,}"
    tried = [it.scenario for it in kept.damages]
    before = _way(kept.source, len(kept.skills.ret), tried, "distinct" in kept.notes)
    now = _way(job, len(job.z), list(job.cases), job.yardstick is not None)
    return "" if before == now else f"which was measured otherwise ({before}; not {now})"


def _way(by: Source | Job, rollouts: int, scenarios: Sequence[str], yardstick: bool) -> str:
    """How something was measured, or will be."""
    words = [f"{by.engine} at {1e3 * by.tick:g} ms", f"{rollouts} rollouts"]
    words += [f"scenarios {', '.join(scenarios)}"] if scenarios else []
    return ", ".join([*words, *(["with a yardstick"] if yardstick else [])])
