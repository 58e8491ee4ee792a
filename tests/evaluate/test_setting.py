"""Setting: the commands that make a run, what is there of it, and what is told beforehand."""

import inspect
import json
from pathlib import Path

import jax
import pytest

from ursa.evaluate.command import evaluate
from ursa.evaluate.question import RUNS, needed, source
from ursa.evaluate.reproduce import reproduce
from ursa.evaluate.setting import Setting, missing, placed, planned
from ursa.run.command import parse

BY_NAME = {run.name: run for run in RUNS}
OWN = [run for run in RUNS if not run.of]
SEEDS = {"alone-ursa": 2, "alone-daydreamer": 2, "velocity-ursa": 2, "forward-ursa-front": 1}


def at(folder: Path, **sizes) -> Setting:
    return Setting(runs=folder / "runs", results=folder / "results", **sizes)


def leave(setting: Setting, *names: str, seeds=range(5)) -> None:
    """Files where results of these runs would be."""
    for name in names:
        place = setting.results / name
        place.mkdir(parents=True, exist_ok=True)
        for seed in range(setting.many(BY_NAME[name])):
            if seed in seeds:
                (place / f"seed_{seed}.json").write_text("")


@pytest.mark.parametrize("run", OWN, ids=lambda run: run.name)
def test_the_training_commands_are_ones_that_ursa_understands(run):
    words = Setting().train(run)
    assert words[0] == "train"
    flags = parse(words[1:])
    config = flags.config
    one = run.name.startswith("alone")
    assert (config.robot, config.task) == ("a1", run.task)
    assert config.seeds == SEEDS.get(run.name, 5)
    assert config.method == run.name.split("-")[1]
    assert config.train.steps == (5 * 3600 * 20 if one else 1_000_000)
    assert config.train.robots == (1 if one else 32)
    assert config.train.steps_per_update == (8 if one else 32)
    assert flags.out == Path("outputs/reproduce") / run.name
    assert config.skill.feature == ("identity" if run.task == "velocity" else "vae")
    front = run.name == "forward-ursa-front"
    assert [it[:2] for it in config.forward.joints] == ["FR", "FR", "FR", "FL", "FL", "FL"] * front


@pytest.mark.parametrize(
    "name", ["forward-ursa", "forward-dominic-2ms", "forward-ursa-pybullet", "velocity-ursa-2ms"]
)
def test_agents_are_measured_where_they_were_trained_by_the_options_of_their_physics(name):
    run = BY_NAME[name]
    words = Setting().measure(run)
    place = f"outputs/reproduce/{source(run).name}"
    told = {
        "forward-ursa": "",
        "forward-dominic-2ms": "--yardstick a1-forward --tick 0.002 --no-damages",
        "forward-ursa-pybullet": "--body pybullet --no-damages",
        "velocity-ursa-2ms": "--tick 0.002 --no-damages --seed 0",
    }
    assert words == ["evaluate", place, "--out", f"results/{name}", *told[name].split()]


def test_a_miniature_of_one_robot_is_as_short_as_its_preset():
    config = parse(Setting(preset="tiny", seeds=2).train(BY_NAME["alone-ursa"])[1:]).config
    assert (config.train.robots, config.train.steps, config.seeds) == (1, 1024, 2)


def test_a_run_lacks_the_seeds_it_should_have_and_no_others(tmp_path):
    run = BY_NAME["alone-daydreamer"]
    names = {n: [it.stem for it in at(tmp_path, seeds=n).lacking(run)] for n in (1, 2, 5)}
    assert names == {1: ["seed_0"], 2: ["seed_0", "seed_1"], 5: ["seed_0", "seed_1"]}
    setting = at(tmp_path)
    leave(setting, "forward-dominic", seeds=(3, 4))
    dominic = BY_NAME["forward-dominic"]
    assert [it.stem for it in setting.there(dominic)] == ["seed_3", "seed_4"]
    assert [it.stem for it in setting.lacking(dominic)] == ["seed_0", "seed_1", "seed_2"]


def test_the_measuring_command_uses_flags_that_it_has():
    words = [it for run in RUNS for it in Setting(quick=True).measure(run)]
    known = inspect.signature(evaluate).parameters
    assert words[0] == "evaluate"
    flags = {it.removeprefix("--").replace("-", "_") for it in words if it.startswith("--")}
    assert flags <= set(known)


def test_only_what_is_missing_is_done(tmp_path):
    setting = at(tmp_path, seeds=2)
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
    leave(setting, ursa.name)
    assert [words[-1] for words in missing(setting, [ursa, daydreamer])] == [
        str(setting.runs / daydreamer.name),
        str(setting.results / daydreamer.name),
    ]


def test_agents_are_trained_once_however_often_they_are_measured(tmp_path):
    steps = missing(at(tmp_path), needed(("physics",)))
    assert [words[0] for words in steps] == [*["train", "evaluate"] * 4, *["evaluate"] * 8]
    trained = {Path(words[-1]).name for words in steps if words[0] == "train"}
    measured = {Path(words[1]).name for words in steps if words[0] == "evaluate"}
    assert trained == measured


def test_the_plan_is_shown_with_commands_and_times_and_nothing_is_asked(tmp_path, capsys):
    assert reproduce("rq3", plan=True, runs=tmp_path, results=tmp_path / "results") == 0
    said = capsys.readouterr().out
    assert "  velocity-ursa                2 seeds, to do\n" in said
    assert "$ ursa train --robot a1 --task velocity" in said
    assert "about 17 minutes of training (one H200) and 16 of measuring" in said
    assert not list(tmp_path.iterdir())


def test_times_are_those_of_what_is_left_to_do(tmp_path):
    setting = at(tmp_path)
    leave(setting, *BY_NAME)
    assert "about 0 minutes of training (one H200) and 0 of measuring" in planned(setting, RUNS)
    (setting.results / "velocity-ursa" / "seed_1.json").unlink()
    (setting.results / "velocity-ursa-2ms" / "seed_0.json").unlink()
    said = planned(setting, RUNS)
    assert "about 17 minutes of training (one H200) and 22 of measuring" in said
    assert "  velocity-ursa                1 of 2 seeds are there\n" in said
    assert said.count("5 seeds, results are there") == 9
    assert said.count("2 seeds, results are there") == 2


@pytest.mark.parametrize(("device", "warned"), [("cpu", 1), ("gpu", 0)])
def test_who_would_train_on_a_cpu_is_warned(tmp_path, monkeypatch, device, warned):
    monkeypatch.setattr(jax, "default_backend", lambda: device)
    setting = at(tmp_path)
    said = planned(setting, RUNS)
    assert said.count("! JAX finds no GPU here, only this CPU: training takes many times") == warned
    leave(setting, *BY_NAME)
    assert "GPU" not in planned(setting, RUNS)


def test_a_miniature_keeps_away_from_the_results_of_the_paper(tmp_path):
    assert placed(Setting(), None, None).results == Path("results")
    for small in (Setting(preset="tiny"), Setting(seeds=2), Setting(quick=True)):
        assert placed(small, None, None).results == Path("outputs/miniature/results")
        assert "an impression, not a result" in planned(small, [])
