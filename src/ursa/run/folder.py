"""Folder: what a run leaves on disk, and who may write there. No JAX.

config.json        the resolved settings; never changed after the start
environment.json   one entry per start: versions, device, command line, git commit
metrics.jsonl, events.out.tfevents.*   see `ursa.journal`
checkpoints/, rows/                    see `ursa.checkpoint`, `ursa.segments`
agent/             the newest agent of each seed, for use: see `ursa.run.publish`
lock               held while a process trains here; says which
"""

import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import ursa
from ursa import durable
from ursa.claim import Claim
from ursa.config import Config
from ursa.errors import UserError
from ursa.run import settings

CONFIG, ENVIRONMENT, LOCK = "config.json", "environment.json", "lock"
AGENT, REPERTOIRE = "agent.safetensors", "repertoire.npz"  # of a seed, where agents are published
LARGEST = 16 << 20  # bytes of the second: thousands of starts
LIBRARIES = ("jax", "jaxlib", "equinox", "optax", "numpy", "mujoco-core", "safetensors")


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Nobody else trains in this folder meanwhile; refused if somebody does."""
    with closing(Claim(out / LOCK, out)):
        yield


def refuse_taken(out: Path) -> None:
    """An old run is never written over; a place must be one where we may write."""
    durable.refuse_unwritable(out)
    if (out / CONFIG).exists():
        raise UserError(
            f"{out} holds a run already: continue it with --resume {out}, or give another --out"
        )


def begin(out: Path, config: Config) -> None:
    """Make the folder a run's; from here on it can be resumed."""
    refuse_taken(out)
    write_whole(out / CONFIG, durable.to_json(asdict(config)))


def config_of(out: Path) -> Config:
    """The settings of the run in a folder."""
    return settings.read(out / CONFIG)


def published(place: Path) -> Path:
    """Where the agents of a run are; a folder that holds agents itself is that place."""
    inner = place / "agent"
    return inner if inner.is_dir() else place


def seeds(place: Path) -> list[int]:
    """The seeds of which an agent was published there."""
    found = [it.name.removeprefix("seed_") for it in place.glob("seed_*")]
    return sorted(int(name) for name in found if name.isdigit())


def refuse_changed(out: Path, config: Config, stored: Mapping[str, Any]) -> None:
    """A run goes on only with the settings that its checkpoints were made with."""
    then = settings.aged(stored)
    changed = settings.differences(asdict(config), then, f"in {CONFIG}", "when it was last saved")
    if changed:
        raise UserError(
            f"{out / CONFIG} was changed since this run began; put it back, or start another "
            "run:\n  " + "\n  ".join(changed)
        )


def note(out: Path, device: str, words: Sequence[str]) -> list[str]:
    """Add this start to environment.json; says in which versions it differs from the last one."""
    path = out / ENVIRONMENT
    try:
        told = durable.from_json(durable.read_bounded(path, LARGEST)) if path.exists() else {}
        starts = [it for it in told["starts"] if isinstance(it, dict)] if told else []
    except (ValueError, KeyError, TypeError):
        starts = []  # it explains a run, nothing depends on it
    entry = environment(device, words)
    write_whole(path, durable.to_json({"starts": [*starts, entry]}))
    if not starts:
        return []
    return settings.differences(_lasting(entry), _lasting(starts[-1]), "now", "before")


def environment(device: str, words: Sequence[str]) -> dict[str, Any]:
    """What this process runs on."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": list(words),
        "device": device,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "ursa": ursa.__version__,
        "commit": commit(),
        **{name: _version(name) for name in LIBRARIES},
    }


def commit(source: Path = Path(__file__).parent) -> str:
    """The git commit of the source, with a mark if files differ from it; empty without git."""
    git = shutil.which("git")
    if git is None:
        return ""

    def said(*words: str) -> str:
        done = subprocess.run(
            [git, "-C", str(source), *words], capture_output=True, text=True, timeout=10
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        found = said("rev-parse", "HEAD")
        return f"{found}+changes" if found and said("status", "--porcelain", "-uno") else found
    except (OSError, subprocess.TimeoutExpired):
        return ""


def write_whole(path: Path, data: bytes) -> None:
    """One file, in a folder that may not exist yet: the old or the new, never half of it."""
    with durable.room_for(path.name, path.parent, len(data)):
        temporary = path.with_name(f"tmp.{path.name}")
        durable.write(temporary, data)
        durable.rename(temporary, path)


def unused(robot: str, task: str, method: str) -> Path:
    """A folder of its own for a run whose place nobody chose."""
    name = f"{robot}-{task}-{method}-{time.strftime('%Y%m%d-%H%M%S')}"
    return Path("outputs") / name.replace(":", ".").replace("/", ".")


def words() -> list[str]:
    """The command line of this process."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv else []


def _lasting(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in ("time", "command")}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
