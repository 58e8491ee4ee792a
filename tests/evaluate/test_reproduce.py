"""`ursa reproduce`: which runs a question needs, what is missing, and everything from results."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

from evaluate.made import made, study, there, written
from ursa.errors import UserError
from ursa.evaluate import reproduce as module
from ursa.evaluate import setting
from ursa.evaluate.draw.gallery import FIGURES
from ursa.evaluate.question import QUESTIONS, RUNS
from ursa.evaluate.reproduce import reproduce
from ursa.evaluate.results import Curve, Results, save

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "runs").glob("*_*.sh"))
ROLLOUTS = 16
DRAWN = {(it, name) for name, plan in FIGURES.items() for it in plan.questions}


def alone(name: str, method: str, seed: int) -> Results:
    """One robot for five hours: 20 windows of a quarter of an hour."""
    found = made(method, seed, rollouts=ROLLOUTS)
    train = {**found.config["train"], "robots": 1, "steps": 360_000}
    steps = 18_000.0 * np.arange(1, 21)
    return replace(
        found,
        source=replace(found.source, run=f"{name}-{method}", steps=360_000),
        config={**found.config, "train": train, "seeds": 2},
        curve=Curve(steps=steps, mean=steps / 360_000 + seed, deviation=np.full(20, 0.1)),
    )


def elsewhere(found: Results, physics: str) -> Results:
    """The same agent in other physics."""
    moved = there(found, physics)
    return replace(moved, source=replace(moved.source, run=f"{found.source.run}-{physics}"))


def fill(folder: Path) -> None:
    """Results as `ursa evaluate --out` would leave them."""
    forward, turning = study(5, rollouts=ROLLOUTS), study(2, task="velocity", rollouts=ROLLOUTS)
    found = [
        alone(name, method, seed)
        for name in ("alone", "small")
        for method in ("ursa", "daydreamer")
        for seed in (0, 1)
    ]
    for physics in ("2ms", "solid", "pybullet"):
        found += [elsewhere(it, physics) for it in (*forward, turning[0])]
    front = made("ursa", 0, rollouts=ROLLOUTS)
    found.append(replace(front, source=replace(front.source, run="forward-ursa-front")))
    written(folder, [*forward, *turning, *found])
    for place in list(folder.iterdir()):
        place.rename(place.with_name(place.name.removeprefix("a1-")))


@pytest.fixture
def results(tmp_path):
    fill(tmp_path / "results")
    return tmp_path / "results"


def test_each_question_knows_its_runs_and_every_figure_its_question():
    needed = {name: [run.name for run in RUNS if name in run.questions] for name in QUESTIONS}
    forward = ["forward-ursa", "forward-dominic", "forward-daydreamer"]
    ways = ("2ms", "solid", "pybullet")
    trained = [*forward, "velocity-ursa"]
    assert needed == {
        "rq1": forward,
        "rq2": forward,
        "alone": ["alone-ursa", "alone-daydreamer"],
        "small": ["small-ursa", "small-daydreamer"],
        "rq3": ["velocity-ursa"],
        "physics": trained + [f"{run}-{way}" for way in ways for run in trained],
        "front": ["forward-ursa", "forward-ursa-front"],
    }
    assert {it for it, _ in DRAWN} == {it for it, each in QUESTIONS.items() if each.chapter}
    assert {name for it, name in DRAWN if it == "alone"} == {"damages", "training"}


def test_every_question_can_be_asked_for_by_its_name():
    assert get_args(get_type_hints(reproduce)["question"]) == (*QUESTIONS, "all")


def test_steps_are_carried_out_in_order_and_a_failure_ends_it(tmp_path, monkeypatch, capsys):
    called = []

    def run(command):
        called.append(command[3:])
        return subprocess.CompletedProcess(command, 3 if command[3] == "evaluate" else 0)

    monkeypatch.setattr(setting, "device", lambda: "gpu")
    monkeypatch.setattr(module.subprocess, "run", run)
    with pytest.raises(UserError, match=r"`ursa evaluate .*` ended with code 3; the same"):
        reproduce("rq3", runs=tmp_path, results=tmp_path / "results", out=tmp_path / "out")
    assert [words[0] for words in called] == ["train", "evaluate"]
    assert not (tmp_path / "out").exists()


def test_everything_comes_from_results_alone(results, tmp_path, capsys):
    out = tmp_path / "out"
    assert reproduce("all", from_results=True, results=results, out=out) == 0
    assert {(path.parent.name, path.stem) for path in out.rglob("*.png")} == DRAWN
    for question, each in QUESTIONS.items():
        assert (out / question / "tables.json").exists() == bool(each.chapter)
    page = (out / "report.html").read_text()
    assert page.count("<img ") == len(DRAWN) == len(FIGURES) + 4
    said = capsys.readouterr().out
    assert "results are missing" not in said
    assert f"alone: {QUESTIONS['alone'].asks}" in said
    # Each chapter under its own heading, with its own tables; of one robot, only its own.
    begin, end = page.index('<h2 id="task-alone">'), page.index('<h2 id="task-small">')
    forward, one = page[:begin], page[begin:end]
    assert '<h2 id="task-alone">One robot alone' in one
    assert "All 9 damages" in forward
    assert "All 4 damages" in one
    assert "All 4 damages" not in forward
    assert "DOMiNiC" not in one
    assert '<a href="#claims">' in page
    for figure in ("forward-damages", "alone-damages", "alone-training"):
        assert page.count(f'<figure id="{figure}">') == 1
    assert "<td>alone-ursa</td><td>a1</td><td>forward</td><td>0, 1</td>" in page
    assert "<td>360,000</td><td>1</td>" in page
    assert "<td>1,000,000</td><td>32</td>" in page


def test_one_robot_is_told_in_hours_and_in_the_scenarios_of_the_real_one(results, tmp_path):
    out = tmp_path / "out"
    assert reproduce("alone", from_results=True, results=results, out=out) == 0
    hurt = json.loads((out / "alone" / "damages.json").read_text())
    assert hurt["scenarios"] == ["undamaged", "FR", "FL", "BR", "BL"]
    learnt = json.loads((out / "alone" / "training.json").read_text())
    (ursa, daydreamer) = learnt["series"]
    assert len(ursa["steps"]) == len(daydreamer["steps"]) == 20
    assert ursa["steps"][-1] == 360_000
    assert ursa["reward"][-1] == {"n": 2, "middle": 1.5, "low": 1.25, "high": 1.75}
    for numbers in (hurt, learnt):
        assert numbers["n"] == {"URSA": 2, "DayDreamer": 2}
        assert numbers["trained"]["URSA"] == {"steps": [360_000], "robots": 1}
    tables = json.loads((out / "alone" / "tables.json").read_text())
    assert set(tables["damages"]["rows"]) == {"FR", "FL", "BR", "BL"}


def test_who_has_no_results_of_one_robot_gets_the_rest_and_the_commands(results, tmp_path, capsys):
    for method in ("ursa", "daydreamer"):
        for seed in (0, 1):
            (results / f"alone-{method}" / f"seed_{seed}.json").unlink()
    words = {"from_results": True, "results": results, "out": tmp_path / "out"}
    assert reproduce("all", **words) == 0
    said = capsys.readouterr().out
    assert f"{results / 'alone-ursa'}: seed_0, seed_1" in said
    assert "--train.robots 1 --settle 0.05 --train.steps 360000 --train.steps-per-update 8" in said
    assert "\nnot drawn, because nothing of it is there: alone\n" in said
    folders = sorted(it.name for it in (tmp_path / "out").iterdir() if it.is_dir())
    assert folders == ["rq1", "rq2", "rq3", "small"]
    assert 'id="task-alone"' not in (tmp_path / "out" / "report.html").read_text()
    with pytest.raises(UserError, match="holds no results of alone; these commands make them"):
        reproduce("alone", **words)


def test_a_method_is_drawn_with_the_seeds_that_are_there_and_the_others_are_named(
    results, tmp_path, capsys
):
    for seed in (0, 1, 2):
        (results / "forward-dominic" / f"seed_{seed}.json").unlink()
    out = tmp_path / "out"
    assert reproduce("rq2", from_results=True, results=results, out=out, figure=("ccdf",)) == 0
    numbers = json.loads((out / "rq2" / "ccdf.json").read_text())
    assert list(numbers["n"].values()) == [5, 2, 5]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "results are missing, and everything is drawn without them; these commands make them:"
    )
    assert lines[1].startswith(f"  {results / 'forward-dominic'}: seed_0, seed_1, seed_2; ")
    assert lines[2] == "    $ ursa reproduce rq1 --results again"
    assert not lines[3].startswith("  ")
    shutil.rmtree(results / "forward-dominic")
    assert reproduce("rq2", from_results=True, results=results, out=out, figure=("ccdf",)) == 0
    numbers = json.loads((out / "rq2" / "ccdf.json").read_text())
    assert list(numbers["n"].values()) == [5, 5]


def test_a_question_is_answered_whatever_became_of_the_results_of_others(results, tmp_path):
    (results / "forward-ursa" / "seed_0.json").write_text("torn")
    words = {"from_results": True, "results": results, "out": tmp_path / "out"}
    assert reproduce("rq3", **words) == 0
    with pytest.raises(UserError, match="is not a results file of `ursa evaluate`: no JSON"):
        reproduce("all", **words)


def test_nothing_is_drawn_where_only_the_plan_is_asked_for(results, tmp_path, capsys):
    words = {"from_results": True, "results": results, "out": tmp_path / "out"}
    assert reproduce("all", plan=True, **words) == 0
    assert "results are there" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match="seeds = 0, want a whole number >= 1"):
        reproduce("all", seeds=0, **words)


def test_results_whose_agents_are_gone_are_not_mixed_with_new_ones(results, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_carry_out", pytest.fail)
    (results / "velocity-ursa" / "seed_1.json").unlink()
    with pytest.raises(UserError, match="new ones would stand beside them"):
        reproduce("rq3", results=results, out=tmp_path / "out")


def test_a_folder_that_is_not_there_is_said_not_to_be(tmp_path, monkeypatch, capsys):
    with pytest.raises(UserError, match=f"there is no folder {tmp_path / 'nothing'}: --results"):
        reproduce("all", from_results=True, results=tmp_path / "nothing")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="there is no folder outputs/miniature/paper-2/results"):
        reproduce("rq1", from_results=True, seeds=2)
    assert (
        "they are in outputs/miniature/paper-2/results (--results names" in capsys.readouterr().out
    )
    assert not list(tmp_path.iterdir())


def test_a_question_without_figures_is_answered_by_its_claims(results, tmp_path, capsys):
    out = tmp_path / "out"
    assert reproduce("front", from_results=True, results=results, out=out) == 0
    said = capsys.readouterr().out
    assert "\n7. coverage of hind legs when phi reads front legs only, over that of all: " in said
    assert said.count(" (1 against 5) (below 1: ") == 1
    assert sorted(it.name for it in out.iterdir()) == ["claims.json", "claims.md"]
    assert len(json.loads((out / "claims.json").read_text())) == 1


def test_seeds_without_a_learning_curve_do_not_keep_the_others_from_being_drawn(results, tmp_path):
    found = [made("dominic", seed, rollouts=ROLLOUTS) for seed in range(5)]
    found = [replace(it, curve=None if it.source.seed > 2 else it.curve) for it in found]
    for each in found:
        save(each, results / "forward-dominic" / f"seed_{each.source.seed}.json")
    words = {"from_results": True, "results": results, "out": tmp_path / "out"}
    assert reproduce("rq2", figure=("training",), **words) == 0
    numbers = json.loads((tmp_path / "out" / "rq2" / "training.json").read_text())
    assert numbers["n"] == {"URSA": 5, "DOMiNiC": 3, "DayDreamer": 5}


def test_the_readme_stays_as_it_was_if_drawing_fails(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "# Title\n<!-- claims -->\nold\n<!-- /claims -->\n"
    Path("README.md").write_text(text)

    def fails(*_):
        raise UserError("no paint")

    monkeypatch.setattr(module, "drawn", fails)
    with pytest.raises(UserError, match="no paint"):
        reproduce("all", from_results=True, out=tmp_path / "out")
    assert Path("README.md").read_text() == text
    assert not (tmp_path / "out" / "claims.md").exists()


def test_of_everything_what_is_there_is_drawn_and_the_claims_say_what_is_not(
    results, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)  # where "results" is what nobody has to name
    for seed in (0, 1):
        (results / "velocity-ursa" / f"seed_{seed}.json").unlink()
    Path("README.md").write_text("# Title\n<!-- claims -->\nold\n<!-- /claims -->\nrest\n")
    assert reproduce("all", from_results=True, out=tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert f"{Path('results') / 'velocity-ursa'}: seed_0, seed_1" in said
    assert "\nnot drawn, because nothing of it is there: rq3\n" in said
    assert sorted(it.name for it in (tmp_path / "out").iterdir() if it.is_dir()) == [
        "alone",
        "rq1",
        "rq2",
        "small",
    ]
    readme = Path("README.md").read_text()
    assert "\nold\n" not in readme
    assert readme.endswith("<!-- /claims -->\nrest\n")
    line = next(it for it in readme.splitlines() if "skills with a safe rollout" in it)
    assert "(n = 5)" in line
    line = next(it for it in readme.splitlines() if "span in yaw rate" in it)
    assert "| not run |" in line
    assert 'id="claims"' in (tmp_path / "out" / "report.html").read_text()


def test_one_figure_can_be_asked_for_and_only_of_its_question(results, tmp_path):
    out = tmp_path / "out"
    words = {"from_results": True, "results": results, "out": out}
    assert reproduce("all", figure=("training",), **words) == 0
    drawn = sorted(str(path.relative_to(out)) for path in out.rglob("*.png"))
    assert drawn == ["alone/training.png", "rq2/training.png", "small/training.png"]
    with pytest.raises(
        UserError, match="figure damages belongs to rq2 and alone and small, not to rq1"
    ):
        reproduce("rq1", figure=("damages",), **words)
    with pytest.raises(UserError, match="unknown figure"):
        reproduce("rq1", figure=("picture",), **words)


def test_there_is_a_script_for_every_figure():
    told = set()
    for script in SCRIPTS:
        environment = {**os.environ, "URSA": "echo"}
        command = [str(script), "--from-results"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        _, question, flag, figure, extra = done.stdout.split()
        assert (flag, extra) == ("--figure", "--from-results")
        assert script.name == f"{question}_{figure}.sh"
        told.add((question, figure))
    assert told == DRAWN
