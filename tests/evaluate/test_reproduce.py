"""`ursa reproduce`: which runs a question needs, what is missing, and everything from results."""

import inspect
import json
import os
import subprocess
from pathlib import Path

import pytest

from evaluate.made import study, written
from ursa.errors import UserError
from ursa.evaluate import reproduce as module
from ursa.evaluate.draw.gallery import FIGURES
from ursa.evaluate.reproduce import RUNS, Setting, missing, placed, planned, reproduce
from ursa.run.command import parse

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "runs").glob("rq*.sh"))
ROLLOUTS = 16


def fill(folder: Path, seeds: int) -> None:
    """Results as `ursa evaluate --out` would leave them."""
    found = [*study(seeds, rollouts=ROLLOUTS), *study(seeds, task="velocity", rollouts=ROLLOUTS)]
    written(folder, found)
    for place in list(folder.iterdir()):
        place.rename(place.with_name(place.name.removeprefix("a1-")))


@pytest.fixture
def results(tmp_path):
    fill(tmp_path / "results", 5)
    return tmp_path / "results"


def test_each_question_knows_its_runs_and_every_figure_its_question():
    needed = {
        name: [run.name for run in RUNS if name in run.questions] for name in module.QUESTIONS
    }
    forward = ["forward-ursa", "forward-dominic", "forward-daydreamer"]
    assert needed == {"rq1": forward, "rq2": forward, "rq3": ["velocity-ursa"]}
    assert {plan.question for plan in FIGURES.values()} == set(module.QUESTIONS)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_training_commands_are_ones_that_ursa_understands(run):
    words = Setting().train(run)
    assert words[0] == "train"
    flags = parse(words[1:])
    config = flags.config
    assert (config.robot, config.task, config.seeds) == ("a1", run.task, 5)
    assert config.method == run.name.split("-")[1]
    assert config.train.steps == 1_000_000
    assert flags.out == Path("outputs/reproduce") / run.name
    assert config.skill.feature == ("identity" if run.task == "velocity" else "vae")


def test_the_measuring_command_uses_flags_that_it_has():
    from ursa.evaluate.command import evaluate

    words = [it for run in RUNS for it in Setting(quick=True).measure(run)]
    known = inspect.signature(evaluate).parameters
    assert words[0] == "evaluate"
    assert {it.removeprefix("--") for it in words if it.startswith("--")} <= set(known)


def test_only_what_is_missing_is_done(tmp_path):
    setting = Setting(runs=tmp_path / "runs", results=tmp_path / "results", seeds=2)
    ursa, daydreamer = RUNS[0], RUNS[2]
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
    assert said.count("results are there") == 3


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
    drawn = {path.stem: path.parent.name for path in out.rglob("*.png")}
    assert drawn == {name: plan.question for name, plan in FIGURES.items()}
    for question in module.QUESTIONS:
        assert (out / question / "tables.json").exists()
    page = (out / "report.html").read_text()
    assert page.count("<img ") == len(FIGURES)
    assert "ursa train" not in capsys.readouterr().out


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
    assert sorted(it.name for it in (tmp_path / "out").iterdir() if it.is_dir()) == ["rq1", "rq2"]
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
    assert [path.name for path in out.rglob("*.png")] == ["training.png"]
    with pytest.raises(UserError, match="figure damages belongs to rq2, not to rq1"):
        reproduce("rq1", figure=("damages",), **words)
    with pytest.raises(UserError, match="unknown figure"):
        reproduce("rq1", figure=("picture",), **words)


def test_there_is_a_script_for_every_figure():
    told = {}
    for script in SCRIPTS:
        environment = {**os.environ, "URSA": "echo"}
        command = [str(script), "--from-results"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        _, question, flag, figure, extra = done.stdout.split()
        assert (flag, extra) == ("--figure", "--from-results")
        assert script.name == f"{question}_{figure}.sh"
        told[figure] = question
    assert told == {name: plan.question for name, plan in FIGURES.items()}
