"""A lease: trainings side by side on a machine that is only lent, in calls of some minutes each.

  python3 runs/lease.py HOME OUT JOB...     begins them, watches, brings home who has ended
  python3 runs/lease.py HOME OUT            watches on and brings home

They go on between calls. Every call brings home all that has ended since the first, as soon as it
is there: OUT/NAME/seed_K.tgz, which unpacked is a run for `ursa evaluate`; and OUT/diaries.tgz,
what is known of all others. So a call may be lost or cut off, and the same call may be made twice.
A machine that goes back when nobody calls is best given its calls one right after the other. Jobs
are named most wanted first: when the time is too short for all, who would end too late is let go,
the last first, the first never. `ursa train` needs the libraries that runs/carry.sh gathers; git
ignores carry/, so it has to be taken along. Status 1: one has died or could not be packed.

An H200 makes about 100 updates a second for all programs together. A robot alone (alone-METHOD-K)
is told 45,000, 32 robots (forward-METHOD-K) 31,250.
"""

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keeper
import pace

HERE = Path(__file__).parents[1]
CARRIED = HERE / "carry" / "libraries.tgz"
SHOWN = 400  # letters of a diary's last line
MINUTE = 60.0  # s between two lines on each job


class Refused(Exception):
    """Said to the caller; nothing was begun."""


def there(home: Path) -> dict[str, str]:
    """The environment in which programs of a home run."""
    path = os.pathsep.join(str(home / name) for name in ("carry", "src"))
    return os.environ | {"PYTHONPATH": path}


def kept(home: Path) -> bool:
    """Whether a keeper lives: it was born with a lock on this file."""
    with (home / "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def ask(home: Path, jobs: Sequence[str], by: float) -> None:
    """Copy the source there and write down what is to be trained until when."""
    for name in ("src", "runs"):
        shutil.copytree(HERE / name, home / name, dirs_exist_ok=True)
    if CARRIED.exists():
        with tarfile.open(CARRIED) as archive:
            archive.extractall(home / "carry", filter="data")
    said = subprocess.run(
        [sys.executable, str(home / "runs" / "words.py"), *jobs],
        env=there(home),
        capture_output=True,
        text=True,
        check=False,
    )
    if said.returncode:
        missing = "ModuleNotFoundError" in said.stderr and not CARRIED.exists()
        hint = (
            f"\n{CARRIED} is not here: run runs/carry.sh and take carry/ along" if missing else ""
        )
        raise Refused(said.stderr.strip() + hint)
    told = {"asked": list(jobs), "jobs": json.loads(said.stdout), "by": by}
    (home / "asked.new").write_text(json.dumps(told))
    (home / "asked.new").rename(home / "asked.json")


def keep(home: Path) -> None:
    """Start a keeper: the first, or one that goes on for one that has died."""
    with (home / ".keeper.log").open("ab") as log, (home / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.Popen(
            [sys.executable, str(home / "runs" / "keeper.py"), str(home)],
            cwd=home,
            env=there(home),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[lock.fileno()],
        )


def states(home: Path) -> dict[str, str]:
    """How each job stands, in the order of their names; "" where nobody has begun it yet."""
    jobs = json.loads((home / "asked.json").read_text())["jobs"]
    told: dict[str, Any] = json.loads(text) if (text := _end(home / "told.json")) else {}
    return {name: told.get(name, {"state": ""})["state"] for name in jobs}


def unfinished(home: Path) -> bool:
    """Whether there is something left to keep."""
    return any(state == "" or state in keeper.OTHERWISE for state in states(home).values())


def bring(home: Path, out: Path) -> None:
    """Everything that is packed and not in OUT yet."""
    for packed in sorted((home / "packed").glob("*")):
        if not (out / packed.name).exists():
            shutil.rmtree(out / ".coming", ignore_errors=True)
            shutil.copytree(packed, out / ".coming")
            (out / ".coming").rename(out / packed.name)
            print(f"brought home: {packed.name}", flush=True)


def bring_diaries(home: Path, out: Path) -> None:
    """What every job has written so far, of which no more may come home."""
    new = out / ".diaries"
    with tarfile.open(new, "w:gz") as archive:
        for path in [
            *home.glob("*.log"),
            *home.glob(".keeper.log"),
            *home.glob("outputs/*/*.json*"),
        ]:
            archive.add(path, path.relative_to(home))
    new.rename(out / "diaries.tgz")


def carry_home(home: Path, out: Path, *, diaries: bool) -> None:
    """What there is; what cannot be is told and tried again, for a call that ends loses more."""
    try:
        bring(home, out)
        if diaries:
            bring_diaries(home, out)
    except OSError as error:  # a file that is being replaced, a full disk
        print(f"not brought home: {error}", flush=True)


def watch(home: Path, out: Path, until: float) -> None:
    """Until all have ended or the time is over."""
    told, again, revived = {}, time.monotonic() + MINUTE, time.monotonic()
    while True:
        over = time.monotonic() >= until or not unfinished(home)
        if news := (now := states(home)) != told or over or time.monotonic() >= again:
            told, again = now, time.monotonic() + MINUTE
            tell(home)
        carry_home(home, out, diaries=news)
        if over:
            return
        if not kept(home) and time.monotonic() >= revived:
            print(f"a keeper is started\n{_end(home / '.keeper.log')}", flush=True)
            keep(home)
            revived = time.monotonic() + MINUTE  # not faster than it dies
        time.sleep(1)


def tell(home: Path, *, all_of_it: bool = False) -> bool:
    """A line on each, or what there is to know; whether all is well."""
    well = True
    for name, state in states(home).items():
        run, bad = home / "outputs" / name, state.startswith(("died", "not packed"))
        try:
            steps, step, needed = pace.left(run, time.time())
            ago = time.time() - (run / "metrics.jsonl").stat().st_mtime
            going = f", {steps:,} steps, {1e3 * step:.2f} ms a step, {needed:.0f} s to go"
            going += f", wrote {ago:.0f} s ago"
        except (OSError, ValueError, LookupError) as error:
            going = f", nothing to read ({error})"
        line = f"{name}: {state or 'not begun'}{going if state == 'training' else ''}"
        print(line, flush=True)
        if all_of_it:
            print(f"  {_device(run)}\n  {_end(run / 'metrics.jsonl', 1)[:SHOWN]}", flush=True)
        if bad and all_of_it:
            print(_end(home / f"{name}.log"), flush=True)
        well &= not bad
    return well


def _device(run: Path) -> str:
    try:
        return json.loads((run / "environment.json").read_text())["starts"][-1]["device"]
    except (OSError, ValueError, LookupError):
        return "device not known yet"


def _end(path: Path, lines: int = 30) -> str:
    text = path.read_text(errors="replace") if path.exists() else ""
    return "\n".join(text.splitlines()[-lines:])


def main() -> int:
    begun = time.monotonic()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("home", type=Path, help="a folder there that lasts between calls")
    parser.add_argument("out", type=Path, help="what comes back of each call")
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="RUN-SEED, or 'NAME: WORDS'")
    parser.add_argument("--seconds", type=float, default=575, help="a call may last (default 575)")
    parser.add_argument(
        "--lease",
        type=float,
        default=1560,
        help="from the first call on until all are to end: what is left of the lease, less four "
        "minutes for saving, packing and bringing home (default 1560)",
    )
    told = parser.parse_args()
    home, asked = told.home.resolve(), told.home / "asked.json"
    try:
        if not asked.exists():
            if not told.jobs:
                raise Refused(f"{home}: nothing was begun here; is this another machine?")
            ask(home, told.jobs, time.time() + told.lease)
            keep(home)
        elif told.jobs and told.jobs != json.loads(asked.read_text())["asked"]:
            raise Refused(f"{home}: other jobs were begun here; watch them, or take another HOME")
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2
    told.out.mkdir(parents=True, exist_ok=True)
    watch(home, told.out, begun + told.seconds)
    return 0 if tell(home, all_of_it=True) else 1


if __name__ == "__main__":
    sys.exit(main())
