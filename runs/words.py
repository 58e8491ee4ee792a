"""What trains single seeds of the runs that questions need: `python runs/words.py RUN-SEED...`.

One line each: the name, and the words of `ursa train` that `ursa reproduce` would train that run by
(`src/ursa/evaluate/question.py`), of this seed alone and without checkpoints on the way.
"""

import sys
from collections.abc import Sequence

from ursa.evaluate.question import RUNS
from ursa.evaluate.setting import Setting
from ursa.run import command

TRAINED = {run.name: run for run in RUNS if not run.of}


def words(name: str) -> list[str]:
    """Of `ursa train`, for what is called RUN-SEED."""
    kind, _, seed = name.rpartition("-")
    if kind not in TRAINED or not seed.isdecimal():
        sys.exit(f"{name}: want RUN-SEED, as in alone-ursa-0; RUN is one of {', '.join(TRAINED)}")
    said = Setting().words(TRAINED[kind])
    steps = command.parse(said).config.train.steps
    return [*said, "--seed", seed, "--train.checkpoint-every", str(steps)]


def main(names: Sequence[str]) -> None:
    lines = [" ".join([name, *words(name)]) for name in names]
    print(*lines, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
