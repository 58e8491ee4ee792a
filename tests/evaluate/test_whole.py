"""From nothing to a page: tiny runs of three methods are trained, measured and reported."""

import re

import pytest

from runs import quickly
from ursa.evaluate import results
from ursa.evaluate.draw.gallery import FIGURES
from ursa.evaluate.measure import measure
from ursa.evaluate.report import report
from ursa.evaluate.study import Study
from ursa.run.agent import Agent
from ursa.run.settings import configure
from ursa.run.train import train

RUNS = {
    "ursa": {"method": "ursa"},
    "dominic": {"method": "dominic"},
    "daydreamer": {"method": "daydreamer"},
    "velocity": {"task": "velocity", "skill": {"feature": "identity"}},
}
HURT = {"FR.upper": "FR.upper", "BL": "BL"}
STUDY = Study(skills=9, grid=3, repeats=1, again=2, damages=HURT)


@pytest.mark.timeout(900)
def test_every_figure_comes_out_of_three_methods_and_a_velocity_run(tmp_path):
    for name, changes in RUNS.items():
        run = tmp_path / name
        with quickly():
            train(configure("tiny", {"steps": 256, **changes}), run, quiet=True)
            found = measure(Agent.load(run), STUDY, run=run)
        (run / "results").mkdir()
        results.save(found, run / "results" / "seed_0.json")
    page = tmp_path / "report.html"
    assert report(tuple(tmp_path / name for name in RUNS), out=page) == 0
    text = page.read_text()
    forward, velocity = text.split('id="task-velocity"')
    drawn = [set(re.findall(r'<figure id="(\w+)">', part)) for part in (forward, velocity)]
    assert drawn[0] == set(FIGURES) - {"tracking"}
    assert drawn[1] == set(FIGURES)
    for name in ("URSA + ITE", "DOMiNiC", "DayDreamer", *HURT):
        assert name in forward
    assert "Velocity tracking" in velocity
