"""`ursa reproduce`: which runs a question needs, what is missing, and everything from results."""

import inspect
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

from evaluate.made import made, study, written
from ursa.errors import UserError
from ursa.evaluate import reproduce as module
from ursa.evaluate.draw.gallery import FIGURES
from ursa.evaluate.question import QUESTIONS, RUNS
from ursa.evaluate.reproduce import Setting, missing, placed, planned, reproduce
from ursa.evaluate.results import Curve, Results, save
from ursa.run.command import parse

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "runs").glob("*_*.sh"))
ROLLOUTS = 16
BY_NAME = {run.name: run for run in RUNS}
DRAWN = {(it, name) for name, plan in FIGURES.items() for it in plan.questions}


def alone(method: str, seed: int) -> Results:
    """One robot for five hours: 20 windows of a quarter of an hour."""
    found = made(method, seed, rollouts=ROLLOUTS)
    train = {**found.config["train"], "robots": 1, "steps": 360_000}
    steps = 18_000.0 * np.arange(1, 21)
    return replace(
        found,
        source=replace(found.source, run=f"alone-{method}", steps=360_000),
        config={**found.config, "train": train, "seeds": 2},
        curve=Curve(steps=steps, mean=steps / 360_000 + seed, deviation=np.full(20, 0.1)),
    )


def fill(folder: Path, seeds: int) -> None:
    """Results as `ursa evaluate --out` would leave them."""
    found = [*study(seeds, rollouts=ROLLOUTS), *study(seeds, task="velocity", rollouts=ROLLOUTS)]
    found += [alone(method, seed) for method in ("ursa", "daydreamer") for seed in (0, 1)]
    written(folder, found)
    for place in list(folder.iterdir()):
        place.rename(place.with_name(place.name.removeprefix("a1-")))


@pytest.fixture
def results(tmp_path):
    fill(tmp_path / "results", 5)
    return tmp_path / "results"


def test_each_question_knows_its_runs_and_every_figure_its_question():
    needed = {name: [run.name for run in RUNS if name in run.questions] for name in QUESTIONS}
    forward = ["forward-ursa", "forward-dominic", "forward-daydreamer"]
    assert needed == {
        "rq1": forward,
        "rq2": forward,
        "alone": ["alone-ursa", "alone-daydreamer"],
        "rq3": ["velocity-ursa"],
    }
    assert {it for it, _ in DRAWN} == set(QUESTIONS)
    assert {name for it, name in DRAWN if it == "alone"} == {"damages", "training"}


def test_every_question_can_be_asked_for_by_its_name():
    assert get_args(get_type_hints(reproduce)["question"]) == (*QUESTIONS, "all")


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_training_commands_are_ones_that_ursa_understands(run):
    words = Setting().train(run)
    assert words[0] == "train"
    flags = parse(words[1:])
    config = flags.config
    one = run.name.startswith("alone")
    assert (config.robot, config.task, config.seeds) == ("a1", run.task, 2 if one else 5)
    assert config.method == run.name.split("-")[1]
    assert config.train.steps == (5 * 3600 * 20 if one else 1_000_000)
    assert config.train.robots == (1 if one else 32)
    assert config.train.steps_per_update == (8 if one else 32)
    assert flags.out == Path("outputs/reproduce") / run.name
    assert config.skill.feature == ("identity" if run.task == "velocity" else "vae")


def test_a_miniature_of_one_robot_is_as_short_as_its_preset():
    config = parse(Setting(preset="tiny", seeds=2).train(BY_NAME["alone-ursa"])[1:]).config
    assert (config.train.robots, config.train.steps, config.seeds) == (1, 1024, 2)


def test_one_robot_alone_has_two_seeds_however_many_are_asked_for():
    run = BY_NAME["alone-daydreamer"]
    names = {seeds: [it.stem for it in Setting(seeds=seeds).files(run)] for seeds in (1, 2, 5)}
    assert names == {1: ["seed_0"], 2: ["seed_0", "seed_1"], 5: ["seed_0", "seed_1"]}


def test_the_measuring_command_uses_flags_that_it_has():
    from ursa.evaluate.command import evaluate

    words = [it for run in RUNS for it in Setting(quick=True).measure(run)]
    known = inspect.signature(evaluate).parameters
    assert words[0] == "evaluate"
    assert {it.removeprefix("--") for it in words if it.startswith("--")} <= set(known)


def test_only_what_is_missing_is_done(tmp_path):
    setting = Setting(runs=tmp_path / "runs", results=tmp_path / "results", seeds=2)
    ursa, daydreamer = BY_NAME["forward-ursa"], BY_NAME["forward-daydreamer"]
    assert [words[0] for words in missing(setting, [ursa])] == ["train", "evaluate"]
    place = setting.runs / ursa.name
    place.mkdir(parents=True)
    (place / "config.json").write_text(json.dumps({"train": {"steps": 100}}))
    (place / "metrics.jsonl").write_text(json.dumps({"step": 60}) + "\n")
    assert missing(setting, [ursa])[0] == ["train", "--resume", str(place)]
    with open(place / "metrics.jsonl", "a") as file:
        file.write(json.dumps({"step": 100}) + "\n")
    assert [words[0] for words in missing(setting, [ursa])] == ["evaluate"]
    for file in setting.files(ursa):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    assert [words[-1] for words in missing(setting, [ursa, daydreamer])] == [
        str(setting.runs / daydreamer.name),
        str(setting.results / daydreamer.name),
    ]


def test_the_plan_is_shown_with_commands_and_times_and_nothing_is_asked(tmp_path, capsys):
    assert reproduce("rq3", plan=True, runs=tmp_path, results=tmp_path / "results") == 0
    said = capsys.readouterr().out
    assert "velocity-ursa" in said
    assert "$ ursa train --robot a1 --task velocity" in said
    assert "about 25 minutes of training (one H200) and 40 of measuring" in said
    assert not list(tmp_path.iterdir())


def test_times_are_those_of_what_is_left_to_do(tmp_path):
    setting = Setting(runs=tmp_path / "runs", results=tmp_path / "results")
    fill(setting.results, 5)
    assert "about 0 minutes" in planned(setting, RUNS, missing(setting, RUNS))
    (setting.results / "velocity-ursa" / "seed_4.json").unlink()
    said = planned(setting, RUNS, missing(setting, RUNS))
    assert "about 25 minutes of training" in said
    assert said.count("5 seeds, results are there") == 3
    assert said.count("2 seeds, results are there") == 2


def test_a_miniature_keeps_away_from_the_results_of_the_paper():
    assert placed(Setting(), None, None).results == Path("results")
    for small in (Setting(preset="tiny"), Setting(seeds=2), Setting(quick=True)):
        assert placed(small, None, None).results == Path("outputs/miniature/results")
        assert "an impression, not a result" in planned(small, RUNS, [])


def test_steps_are_carried_out_in_order_and_a_failure_ends_it(tmp_path, monkeypatch, capsys):
    called = []

    def run(command):
        called.append(command[3:])
        return subprocess.CompletedProcess(command, 3 if command[3] == "evaluate" else 0)

    monkeypatch.setattr(module.subprocess, "run", run)
    with pytest.raises(UserError, match=r"`ursa evaluate .*` ended with code 3; the same"):
        reproduce("rq3", runs=tmp_path, results=tmp_path / "results", out=tmp_path / "out")
    assert [words[0] for words in called] == ["train", "evaluate"]
    assert not (tmp_path / "out").exists()


def test_everything_comes_from_results_alone(results, tmp_path, capsys):
    out = tmp_path / "out"
    assert reproduce("all", from_results=True, results=results, out=out) == 0
    assert {(path.parent.name, path.stem) for path in out.rglob("*.png")} == DRAWN
    for question in QUESTIONS:
        assert (out / question / "tables.json").exists()
    page = (out / "report.html").read_text()
    assert page.count("<img ") == len(DRAWN) == len(FIGURES) + 2
    said = capsys.readouterr().out
    assert "ursa train" not in said
    assert f"alone: {QUESTIONS['alone'].asks}" in said
    # Each chapter under its own heading, with its own tables; of one robot, only its own.
    begin, end = page.index('<h2 id="task-alone">'), page.index('<h2 id="task-velocity">')
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
    for seed in (0, 1):
        (results / "alone-ursa" / f"seed_{seed}.json").unlink()
    words = {"from_results": True, "results": results, "out": tmp_path / "out"}
    assert reproduce("all", **words) == 1
    said = capsys.readouterr().out
    assert f"{results / 'alone-ursa'}: seed_0, seed_1" in said
    assert "--train.robots 1 --train.steps 360000 --train.steps-per-update 8" in said
    folders = sorted(it.name for it in (tmp_path / "out").iterdir() if it.is_dir())
    assert folders == ["rq1", "rq2", "rq3"]
    assert 'id="task-alone"' not in (tmp_path / "out" / "report.html").read_text()
    with pytest.raises(UserError, match="results are missing"):
        reproduce("alone", **words)


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
    for seed in range(1, 5):
        (results / "velocity-ursa" / f"seed_{seed}.json").unlink()
    Path("README.md").write_text("# Title\n<!-- claims -->\nold\n<!-- /claims -->\nrest\n")
    assert reproduce("all", from_results=True, out=tmp_path / "out") == 1
    said = capsys.readouterr().out
    assert f"{Path('results') / 'velocity-ursa'}: seed_1, seed_2, seed_3, seed_4" in said
    assert "\nnot drawn until then: rq3\n" in said
    assert sorted(it.name for it in (tmp_path / "out").iterdir() if it.is_dir()) == [
        "alone",
        "rq1",
        "rq2",
    ]
    readme = Path("README.md").read_text()
    assert "\nold\n" not in readme
    assert readme.endswith("<!-- /claims -->\nrest\n")
    line = next(it for it in readme.splitlines() if "skills with a safe rollout" in it)
    assert "(n = 5)" in line
    line = next(it for it in readme.splitlines() if "over that at 5 ms" in it)
    assert "| not run |" in line
    assert 'id="claims"' in (tmp_path / "out" / "report.html").read_text()


def test_two_seeds_of_the_velocity_run_are_enough_and_are_all_that_is_drawn(results, tmp_path):
    for seed in (0, 2, 3):
        (results / "velocity-ursa" / f"seed_{seed}.json").unlink()
    words = {"from_results": True, "results": results, "out": tmp_path / "out"}
    assert reproduce("rq3", **words) == 0
    tables = json.loads((tmp_path / "out" / "rq3" / "tables.json").read_text())
    assert "URSA (n = 2)" in tables["overview"]["rows"]["power, W"]


def test_missing_results_are_named_with_the_commands_that_make_them(results, tmp_path):
    (results / "forward-dominic" / "seed_3.json").unlink()
    with pytest.raises(UserError) as stop:
        reproduce("rq2", from_results=True, results=results, out=tmp_path / "out")
    lines = str(stop.value).splitlines()
    assert lines[1].strip() == f"{results / 'forward-dominic'}: seed_3"
    assert "$ ursa train --robot a1 --task forward --method dominic" in lines[2]
    assert "&& ursa evaluate outputs/reproduce/forward-dominic" in lines[2]
    assert len(lines) == 3
    assert not (tmp_path / "out").exists()


def test_one_figure_can_be_asked_for_and_only_of_its_question(results, tmp_path):
    out = tmp_path / "out"
    words = {"from_results": True, "results": results, "out": out}
    assert reproduce("all", figure=("training",), **words) == 0
    drawn = sorted(str(path.relative_to(out)) for path in out.rglob("*.png"))
    assert drawn == ["alone/training.png", "rq2/training.png"]
    with pytest.raises(UserError, match="figure damages belongs to rq2 and alone, not to rq1"):
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
