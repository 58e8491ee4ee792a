"""Settings: whatever is wrong with them is named, all of it at once, before anything starts."""

import json
import re
from dataclasses import asdict, fields, is_dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ursa.config import Config, complaints
from ursa.errors import UserError
from ursa.presets import PRESETS, tiny
from ursa.robot import registry as robots
from ursa.run import folder, preflight, settings
from ursa.run.plan import method_of
from ursa.task import registry as tasks
from ursa.types import Sizes


def names(section=None, path=""):
    """The dotted name and value of every number of the settings."""
    for item in fields(section or Config()):
        value = getattr(section or Config(), item.name)
        if is_dataclass(value):
            yield from names(value, f"{item.name}.")
        elif type(value) in (int, float):
            yield path + item.name, value


def changed(dotted, value):
    """The tiny settings with one of them replaced."""
    section, _, name = dotted.rpartition(".")
    config = tiny()
    if not section:
        return replace(config, **{name: value})
    return replace(config, **{section: replace(getattr(config, section), **{name: value})})


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_nothing_wrong_with_it(preset):
    assert complaints(PRESETS[preset]()) == []


@pytest.mark.parametrize("name", [name for name, value in names() if isinstance(value, float)])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_none_is_named(name, value):
    assert any(line.startswith(f"{name} = {value}") for line in complaints(changed(name, value)))


@pytest.mark.parametrize("name", [name for name, value in names() if isinstance(value, int)])
def test_a_whole_number_below_its_least_is_named(name):
    assert any(line.startswith(f"{name} = -1: ") for line in complaints(changed(name, -1)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("world.unimix", 1.5),
        ("behavior.discount", 1.0),
        ("behavior.return_lambda", -0.1),
        ("behavior.min_std", 2.0),
        ("optimizer.learning_rate", 0.0),
        ("optimizer.weight_decay", -0.1),
        ("skill.distinct_skills", 65),
        ("skill.feature", "pca"),
        ("skill.commit", "never"),
        ("skill.fixed_delta", -1.0),
        ("train.prefill", 31),
        ("train.prefill", 2048),
        ("train.replay_size", 63),
        ("train.steps_per_update", 6),
        ("train.steps", 1023),
        ("tick", 0.0),
        ("arena", -1.0),
        ("seed", 2**31),
    ],
)
def test_what_cannot_run_is_named_with_its_value(name, value):
    assert len(complaints(changed(name, value))) == 1
    (line,) = complaints(changed(name, value))
    assert line.startswith(("train.steps = 1024: ", f"{name} = {value}", f"{name} = {value!r}"))


def test_everything_wrong_is_listed_at_once():
    config = replace(
        changed("train.robots", 0), robot="a2", task="forwad", method="urs", engine="bullet"
    )
    with pytest.raises(UserError) as error:
        preflight.check(config)
    said = str(error.value)
    for part in ("train.robots = 0", "a2", "forwad", "did you mean ursa", "bullet"):
        assert part in said


def test_a_task_that_the_robot_cannot_do_is_refused():
    with pytest.raises(UserError, match="this run cannot start"):
        preflight.check(replace(tiny(), robot="point", task="velocity"))
    with pytest.raises(UserError, match="estimates no velocity: leave out settle"):
        preflight.check(replace(tiny(), robot="point", task="point", settle=0.05))


def test_preflight_knows_the_methods_there_are():
    sizes, task = (
        Sizes(observation=7, action=2, posture=2),
        tasks.task("point", robots.robot("point")),
    )
    for name in preflight.METHODS:
        assert method_of(replace(tiny(), method=name), task, sizes).name == name


def test_the_replay_of_a_thousand_a1_steps_takes_as_many_bytes_as_its_rows():
    sizes = preflight.check(tiny())
    # 34 observations, 12 actions, 13 postures, reward and cost as float32, two flags
    assert (sizes.observation, sizes.action, sizes.posture) == (34, 12, 13)
    assert preflight.replay_bytes(replace(tiny(), seeds=2), sizes) == 2 * 1024 * (4 * 61 + 2)


def test_a_replay_beyond_the_free_memory_is_refused_with_both_numbers():
    sizes = preflight.check(tiny())
    preflight.check_memory(tiny(), sizes, 251904.0)
    preflight.check_memory(tiny(), sizes, None)
    with pytest.raises(UserError, match=re.escape("takes 0.00 GB, but 0.00 GB")):
        preflight.check_memory(tiny(), sizes, 251903.0)


def test_changes_reach_their_sections_and_leave_the_rest():
    config = settings.configure(
        "tiny", {"robot": "point", "steps": 512, "world": {"deter": 8}, "tick": 1}
    )
    assert (config.robot, config.train.steps, config.world.deter, config.tick) == (
        "point",
        512,
        8,
        1.0,
    )
    assert config.world.units == tiny().world.units
    assert config.train.batch == tiny().train.batch


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"robt": "a1"}, 'unknown setting "robt".*did you mean robot'),
        ({"world": {"detr": 8}}, 'unknown setting "detr".*did you mean deter'),
        ({"world": {"deter": "8"}}, "'8' is a str, want a whole number in world.deter"),
        ({"world": {"deter": 1.5}}, "1.5 is a float, want a whole number in world.deter"),
        ({"train": {"batch": True}}, "True is a bool, want a whole number in train.batch"),
        ({"behavior": {"safety": 1}}, "1 is a int, want true or false in behavior.safety"),
        ({"world": 3}, "world = 3, want settings by name"),
        ({"steps": None}, "None is a NoneType, want a whole number in train.steps"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(changes, said):
    with pytest.raises(UserError, match=said):
        settings.configure("tiny", changes)


def test_two_mistakes_are_two_lines():
    with pytest.raises(UserError) as error:
        settings.configure("tiny", {"wrld": {}, "train": {"bach": 3, "length": "x"}})
    assert str(error.value).count("\n") == 3


def test_an_unknown_preset_is_answered_with_the_nearest():
    with pytest.raises(UserError, match="did you mean laptop"):
        settings.configure("labtop", {})


def test_settings_read_back_as_they_were_written(tmp_path):
    path = tmp_path / "config.json"
    config = changed("optimizer.learning_rate", 3e-5)
    path.write_text(json.dumps(asdict(config)))
    assert settings.read(path) == config


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[:-20], "cannot be read"),
        (lambda text: "", "cannot be read"),
        (lambda text: "[" * 100_000, "cannot be read"),
        (lambda text: "[]", "a list, want settings by name"),
        (lambda text: text.replace('"deter"', '"deterr"'), "did you mean deter"),
        (lambda text: text.replace('"batch": 4, ', ""), "train.batch is missing"),
        (lambda text: text.replace('"batch": 4', '"batch": -4'), "train.batch = -4"),
        (lambda text: text.replace('"batch": 4', '"batch": NaN'), "nan is a float"),
    ],
)
def test_a_damaged_file_is_refused_with_what_is_wrong(tmp_path, damage, said):
    path = tmp_path / "config.json"
    path.write_text(damage(json.dumps(asdict(tiny()))))
    with pytest.raises(UserError, match=said):
        settings.read(path)


def test_an_agent_of_an_older_version_may_lack_newer_settings(tmp_path):
    raw = asdict(tiny())
    del raw["train"]["patience"]
    (tmp_path / "config.json").write_text(json.dumps(raw))
    assert settings.read(tmp_path / "config.json", whole=False) == tiny()
    with pytest.raises(UserError, match=r"train\.patience is missing"):
        settings.read(tmp_path / "config.json")


def test_a_run_that_is_older_than_a_setting_may_go_on_as_it_was(tmp_path):
    raw = json.loads(json.dumps(asdict(tiny())))
    del raw["settle"]
    (tmp_path / "config.json").write_text(json.dumps(raw))
    config = settings.read(tmp_path / "config.json")
    assert config == replace(tiny(), settle=0.0)
    folder.refuse_changed(tmp_path, config, raw)
    with pytest.raises(UserError, match=r"settle: 0\.05 in config\.json, 0\.0 when it was"):
        folder.refuse_changed(tmp_path, replace(config, settle=0.05), raw)


def test_a_folder_without_settings_is_no_run(tmp_path):
    with pytest.raises(UserError, match=r"holds no run: there is no config\.json"):
        settings.read(tmp_path / "config.json")


@given(st.sampled_from([name for name, _ in names()]), st.integers(1, 10**6))
def test_differences_name_what_differs_and_nothing_else(name, value):
    mine, theirs = asdict(changed(name, value)), asdict(tiny())
    before = dict(settings.flat(theirs))[name]
    wanted = [] if before == value else [f"{name}: {value} here, {before} there"]
    assert settings.differences(mine, theirs, "here", "there") == wanted
