"""From nothing to a page: tiny runs of three methods are trained, measured and reported."""

import re
from dataclasses import replace

import pytest

from evaluate.conftest import DAMAGES, STUDY
from runs import quickly
from ursa.evaluate import results
from ursa.evaluate.draw.gallery import FIGURES
from ursa.evaluate.measure import measure
from ursa.evaluate.report import report
from ursa.run.agent import Agent
from ursa.run.settings import configure
from ursa.run.train import train

METHODS = ("ursa", "dominic", "daydreamer")
# It only flails: an update would be due long after its end, and so none is compiled.
VELOCITY = configure(
    "tiny",
    {
        "task": "velocity",
        "skill": {"feature": "identity"},
        "train": {"steps": 68, "steps_per_update": 1024},
    },
)


@pytest.mark.timeout(900)
def test_every_figure_comes_out_of_three_methods_and_a_velocity_run(measured, tmp_path):
    found = {method: measured(method)[1] for method in METHODS}
    run, _ = measured("ursa")
    with quickly():
        # One trial fewer than skills: there is something to search for, and an oracle.
        found["ursa"] = measure(Agent.load(run), replace(STUDY, trials=7), run=run)
        train(VELOCITY, tmp_path / "run", quiet=True)
        few = replace(STUDY, grid=3, repeats=1)
        found["velocity"] = measure(Agent.load(tmp_path / "run"), few, run=tmp_path / "run")
    paths = tuple(tmp_path / f"{name}.json" for name in found)
    for path, each in zip(paths, found.values(), strict=True):
        results.save(each, path)
    page = tmp_path / "report.html"
    assert report(paths, out=page) == 0
    text = page.read_text()
    forward, velocity = text.split('id="task-velocity"')
    drawn = [set(re.findall(r'<figure id="\w+-(\w+)">', part)) for part in (forward, velocity)]
    assert drawn[0] == set(FIGURES) - {"tracking"}
    assert drawn[1] == set(FIGURES)
    for name in ("URSA + ITE", "DOMiNiC", "DayDreamer", *DAMAGES):
        assert name in forward
    assert "Velocity tracking" in velocity
