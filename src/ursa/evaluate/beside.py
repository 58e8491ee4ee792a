"""Beside: results in a folder that new ones are to be written into.

A folder holds the seeds of one method under one set of settings, measured alike; numbers of
another run among them would be compared with them, or written over.
"""

from collections.abc import Sequence
from pathlib import Path

from ursa.errors import UserError
from ursa.evaluate import results
from ursa.evaluate.group import learnt_by, where
from ursa.evaluate.results import Results
from ursa.evaluate.study import Job


def name(seed: int | str) -> str:
    """Of the file that holds the results of a seed."""
    return f"seed_{seed}.json"


def refuse_strangers(place: Path, jobs: Sequence[Job], run: str) -> None:
    """Results that are there already must be of the same settings, and measured alike.

    What is measured again replaces its file, however it was measured before; one that cannot be
    read is no loss then.
    """
    again = {name(it.agent.seed) for it in jobs}
    for file in sorted(place.glob(name("*"))):
        try:
            kept = results.load(file)
        except UserError:
            if file.name in again:
                continue
            raise
        replaced = file.name in again
        if replaced and kept.source.run == run:
            continue
        if other := _differs(kept, jobs[0], study=not replaced):
            raise UserError(
                f"{file} is of {where(kept)}, {other}: give another folder with --out, or take it "
                "away"
            )


def _differs(kept: Results, job: Job, *, study: bool) -> str:
    """In what results differ from those that a job will leave; "" if in nothing that matters."""
    mine, theirs = (learnt_by(it) for it in (results.settings(job.agent.config), kept.config))
    if odd := [it for it in {**theirs, **mine} if theirs.get(it) != mine.get(it)]:
        return f"which was trained with other settings ({', '.join(odd)})"
    lengths = job.agent.steps, kept.source.steps
    if study and lengths[0] != lengths[1]:
        return f"which lived {lengths[1]:,} control steps, not {lengths[0]:,}"
    ways = [
        f"{it.engine} at {1e3 * it.tick:g} ms, {rollouts} rollouts"
        for it, rollouts in ((kept.source, len(kept.skills.ret)), (job, len(job.z)))
    ]
    if study and ways[0] != ways[1]:
        return f"which was measured otherwise ({ways[0]}, not {ways[1]})"
    return ""
