"""A lease: trainings side by side on a machine that is only lent, in calls of some minutes each.

  python runs/lease.py HOME OUT JOB...     begins them, watches, brings home who has ended
  python runs/lease.py HOME OUT            watches on and brings home

They go on between calls. Every call brings home all that has ended since the first, as soon as it
is there: OUT/NAME/seed_K.tgz, which unpacked is a run for `ursa evaluate`. So a call may be lost or
cut off, and the same call may be made twice. A machine that goes back when nobody calls is best
given its calls beforehand. Jobs are named most wanted first: while somebody would end too late the
last is let go, never the first. `ursa train` needs what runs/carry.sh has gathered, where it is.

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

import keeper
import pace

HERE = Path(__file__).parents[1]
CARRIED = HERE / "carry" / "libraries.tgz"
SHOWN = 400  # letters of a diary's last line


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


def begin(home: Path, jobs: Sequence[str], by: float) -> None:
    """Copy the source there and start who keeps it."""
    for name in ("src", "runs"):
        shutil.copytree(HERE / name, home / name, dirs_exist_ok=True)
    if CARRIED.exists():
        with tarfile.open(CARRIED) as archive:
            archive.extractall(home / "carry", filter="data")
    script = str(home / "runs" / "words.py")
    said = subprocess.run(
        [sys.executable, script, *jobs],
        env=there(home),
        capture_output=True,
        text=True,
        check=False,
    )
    if said.returncode:
        raise Refused(said.stderr.strip())
    words = json.loads(said.stdout)
    (home / "told.json").write_text(json.dumps(dict.fromkeys(words, "training")))
    (home / "asked.json").write_text(json.dumps({"asked": list(jobs), "jobs": words, "by": by}))
    with (home / "keeper.log").open("ab") as log, (home / "lock").open("ab") as lock:
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


def bring(home: Path, out: Path) -> None:
    """Everything that is packed and not in OUT yet."""
    for packed in sorted((home / "packed").glob("*")):
        if not (out / packed.name).exists():
            shutil.copytree(packed, out / packed.name)


def watch(home: Path, out: Path, seconds: float) -> None:
    """Until all have ended or the time is over."""
    until = time.monotonic() + seconds
    while True:
        alive = kept(home)  # looked at first: what it left is brought home after that
        bring(home, out)
        if not alive or time.monotonic() >= until:
            return
        time.sleep(1)


def tell(home: Path) -> bool:
    """How each stands; whether all is well."""
    alive = kept(home)
    told, well = json.loads((home / "told.json").read_text()), True
    for name, state in told.items():
        run, busy = home / "outputs" / name, state in keeper.OTHERWISE
        steps, step, needed = pace.left(run, time.time())
        going = f", {steps:,} steps, {1e3 * step:.2f} ms a step, {needed:.0f} s to go"
        print(f"{name}: {state}{going if state == 'training' else ''}")
        diary = run / "metrics.jsonl"
        lines = diary.read_text().splitlines() if diary.exists() else []
        print("  " + (lines[-1][:SHOWN] if lines else "nothing written yet"))
        if state.startswith(("died", "not packed")):
            print((home / f"{name}.log").read_text()[-2000:])
            well = False
        if busy and not alive:
            print("  and nobody keeps it any more: " + (home / "keeper.log").read_text()[-2000:])
            well = False
    return well


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("home", type=Path, help="a folder there that lasts between calls")
    parser.add_argument("out", type=Path, help="what comes back of each call")
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="RUN-SEED, or 'NAME: WORDS'")
    parser.add_argument("--seconds", type=float, default=570, help="a call may last (default 570)")
    parser.add_argument(
        "--lease", type=float, default=1560, help="from now on until all are to end (default 1560)"
    )
    told = parser.parse_args()
    home, asked = told.home.resolve(), told.home / "asked.json"
    try:
        if not asked.exists():
            if not told.jobs:
                raise Refused(f"{home}: nothing was begun here; is this another machine?")
            begin(home, told.jobs, time.time() + told.lease)
        elif told.jobs and told.jobs != json.loads(asked.read_text())["asked"]:
            raise Refused(f"{home}: other jobs were begun here; watch them, or take another HOME")
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2
    watch(home, told.out, told.seconds)
    return 0 if tell(home) else 1


if __name__ == "__main__":
    sys.exit(main())
