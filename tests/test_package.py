"""The package as others meet it: light to import, pinned with hashes, honest about skips."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock.txt").read_text()
HEAVY = {"jax", "jaxlib", "equinox", "mujoco", "pybullet", "gymnasium", "numpy", "tyro"}


def run(*arguments, **environment):
    """Run Python in a fresh process and return what it did."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    "program", ["import ursa", "import ursa.cli; ursa.cli.main(['--help'])", "import ursa.errors"]
)
def test_importing_and_asking_for_help_load_nothing_heavy(program):
    done = run("-c", f"{program}\nimport sys; print(sorted({HEAVY!r} & set(sys.modules)))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_installed_version_is_the_one_in_the_source():
    done = run(
        "-c",
        "import importlib.metadata as m, ursa; print(m.version('ursa-robot') == ursa.__version__)",
    )
    assert done.stdout.strip() == "True", "run `make setup` again: the installed version is old"


def test_the_lock_pins_every_package_with_hashes_and_names_no_host():
    entries = re.split(r"\n(?=\S)", LOCK.split("make lock\n", 1)[1])
    assert len(entries) > 40
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry
    assert "http" not in LOCK
    assert "file:" not in LOCK


def test_the_lock_brings_neither_torch_nor_cuda():
    assert not re.search(r"^(torch|nvidia|jax-cuda)", LOCK, re.MULTILINE)


def test_the_lock_needs_no_compiler_on_a_newer_python():
    pybullet = next(line for line in LOCK.splitlines() if line.startswith("pybullet=="))
    assert "python_full_version < '3.12'" in pybullet


def test_the_lock_holds_every_direct_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["dev"], *extras["bullet"], *extras["video"]]
    for requirement in wanted:
        name = re.match(r"[A-Za-z0-9-]+", requirement)[0].lower()
        assert f"\n{name}==" in LOCK, f"{name} is not locked: run `make lock`"


PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "--rootdir")


def suite(folder):
    """A suite with our conftest.py."""
    for name in ("conftest.py", "sizes.py"):
        (folder / name).write_text((ROOT / "tests" / name).read_text())


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_a_skip_fails_the_run_in_ci_only(tmp_path, ci, code):
    suite(tmp_path)
    (tmp_path / "test_some.py").write_text(
        "import pytest\ndef test_good(): pass\ndef test_skipped(): pytest.skip('no robot here')\n"
    )
    done = run(*PYTEST, str(tmp_path), str(tmp_path), CI=ci)
    assert done.returncode == code, done.stdout
    assert ("no robot here" in done.stdout) == bool(ci)


@pytest.mark.parametrize(("soak", "words"), [("", "1 passed, 1 deselected"), ("1", "2 passed")])
def test_what_is_for_the_soak_waits_for_it_even_in_ci(tmp_path, soak, words):
    suite(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = soak\n")
    (tmp_path / "test_some.py").write_text(
        "import pytest\ndef test_good(): pass\n@pytest.mark.soak\ndef test_long(): pass\n"
    )
    done = run(*PYTEST, str(tmp_path), str(tmp_path), CI="true", URSA_SOAK=soak)
    assert done.returncode == 0, done.stdout
    assert words in done.stdout
