"""The README is run: every command and every program in it, in order, in one folder."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlparse

import pytest

from ursa.errors import UserError
from ursa.show import gl

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
# What only a new machine does; `make train` takes minutes, `make test` runs this very file.
CLONE = "git clone ADDRESS-OF-THIS-REPOSITORY ursa && cd ursa"
SETUP = (CLONE, "make setup", "make train", "make test")
DRAWING = {"watch", "demo"}
PROGRAMS = {
    ".venv/bin/ursa": (sys.executable, "-m", "ursa"),
    ".venv/bin/python": (sys.executable,),
}


def blocks(kind: str) -> list[str]:
    return [text for name, text in BLOCKS if name == kind]


def commands() -> list[str]:
    lines = "".join(blocks("bash")).splitlines()
    return [line for line in lines if line and line not in SETUP]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files the README tells a reader to write."""
    place = tmp_path_factory.mktemp("readme")
    for text in blocks("python"):
        if named := re.match(r"# (\w+\.py)\n", text):
            (place / named[1]).write_text(text)
    return place


def run(arguments, folder) -> str:
    done = subprocess.run(
        arguments, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_every_block_is_of_a_kind_that_is_checked_here():
    assert {kind for kind, _ in BLOCKS} == {"bash", "python", "toml", "bibtex"}
    assert TEXT.count("\n```") == 2 * len(BLOCKS)


def test_the_test_command_is_make_test():
    assert "\nmake test\n" in "".join(blocks("bash"))
    assert re.search(r"^test: .*##", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", commands())
def test_a_command_works_as_written(command, folder):
    program, *arguments = shlex.split(command)
    assert program in PROGRAMS, f"{command}: say in PROGRAMS or SETUP what this is"
    if DRAWING & set(arguments):
        try:
            gl.backend()
        except UserError as error:
            pytest.skip(str(error))
    said = run([*PROGRAMS[program], *arguments], folder)
    if "--out" in arguments:
        out = folder / arguments[arguments.index("--out") + 1]
        assert out.is_dir() or out.stat().st_size > 1000
    if "demo" in arguments:
        returns = [float(line.split()[-3]) for line in said.splitlines() if "0.00" in line[-6:]]
        before, broken, after = returns[-3:]
        assert broken < after
        assert after > 0.5 * before
    if "check" in arguments:
        assert re.search(r": (\d+) of \1 promises kept", said)


@pytest.mark.parametrize("program", blocks("python"), ids=lambda text: text.split("\n")[0])
def test_a_program_runs_as_written(program, folder):
    run([sys.executable, "-W", "error", "-c", program], folder)


def test_the_gymnasium_script_is_short():
    script = next(text for text in blocks("python") if "make_vec" in text)
    assert len([line for line in script.splitlines() if line.strip()]) <= 10


def test_the_damaged_motor_of_the_example_gives_nothing(folder):
    script = next(text for text in blocks("python") if "parse(" in text)
    torques, scenarios = run([sys.executable, "-c", script], folder).strip().split("\n")
    limp, *sound = (float(it) for it in torques.strip("[]").split())
    assert limp == 0
    assert all(abs(it) > 0.1 for it in sound)
    assert scenarios.count("'") == 2 * 9


def test_entry_points_name_what_the_examples_define(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    groups = tomllib.loads("".join(blocks("toml")))["project"]["entry-points"]
    from ursa.robot.registry import robot
    from ursa.task.registry import task

    spec = robot(groups["ursa.robots"]["porter"])
    assert spec.name == "porter"
    assert task(groups["ursa.tasks"]["low"], spec).posture_names[0] == "x0"


def test_every_file_it_points_to_is_there():
    targets = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(targets) > 5
    for target in targets:
        assert urlparse(target).scheme == "https" or (ROOT / target).is_file(), target
    for path in re.findall(r"`(ursa/[\w/]+\.py)`", TEXT):
        assert (ROOT / "src" / path).is_file(), path


def test_pictures_are_small():
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", TEXT):
        largest = 1_500_000 if picture.endswith(".gif") else 300_000
        assert (ROOT / picture).stat().st_size < largest, picture
