"""Setting: the commands that make a run, what is there of it, and what is told beforehand."""

import inspect
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ursa import durable
from ursa.errors import UserError
from ursa.evaluate import setting as module
from ursa.evaluate.command import evaluate
from ursa.evaluate.question import RUNS, needed, source
from ursa.evaluate.reproduce import reproduce
from ursa.evaluate.setting import Setting, device, makers, missing, mixed, placed, planned
from ursa.presets import preset
from ursa.run import publish
from ursa.run.command import parse

BY_NAME = {run.name: run for run in RUNS}
OWN = [run for run in RUNS if not run.of]
SEEDS = {"velocity-ursa": 2, "forward-ursa-front": 1}
SEEDS |= {f"{size}-{method}": 2 for size in ("alone", "small") for method in ("ursa", "daydreamer")}


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """Whom nobody asks for the device is not told by a process that loads JAX."""
    monkeypatch.setattr(module, "device", lambda: "gpu")


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
    one = run.name.startswith(("alone", "small"))
    assert (config.robot, config.task) == ("a1", run.task)
    assert config.seeds == SEEDS.get(run.name, 5)
    assert config.method == run.name.split("-")[1]
    assert config.train.steps == (5 * 3600 * 20 if one else 1_000_000)
    assert config.train.robots == (1 if one else 32)
    assert config.train.steps_per_update == (8 if one else 32)
    assert flags.out == Path("outputs/reproduce") / run.name
    assert config.world == preset("laptop" if run.name.startswith("small") else "paper").world
    assert config.train.replay_size >= config.train.steps
    small = parse(Setting(preset="tiny").train(run)[1:]).config
    assert config.settle == small.settle == (0.05 if one else 0.0)  # or it may learn to paw
    assert config.skill.feature == ("identity" if run.task == "velocity" else "vae")
    front = run.name == "forward-ursa-front"
    assert [it[:2] for it in config.forward.joints] == ["FR", "FR", "FR", "FL", "FL", "FL"] * front


@pytest.mark.parametrize(
    "name",
    [
        "forward-ursa",
        "forward-dominic-2ms",
        "forward-ursa-solid",
        "forward-ursa-pybullet",
        "velocity-ursa-2ms",
    ],
)
def test_agents_are_measured_where_they_were_trained_by_the_options_of_their_physics(name):
    run = BY_NAME[name]
    (words,) = Setting(results=Path("none")).measure(run)
    place = f"outputs/reproduce/{source(run).name}"
    told = {
        "forward-ursa": "",
        "forward-dominic-2ms": "--yardstick a1-forward --tick 0.002 --no-damages",
        "forward-ursa-solid": "--body solid --no-damages",
        "forward-ursa-pybullet": "--body pybullet --no-damages",
        "velocity-ursa-2ms": "--tick 0.002 --no-damages --seed 0",
    }
    assert words == ["evaluate", place, "--out", f"none/{name}", *told[name].split()]


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
    words = [it for run in RUNS for one in Setting(quick=True).measure(run) for it in one]
    known = inspect.signature(evaluate).parameters
    assert words[0] == "evaluate"
    flags = {it.removeprefix("--").replace("-", "_") for it in words if it.startswith("--")}
    assert flags <= set(known)


def lived(setting: Setting, name: str, steps: int, seeds=range(2), **changes) -> Path:
    """The folder of a run as training leaves it: settings, and agents that lived for `steps`."""
    place = setting.place(BY_NAME[name])
    config = replace(parse(setting.fresh(BY_NAME[name])[1:]).config, **changes)
    (place / "agent").mkdir(parents=True, exist_ok=True)
    (place / "config.json").write_bytes(durable.to_json(asdict(config)))
    for seed in seeds:
        publish.write(place / "agent" / f"seed_{seed}" / "agent.safetensors", {}, steps)
    return place


def test_only_what_is_missing_is_done(tmp_path):
    setting = at(tmp_path, preset="tiny", seeds=2)
    ursa, daydreamer = BY_NAME["forward-ursa"], BY_NAME["forward-daydreamer"]
    assert [words[0] for words in missing(setting, [ursa])] == ["train", "evaluate"]
    place = lived(setting, ursa.name, 1000)  # killed before the agents of the last step were saved
    assert missing(setting, [ursa])[0] == ["train", "--resume", str(place)]
    lived(setting, ursa.name, 1024)
    assert [words[0] for words in missing(setting, [ursa])] == ["evaluate"]
    leave(setting, ursa.name)
    assert [words[-1] for words in missing(setting, [ursa, daydreamer])] == [
        str(setting.runs / daydreamer.name),
        str(setting.results / daydreamer.name),
    ]


def test_seeds_that_were_measured_are_not_measured_again(tmp_path):
    setting = at(tmp_path)
    lived(setting, "forward-dominic", 1_000_000, seeds=range(5))
    leave(setting, "forward-dominic", seeds=(3, 4))
    steps = missing(setting, [BY_NAME["forward-dominic"]])
    assert [words[0] for words in steps] == ["evaluate"] * 3
    assert [words[-2:] for words in steps] == [["--seed", "0"], ["--seed", "1"], ["--seed", "2"]]


def test_numbers_of_new_agents_are_not_put_beside_those_of_old_ones(tmp_path):
    setting, runs = at(tmp_path), [BY_NAME["forward-dominic"], BY_NAME["forward-dominic-2ms"]]
    assert not mixed(setting, runs)
    leave(setting, "forward-dominic", seeds=(3, 4))
    why = f"{setting.results / 'forward-dominic'} holds seed_3, seed_4, whose agents are not in "
    assert mixed(setting, runs).startswith(why)
    assert f"! {why}" in planned(setting, runs)
    leave(setting, "forward-dominic")
    assert not mixed(setting, runs[:1])
    leave(setting, "forward-dominic-2ms", seeds=(3,))
    told = f"{setting.results / 'forward-dominic-2ms'} holds seed_3, whose agents are not in "
    assert mixed(setting, runs).startswith(told)
    (setting.results / "forward-dominic-2ms" / "seed_3.json").unlink()
    assert mixed(setting, runs)  # pairs of the same agent in two physics would be of two agents
    lived(setting, "forward-dominic", 1_000_000, seeds=range(5))
    assert not mixed(setting, runs)


def test_a_run_of_another_size_in_its_place_is_refused(tmp_path):
    setting, run = at(tmp_path, preset="tiny"), BY_NAME["velocity-ursa"]
    tiny = preset("tiny")
    lived(setting, run.name, 160_000, train=replace(tiny.train, steps=160_000))
    with pytest.raises(UserError, match=r"holds another run: train.steps = 160000, not 1024; --ru"):
        setting.trained(run)
    lived(setting, run.name, 1024, behavior=replace(tiny.behavior, margin=0.25))  # of the same size
    with pytest.raises(UserError, match=r"holds another run: behavior.margin = 0.25, not 1.0"):
        setting.trained(run)
    lived(setting, run.name, 1024, world=preset("laptop").world)
    with pytest.raises(UserError, match=r"world.deter = 64, not 16, .* and 5 more; --runs"):
        setting.trained(run)
    lived(setting, run.name, 1024, seed=7, train=replace(tiny.train, log_every=32))
    assert setting.trained(run)  # neither chance nor how often it is told makes another run
    (setting.place(run) / "config.json").write_text("{}")
    with pytest.raises(UserError, match="is not what a run of this version writes"):
        setting.trained(run)


def test_small_runs_are_like_paper_in_kind_unless_all_is_to_be_literal():
    small = BY_NAME["small-ursa"]
    paper, literal = (
        parse(Setting(preset=it).fresh(small)[1:]).config for it in ("paper", "literal")
    )
    large = preset("paper").behavior
    for name in ("margin", "constraint_discount"):
        assert getattr(paper.behavior, name) == getattr(large, name)
    assert literal.behavior == preset("laptop").behavior
    assert paper.world == literal.world == preset("laptop").world


def test_commands_for_what_is_missing_train_agents_once(tmp_path):
    runs = [it for it in RUNS if source(it).name == "forward-dominic"]
    assert len(runs) == 4
    said = makers(at(tmp_path), runs)
    assert (said.count("ursa train"), said.count("ursa evaluate")) == (1, 4)
    leave(at(tmp_path), "forward-dominic", seeds=(3, 4))  # whose agents nobody has
    said = makers(at(tmp_path), runs).splitlines()
    assert said[:2] == [
        f"  {at(tmp_path).results / 'forward-dominic'}: seed_0, seed_1, seed_2; the agents "
        "behind what is there are not here",
        "    $ ursa reproduce rq1 --results again",
    ]


def test_agents_are_trained_once_however_often_they_are_measured(tmp_path):
    steps = missing(at(tmp_path), needed(("physics",)))
    assert [words[0] for words in steps] == [*["train", "evaluate"] * 4, *["evaluate"] * 12]
    trained = {Path(words[-1]).name for words in steps if words[0] == "train"}
    measured = {Path(words[1]).name for words in steps if words[0] == "evaluate"}
    assert trained == measured


def test_the_plan_is_shown_with_commands_and_times_and_nothing_is_asked(tmp_path, capsys):
    assert reproduce("rq3", plan=True, runs=tmp_path, results=tmp_path / "results") == 0
    said = capsys.readouterr().out
    assert "  velocity-ursa                2 seeds, to do\n" in said
    assert "$ ursa train --robot a1 --task velocity" in said
    assert said.startswith("1 run, preset paper; ")
    assert "about 17 minutes of training (one H200) and 16 minutes of measuring" in said
    assert not list(tmp_path.iterdir())


def test_a_small_learner_is_trained_on_the_cores_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "device", lambda: "cpu")
    said = planned(at(tmp_path), needed(("small",)))
    assert "about 125 minutes of training and 11 of measuring (two cores)" in said
    assert said.startswith("2 runs, preset laptop; ")
    assert "GPU" not in said


def test_times_are_those_of_what_is_left_to_do(tmp_path):
    setting = at(tmp_path)
    leave(setting, *BY_NAME)
    assert "nothing is left to train or to measure" in planned(setting, RUNS)
    (setting.results / "velocity-ursa" / "seed_1.json").unlink()
    (setting.results / "velocity-ursa-2ms" / "seed_0.json").unlink()
    said = planned(setting, RUNS)
    assert "about 17 minutes of training (one H200) and 22 minutes of measuring" in said
    assert "  velocity-ursa                1 of 2 seeds are there\n" in said
    assert said.count("5 seeds, results are there") == 12
    assert said.count("2 seeds, results are there") == 4


@pytest.mark.parametrize(("found", "warned"), [("cpu", 1), ("gpu", 0)])
def test_who_would_train_on_a_cpu_is_warned(tmp_path, monkeypatch, found, warned):
    monkeypatch.setattr(module, "device", lambda: found)
    setting = at(tmp_path)
    said = planned(setting, RUNS)
    assert said.count("! JAX finds no GPU here, only this CPU: training takes many times") == warned
    leave(setting, *BY_NAME)
    assert "GPU" not in planned(setting, RUNS)


def test_what_jax_would_train_on_is_asked_of_another_process():
    assert device() == "cpu"


def test_a_miniature_keeps_away_from_the_results_of_the_paper_and_of_others(tmp_path):
    assert placed(Setting(), None, None).results == Path("results")
    small = {
        "tiny-5": Setting(preset="tiny"),
        "paper-2": Setting(seeds=2),
        "paper-5-quick": Setting(quick=True),
        "literal-5": Setting(preset="literal"),
    }
    for name, each in small.items():
        assert placed(each, None, None).results == Path("outputs/miniature") / name / "results"
        assert ("an impression, not a result" in planned(each, [])) == (name != "literal-5")


def test_results_in_a_folder_of_their_own_have_runs_of_their_own():
    found = placed(Setting(), None, Path("again"))
    assert (found.runs, found.results) == (Path("again/runs"), Path("again"))
    assert placed(Setting(), None, Path("results")).runs == Path("outputs/reproduce")
    assert placed(Setting(), Path("mine"), Path("again")).runs == Path("mine")
