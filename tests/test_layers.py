"""Imports point one way only; JAX and each simulator stay in their rooms."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "ursa"

# A room may import itself and the floors below it, never a neighbour on its own floor.
FLOORS = (
    {"errors", "machine"},
    {"types", "config", "durable", "flags"},
    {"presets"},
    {"nn", "replay", "robot", "checkpoint", "segments", "journal", "claim"},
    {"shared"},
    {"task", "skill", "world", "behavior", "show", "gate", "log", "channel"},
    {"agent", "emulator"},
    {"baselines"},
    {"env"},
    {"run", "adapt"},
    {"evaluate"},
    {"repair"},
    {"live"},
    {"cli", "doctor", "look", "demo", "watch"},
    {"__main__"},
)
JAX = {"jax", "jaxlib", "equinox", "optax", "tinygp"}
WITHOUT_JAX = {
    "errors",
    "types",
    "config",
    "presets",
    "flags",
    "durable",
    "claim",
    "robot",
    "task",
    "shared",
    "gate",
    "log",
    "channel",
    "emulator",
    "cli",
    "__init__",
    "__main__",
}
# Of a run on a robot: the learner, the policy that the actor takes from it, and the replay of both.
LIVE_WITH_JAX = {
    f"live/{name}.py" for name in ("learning", "student", "snapshot", "pilot", "replay_command")
}
# The processes that must outlast the learner, whatever JAX is or does on that machine.
PROCESSES_WITHOUT_JAX = (
    "gating",
    "recording",
    "supervisor",
    "carrying",
    "emulate_command",
    "learn_command",
    "stop_command",
)
WITH_MUJOCO = {"robot", "show", "doctor"}
WITH_PYBULLET = {"robot/bullet.py"}
LONGEST = 350  # lines; a longer file holds two nouns


def room(file: PurePosixPath) -> str:
    """The room of a file, given relative to the package: robot/a1.py and robot.py are in robot."""
    return file.parts[0].removesuffix(".py")


def floor(name: str) -> int:
    """How high a room lies; 0 is the ground."""
    for height, rooms in enumerate(FLOORS):
        if name in rooms:
            return height
    raise KeyError(name)


def imported(source: str) -> Iterator[str]:
    """Every module a source imports, at the top, in a function or for the type checker only."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def complaints(file: PurePosixPath, source: str) -> list[str]:
    """What is wrong with a file of the package, in sentences."""
    mine = room(file)
    known = set().union(*FLOORS)
    if mine not in known | {"__init__"}:
        return [f"{file}: room {mine} is on no floor; add it to FLOORS"]
    wrong = []
    for module in imported(source):
        top, _, rest = module.partition(".")
        theirs = rest.partition(".")[0]
        if top == "ursa" and theirs in known and theirs != mine:
            if mine == "__init__" or floor(theirs) >= floor(mine):
                wrong.append(f"{file}: {mine} may not import {theirs}")
        elif top in JAX and mine in WITHOUT_JAX:
            wrong.append(f"{file}: {mine} may not import {top}, it works without JAX")
        elif top in JAX and mine == "live" and str(file) not in LIVE_WITH_JAX:
            wrong.append(f"{file}: only {', '.join(sorted(LIVE_WITH_JAX))} may import {top}")
        elif top == "mujoco" and mine not in WITH_MUJOCO:
            wrong.append(f"{file}: only {', '.join(sorted(WITH_MUJOCO))} may import mujoco")
        elif top in ("pybullet", "pybullet_data") and str(file) not in WITH_PYBULLET:
            wrong.append(f"{file}: only {', '.join(sorted(WITH_PYBULLET))} may import {top}")
    length = source.count("\n")
    if length > LONGEST:
        wrong.append(f"{file}: {length} lines, at most {LONGEST}")
    return wrong


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_file_imports_only_what_lies_below_it(file):
    found = complaints(PurePosixPath(file.relative_to(PACKAGE).as_posix()), file.read_text())
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("robot/a1.py", "from ursa.task import forward"),
        ("robot/a1.py", "def late():\n    import ursa.task.forward"),
        ("robot/a1.py", "from ursa import task"),
        ("skill/kde.py", "from ursa.world.rssm import RSSM"),
        ("world/rssm.py", "if TYPE_CHECKING:\n    from ursa.skill import kde"),
        ("__init__.py", "from ursa.robot import registry"),
        ("types.py", "import jax.numpy as jnp"),
        ("config.py", "from jax import Array"),
        ("robot/motion.py", "from jax import numpy"),
        ("task/terms.py", "import equinox as eqx"),
        ("gate/wire.py", "from ursa.log.store import Store"),
        ("gate/limits.py", "from ursa.skill import kde"),
        ("gate/gate.py", "def late():\n    from ursa.live import settings"),
        ("log/store.py", "import jax"),
        ("live/gating.py", "def late():\n    import jax"),
        ("env/gym.py", "import mujoco"),
        ("robot/registry.py", "import pybullet"),
        ("evaluate/rollout.py", "import pybullet_data"),
        ("helpers.py", ""),
        ("robot/long.py", "\n" * (LONGEST + 1)),
    ],
)
def test_the_checker_catches_a_stray(file, source):
    assert len(complaints(PurePosixPath(file), source)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("task/forward.py", "from ursa.robot.spec import Spec\nfrom ursa.task import terms"),
        ("robot/mujoco.py", "import mujoco\nimport numpy as np\nfrom ursa.errors import UserError"),
        ("robot/bullet.py", "import pybullet, pybullet_data"),
        (
            "run/learner.py",
            "import jax\nfrom ursa.agent import learn\nfrom ursa import __version__",
        ),
        ("emulator/rig.py", "from ursa.gate import wire\nfrom ursa.shared.clock import Clock"),
        ("live/learning.py", "import jax\nfrom ursa.log import store"),
        ("__main__.py", "from ursa.cli import main"),
    ],
)
def test_the_checker_lets_the_right_ones_pass(file, source):
    assert complaints(PurePosixPath(file), source) == []


def loaded(names: Iterable[str]) -> list[str]:
    """What of JAX is there after importing modules in an interpreter of its own, by any way."""
    program = (
        "import importlib, sys\n"
        f"for name in {list(names)!r}: importlib.import_module(name)\n"
        f"print(*sorted({JAX!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_rooms_without_jax_load_without_it():
    """The arrows above are read from the text; this one is tried."""
    names = [
        ".".join(["ursa", *file.relative_to(PACKAGE).with_suffix("").parts])
        for file in files()
        if room(PurePosixPath(file.relative_to(PACKAGE).as_posix())) in WITHOUT_JAX
        and file.name not in ("__init__.py", "__main__.py", "bullet.py")
    ]
    assert {"ursa.gate.gate", "ursa.log.store", "ursa.emulator.serving"} <= set(names)
    assert loaded(names) == []


@pytest.mark.parametrize("name", PROCESSES_WITHOUT_JAX)
def test_a_process_that_outlasts_the_learner_loads_no_jax(name):
    assert loaded([f"ursa.live.{name}"]) == []


def test_jax_is_found_also_where_another_module_brings_it():
    source = (PACKAGE / "live" / "rounds.py").read_text()
    assert not JAX & {module.partition(".")[0] for module in imported(source)}
    assert {"jax", "equinox"} <= set(loaded(["ursa.live.rounds"]))  # by way of the student
