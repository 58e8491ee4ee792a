"""Runs of three methods, trained for a moment and measured once for all tests here."""

from dataclasses import replace

import pytest

from runs import A1, quickly
from ursa.evaluate import pilot, rollout, study
from ursa.evaluate.measure import measure
from ursa.evaluate.study import Study
from ursa.run.agent import Agent
from ursa.run.train import train

SHORT = 60  # steps of a rollout here: what they add up to is tested elsewhere
LEARNT = replace(A1, train=replace(A1.train, steps=160))  # 64 at random, then 24 updates
DAMAGES = {"FL.upper": "FL.upper", "FR+BL": "FR+BL"}
STUDY = Study(skills=8, damages=DAMAGES, again=2)


@pytest.fixture(scope="module")
def short():
    """Short rollouts, and pilots that act for few robots at a time."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (rollout, study):
            patch.setattr(module, "STEPS", SHORT)
        patch.setattr(pilot, "BLOCK", 8)
        yield


@pytest.fixture(scope="session")
def known():
    return {}


@pytest.fixture
def measured(known, short, tmp_path_factory):
    """The folder of a method's run and its results; each is made once."""

    def of(method: str):
        if method not in known:
            out = tmp_path_factory.mktemp("run") / method
            with quickly():
                train(replace(LEARNT, method=method), out, quiet=True)
                known[method] = (out, measure(Agent.load(out), STUDY, run=out))
        return known[method]

    return of
