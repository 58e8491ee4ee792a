"""What a lease trains: `python runs/words.py JOB...` tells names, and words of `ursa train`: JSON.

A JOB is RUN-SEED, one seed of a run of `ursa reproduce` as that would train it
(`src/ursa/evaluate/question.py`), as in alone-ursa-0; or 'NAME: WORDS', any words, as in
'far: --method dominic --preset paper --dominic.distance 2 --seeds 3'. Without checkpoints on the
way: nobody could resume them.
"""

import json
import re
import shlex
import sys
from collections.abc import Sequence

from ursa.errors import UserError
from ursa.evaluate.question import RUNS
from ursa.evaluate.setting import Setting
from ursa.run import command

TRAINED = {run.name: run for run in RUNS if not run.of}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def words(job: str) -> tuple[str, list[str]]:
    """Its name, and what `ursa train` is told."""
    name, named, rest = job.partition(":")
    if not NAME.fullmatch(name):
        raise UserError(f"{name!r}: want a name of letters, digits, '.', '_' and '-'")
    if named:
        said = shlex.split(rest)
    else:
        kind, _, seed = name.rpartition("-")
        if kind not in TRAINED or not seed.isdecimal():
            raise UserError(
                f"{name}: want RUN-SEED, as in alone-ursa-0, or 'NAME: WORDS'; "
                f"RUN is one of {', '.join(TRAINED)}"
            )
        said = [*Setting().words(TRAINED[kind]), "--seed", seed]
    try:
        steps = command.parse(said).config.train.steps
    except UserError as error:
        raise UserError(f"{name}: {error}") from error
    return name, [*said, "--train.checkpoint-every", str(steps)]


def main(jobs: Sequence[str]) -> int:
    try:
        told = [words(job) for job in jobs]
        if len({name for name, _ in told}) < len(told):
            raise UserError("a name is there twice: want every job once")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(dict(told)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
