"""What a finished run needs to be measured elsewhere: `python runs/pack.py RUN OUT`.

For training on a machine that is only lent (runs/lease.py). A run of five seeds leaves gigabytes of
checkpoints and rows; measuring asks for settings, diaries and agents, these cut to 16 bits a
number. Writes OUT/seed_K.tgz; one or more of them unpacked into one folder are a run again, for
`ursa evaluate`. A run that has not come to its end is refused.
"""

import argparse
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import safetensors
import safetensors.numpy

from ursa import journal
from ursa.errors import UserError
from ursa.run import folder, publish

REST = (folder.CONFIG, folder.ENVIRONMENT, journal.LINES, f"agent/{folder.CONFIG}")
AGENT, KNOWN = "agent.safetensors", "repertoire.npz"


def halve(source: Path, target: Path) -> None:
    """The same agent in 16 bits, as `ursa.run.publish` writes and reads it."""
    with safetensors.safe_open(source, "np") as opened:
        file: Any = opened
        arrays = {name: publish.cut(file.get_tensor(name)) for name in list(file.keys())}
        target.write_bytes(safetensors.numpy.save(arrays, metadata=file.metadata()))


def pack(run: Path, out: Path, seeds: Sequence[int] | None = None) -> list[Path]:
    """The archives: one for each seed asked for (unset: all), with what all seeds share."""
    config = folder.config_of(run)
    every = range(config.seed, config.seed + config.seeds)
    places = [run / "agent" / f"seed_{seed}" for seed in (every if seeds is None else seeds)]
    for place in places:
        steps = publish.steps(place / AGENT)
        if steps != config.train.steps:
            raise UserError(f"{place} is at {steps:,} of {config.train.steps:,} steps: wait for it")
    out.mkdir(parents=True, exist_ok=True)
    made = []
    for place in places:
        made.append(out / f"{place.name}.tgz")
        with tarfile.open(made[-1], "w:gz") as archive, tempfile.TemporaryDirectory() as room:
            for name in REST:
                archive.add(run / name, name)
            small = Path(room) / AGENT
            halve(place / AGENT, small)
            archive.add(small, f"agent/{place.name}/{AGENT}")
            if (place / KNOWN).exists():
                archive.add(place / KNOWN, f"agent/{place.name}/{KNOWN}")
            if config.seeds > 1:  # what one seed lived through; one alone has the run's diary
                own = f"{place.name}/{journal.LINES}"
                archive.add(run / own, own)
    return made


def main(words: Sequence[str]) -> int:
    """Say what was made and how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", help="unset: all")
    told = parser.parse_args(words)
    try:
        made = pack(told.run, told.out, told.seeds)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    for path in made:
        print(f"{path}  {path.stat().st_size / 2**20:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
