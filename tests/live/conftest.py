"""Shared by tests of a robot's processes: quick compilation, and two machines."""

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from live.machines import Machines
from live.small import Small
from log.logs import quick as fast
from ursa.live import settings
from ursa.shared import place

# A run starts modules of ours only, unless the environment names others, as it does here.
STUBS = sorted(f"live.{each.stem}" for each in Path(__file__).parent.glob("stub_*.py"))
os.environ[settings.MORE] = ",".join(STUBS)


@pytest.fixture(scope="module")
def quick():
    """Compile without effort; JAX is imported only where this is used."""
    from runs import quickly

    with quickly():
        yield


@pytest.fixture
def root(tmp_path):
    """A folder on a disk that syncs fast."""
    found = fast(tmp_path)
    yield found
    shutil.rmtree(found, ignore_errors=True)


@pytest.fixture
def machines(root):
    """A robot's machine and a learner's."""
    with closing(Machines(root)) as found:
        yield found


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """The memory of the computer, a folder of the test's own: no robot outside of it is found."""
    found = tmp_path / "memory"
    found.mkdir()
    monkeypatch.setattr(place, "MEMORY", found)
    return found


@pytest.fixture
def small(tmp_path):
    stack = Small(tmp_path / "run")
    yield stack
    stack.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Of a run whose processes may be stubs of ours; its shared memory is given back."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    yield tmp_path
    place.forget(tmp_path)
