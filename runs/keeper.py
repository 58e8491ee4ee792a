"""Who trains on a lent machine while nobody calls: `python runs/keeper.py HOME` (runs/lease.py).

A program for each job, side by side: on a GPU under MPS, if there is one. What has ended well is
packed at once into HOME/packed/NAME, what died is told, and who would end too late makes room for
others (runs/pace.py). HOME/told.json says how each stands and what process is at it: a keeper that
is started where another has died goes on with the trainings of that one.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pace

# s between looks at who is late: a pace needs time to tell of a change.
LOOK = float(os.environ.get("LOOK", "100"))
# s in which who was let go may save and end. A GPU that others share does not like sudden deaths.
PATIENCE = float(os.environ.get("PATIENCE", "120"))
# What a job is at -> what has happened when it ends with a status that is not 0.
OTHERWISE = {"training": "died", "leaving": "let go", "packing": "not packed"}


@dataclass
class Job:
    """One training."""

    name: str
    state: str
    pid: int
    process: subprocess.Popen[bytes] | None = None  # None: a child of a keeper that is dead
    asked: float = field(default_factory=time.time)  # when it was let go

    def status(self) -> int | None:
        """As `Popen.poll`; of who was another's child nobody knows more than that it has ended."""
        if self.process is not None:
            return self.process.poll()
        try:
            after_name = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2]
        except OSError:
            return 0
        return 0 if after_name.split()[0] in "ZX" else None

    def signal(self, number: int) -> None:
        """To the training and whom it has started."""
        if self.status() is None:
            os.killpg(self.pid, number)


class Keeper:
    """All of a lease, in one process."""

    def __init__(self, home: Path, jobs: dict[str, list[str]], by: float) -> None:
        self.home, self.by = home, by
        told = json.loads(text) if (text := _read(home / "told.json")) else {}
        self.jobs = [Job(name, **told.get(name, {"state": "", "pid": 0})) for name in jobs]
        for job in self.jobs:
            if not job.state:
                train = ("-m", "ursa", "train", "--quiet", "--out", f"outputs/{job.name}")
                self._begin(job, *train, *jobs[job.name])
                job.state = "training"
            elif job.state == "packing":
                self._pack(job)
            self._tell()

    def _begin(self, job: Job, *words: str, **settings: str) -> None:
        with (self.home / f"{job.name}.log").open("ab") as out:
            job.process = subprocess.Popen(
                [sys.executable, *words],
                cwd=self.home,
                env=os.environ | settings,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        job.pid = job.process.pid

    def _pack(self, job: Job) -> None:
        shutil.rmtree(self.home / "packing" / job.name, ignore_errors=True)
        words = ("runs/pack.py", f"outputs/{job.name}", f"packing/{job.name}")
        self._begin(job, *words, JAX_PLATFORMS="cpu")
        job.state = "packing"

    def keep(self) -> None:
        """Until all have ended."""
        look = time.time() + LOOK
        while any(job.state in OTHERWISE for job in self.jobs):
            for job in self.jobs:
                self._follow(job)
            if time.time() >= look:
                self._make_room()
                look = time.time() + LOOK
            time.sleep(0.5)

    def _follow(self, job: Job) -> None:
        """What comes next for it."""
        if job.state not in OTHERWISE:
            return
        status = job.status()
        if status is None:
            if job.state == "leaving" and time.time() > job.asked + PATIENCE:
                job.signal(signal.SIGKILL)
            return
        try:
            if status != 0:
                job.state = f"{OTHERWISE[job.state]} ({status})"
            elif job.state == "packing":
                packed = self.home / "packed"
                packed.mkdir(exist_ok=True)
                (self.home / "packing" / job.name).rename(packed / job.name)  # whole or not at all
                job.state = "packed"
            else:
                self._pack(job)
        except OSError as error:  # of one job: no reason to leave the others alone
            job.state = f"not packed ({error})"
        self._tell()

    def _make_room(self) -> None:
        now, training = time.time(), [job for job in self.jobs if job.state == "training"]
        try:
            needed = {
                it.name: pace.left(self.home / "outputs" / it.name, now)[2] for it in training
            }
        except (OSError, ValueError, LookupError) as error:
            print(f"no pace: {error!r}", flush=True)  # no reason to give up what is trained
            return
        name = pace.spare(needed, self.jobs[0].name, self.by - now)
        for job in training:
            if job.name == name:
                job.state, job.asked = "leaving", now
                job.signal(signal.SIGTERM)
                self._tell()

    def _tell(self) -> None:
        told = {job.name: {"state": job.state, "pid": job.pid} for job in self.jobs}
        try:
            print(json.dumps(told), flush=True)
            new = self.home / "told.new"
            new.write_text(json.dumps(told))
            new.rename(self.home / "told.json")
        except OSError as error:
            print(f"not told: {error!r}", file=sys.stderr)


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def share(home: Path, programs: int) -> None:
    """What programs need to know that share a GPU and act for a lone robot on the host."""
    if shutil.which("nvidia-cuda-mps-control"):
        (home / "mps").mkdir(exist_ok=True)
        os.environ |= dict.fromkeys(
            ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"), str(home / "mps")
        )
        try:
            subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True, timeout=30)
        except subprocess.SubprocessError as error:
            print(f"MPS: {error}", flush=True)  # it may run already; trainings tell if it does not
    # A GPU that cannot be used is an error, not a reason to train on the CPU for hours.
    os.environ["JAX_PLATFORMS"] = os.environ.get("JAX_PLATFORMS") or "cuda,cpu"
    # A share of the memory; few threads, and no hand-over to another, who may have to be woken.
    os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.8 / programs:.2f}"
    os.environ |= {"PJRT_NPROC": "4", "NPROC": "4", "OPENBLAS_NUM_THREADS": "1"}
    os.environ |= {"JAX_CPU_ENABLE_ASYNC_DISPATCH": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def main() -> None:
    home = Path(sys.argv[1])
    asked = json.loads((home / "asked.json").read_text())
    share(home, len(asked["jobs"]))
    Keeper(home, asked["jobs"], asked["by"]).keep()


if __name__ == "__main__":
    main()
