"""Who trains on a lent machine while nobody calls: `python runs/keeper.py HOME` (runs/lease.py).

A program for each job, side by side: on a GPU under MPS, if there is one. What has ended well is
packed at once into HOME/packed/NAME, what died is told, and jobs are let go from the last on, never
the first, while the others would end too late (runs/pace.py). HOME/told.json says how each stands.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pace

LOOK = float(
    os.environ.get("LOOK", "100")
)  # s between looks: a pace needs time to tell of a change
PATIENCE = float(os.environ.get("PATIENCE", "60"))  # s in which who was let go may save and end
# What a job is at -> what has happened when it ends with a status that is not 0.
OTHERWISE = {"training": "died", "leaving": "let go", "packing": "not packed"}


@dataclass
class Job:
    """One training."""

    name: str
    process: subprocess.Popen[bytes]  # which trains, later which packs
    state: str = "training"
    asked: float = 0.0  # when it was let go

    def signal(self, number: int) -> None:
        """To the training and whom it has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)


class Keeper:
    """All of a lease, in one process whose children the trainings are."""

    def __init__(self, home: Path, jobs: dict[str, list[str]], by: float) -> None:
        self.home, self.by = home, by
        self.jobs = [
            Job(name, self._begin(f"{name}.log", "-m", "ursa", "train", "--quiet",
                                  "--out", f"outputs/{name}", *words))
            for name, words in jobs.items()
        ]  # fmt: skip

    def _begin(self, log: str, *words: str, **settings: str) -> subprocess.Popen[bytes]:
        with (self.home / log).open("ab") as out:
            return subprocess.Popen(
                [sys.executable, *words],
                cwd=self.home,
                env=os.environ | settings,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def keep(self) -> None:
        """Until all have ended."""
        look = time.time() + LOOK
        while any(job.state in OTHERWISE for job in self.jobs):
            for job in self.jobs:
                self._follow(job)
            if time.time() >= look:
                self._make_room()
                look = time.time() + LOOK
            self._tell()
            time.sleep(0.5)
        self._tell()

    def _follow(self, job: Job) -> None:
        """What comes next for it."""
        if job.state not in OTHERWISE:
            return
        status, log = job.process.poll(), f"{job.name}.log"
        if status is None:
            if job.state == "leaving" and time.time() > job.asked + PATIENCE:
                job.signal(signal.SIGKILL)
        elif status != 0:
            job.state = f"{OTHERWISE[job.state]} ({status})"
        elif job.state == "packing":
            job.state = "packed"
            packed = self.home / "packed"
            packed.mkdir(exist_ok=True)
            (self.home / "packing" / job.name).rename(packed / job.name)  # whole or not at all
        else:
            job.state = "packing"
            words = ("runs/pack.py", f"outputs/{job.name}", f"packing/{job.name}")
            job.process = self._begin(log, *words, JAX_PLATFORMS="cpu")

    def _needed(self) -> dict[str, float]:
        now, training = time.time(), [job for job in self.jobs if job.state == "training"]
        return {it.name: pace.left(self.home / "outputs" / it.name, now)[2] for it in training}

    def _make_room(self) -> None:
        try:
            name = pace.spare(self._needed(), self.jobs[0].name, self.by - time.time())
        except (OSError, ValueError, LookupError) as error:
            print(f"no pace: {error!r}", flush=True)  # no reason to give up what is trained
            return
        for job in self.jobs:
            if job.name == name:  # in order: a GPU that others share does not like sudden deaths
                job.state, job.asked = "leaving", time.time()
                job.signal(signal.SIGTERM)

    def _tell(self) -> None:
        told = self.home / "told.json"
        text = json.dumps({job.name: job.state for job in self.jobs})
        if not told.exists() or told.read_text() != text:
            print(text, flush=True)
            new = told.with_suffix(".new")
            new.write_text(text)
            new.rename(told)


def share(home: Path, programs: int) -> None:
    """What programs need to know that share a GPU and act for a lone robot on the host."""
    if shutil.which("nvidia-cuda-mps-control"):
        (home / "mps").mkdir(exist_ok=True)
        os.environ |= dict.fromkeys(
            ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"), str(home / "mps")
        )
        subprocess.run(["nvidia-cuda-mps-control", "-d"], check=False)
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
