"""Runs to adapt: a point that was trained, and others that have only just begun."""

from dataclasses import replace

import pytest
import safetensors
import safetensors.numpy

from runs import A1, POINT, quickly
from ursa.run.train import train

COLUMNS = 16  # of a run that stops before it learns: there is little to compile


@pytest.fixture(scope="module", autouse=True)
def few_at_a_time():
    """Pilots act for eight robots at a time, filled up: here one or five are there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ursa.evaluate.pilot.BLOCK", 8)
        yield


@pytest.fixture(scope="session")
def started(tmp_path_factory):
    """The folder of a config's run, stopped after so many columns; each is made once."""
    known = {}

    def folder(config, columns=None):
        if (config, columns) not in known:
            out = tmp_path_factory.mktemp(config.method) / "run"
            calls = iter(range(10**6))
            train(config, out, quiet=True, stop=lambda: next(calls) == columns)
            known[config, columns] = out
        return known[config, columns]

    with quickly():
        yield folder


@pytest.fixture(scope="session")
def point(started):
    return started(POINT)


@pytest.fixture(scope="session")
def unfinished(started):
    return started(POINT, COLUMNS)


@pytest.fixture(scope="session")
def a1(started):
    return said_to_be_finished(started(A1, COLUMNS))


@pytest.fixture(scope="session")
def baseline(started):
    return lambda method: said_to_be_finished(started(replace(POINT, method=method), COLUMNS))


def said_to_be_finished(run):
    for path in run.glob("agent/seed_*/agent.safetensors"):
        with safetensors.safe_open(path, "np") as file:
            said = {**file.metadata(), "steps": "640"}
        arrays = safetensors.numpy.load(path.read_bytes())
        path.write_bytes(safetensors.numpy.save(arrays, metadata=said))
    return run
