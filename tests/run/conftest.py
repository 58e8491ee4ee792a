"""Shared by the tests of runs: quick compilation, and what an undisturbed run comes to."""

import json

import pytest

from runs import A1, POINT, Fate, quickly
from ursa.run.train import train


@pytest.fixture(scope="module")
def quick():
    with quickly():
        yield


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The folder that a config leaves when nothing happens to it; each is trained once."""
    known = {}

    def folder(config):
        if config not in known:
            place = tmp_path_factory.mktemp(config.robot)
            with quickly(), pytest.MonkeyPatch.context() as patch:
                fate = Fate(patch, place / "run", place / "never")
                train(config, place / "run", quiet=True)
            (place / "instants.json").write_text(json.dumps(fate.kinds))
            known[config] = place / "run"
        return known[config]

    return folder


@pytest.fixture(scope="session")
def point(undisturbed):
    return undisturbed(POINT)


@pytest.fixture(scope="session")
def a1(undisturbed):
    return undisturbed(A1)
