"""`ursa train`: help that is quick, flags that are checked before anything is written."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from ursa import cli
from ursa.presets import PRESETS, desktop, laptop, paper, tiny
from ursa.run import command, folder


def refused(capsys, *words):
    """What is said when a command ends with code 2."""
    try:
        code = cli.main(["train", *words])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    return capsys.readouterr().err


def test_help_shows_every_flag_without_loading_jax():
    program = (
        "import sys, ursa.cli\n"
        "try: ursa.cli.main(['train', '--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "print(sorted({'jax', 'equinox', 'mujoco'} & set(sys.modules)))"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert time.perf_counter() - start < 10  # a fraction of a second on an idle machine
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    for flag in ("--world.deter", "--skill.commit", "--steps", "--resume", "--train.batch"):
        assert flag in done.stdout
    assert "ursa train --resume outputs/a1" in done.stdout


@pytest.mark.parametrize(("words", "preset"), [([], laptop), (["--preset", "paper"], paper)])
def test_a_preset_gives_the_defaults(words, preset):
    assert command.parse(words).config == preset()


def test_flags_change_single_settings():
    words = ["--preset=tiny", "--robot", "point", "--task", "point", "--seeds", "3"]
    words += ["--steps", "2048", "--world.deter", "8", "--skill.commit", "window"]
    words += ["--behavior.no-safety", "--optimizer.learning-rate", "3e-4"]
    config = command.parse(words).config
    found = dict(_changes(asdict(tiny()), asdict(config)))
    assert found == {
        "robot": "point",
        "task": "point",
        "seeds": 3,
        "train.steps": 2048,
        "world.deter": 8,
        "skill.commit": "window",
        "behavior.safety": False,
        "optimizer.learning_rate": 3e-4,
    }


def _changes(before, after, path=""):
    for name, value in after.items():
        if isinstance(value, dict):
            yield from _changes(before[name], value, f"{name}.")
        elif before[name] != value:
            yield path + name, value


def test_an_unknown_flag_is_answered_with_the_nearest(capsys, tmp_path):
    said = refused(capsys, "--wrld.deter", "8", "--out", str(tmp_path / "run"))
    assert "--world.deter" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", [["--preset", "big"], ["--world.deter", "many"], ["--resume"]])
def test_a_flag_that_makes_no_sense_is_refused(capsys, words):
    assert words[0].removeprefix("--") in refused(capsys, *words)


def test_everything_impossible_is_listed_before_anything_is_written(capsys, tmp_path):
    words = ["--robot", "a2", "--method", "dominik", "--train.batch", "0", "--steps", "100"]
    said = refused(capsys, *words, "--out", str(tmp_path / "run"))
    for part in ('unknown robot "a2"', "did you mean dominic", "train.batch = 0", "steps = 100"):
        assert part in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--engine", "pybullet"], ["tick = 0.005 s", "0.002 (fast)"]),
        (["--robot", "go2", "--engine", "pybullet", "--tick", "0.002"], ["go2"]),
        (["--tick", "0.5", "--engine", "pybulet"], ["did you mean pybullet"]),
        (["--tick", "0.5", "--train.batch", "0"], ["tick = 0.5 s", "train.batch = 0"]),
        (["--robot", "point", "--task", "point", "--engine", "pybullet"], ["a body of its own"]),
        (["--forward.speed", "fast", "--forward.joints", "FL.knee"], ["forward.speed", "FL.knee"]),
        (["--skill.vae-frozen", "0.05"], ["skill.vae_frozen = 0.05: want at least vae_warm = 0.1"]),
    ],
)
def test_a_body_or_task_that_cannot_be_is_refused_before_anything_is_written(
    capsys, tmp_path, words, told
):
    said = refused(capsys, *words, "--out", str(tmp_path / "run"))
    for part in told:
        assert part in said
    assert not (tmp_path / "run").exists()


def test_a_number_that_can_never_be_right_is_told_once(capsys, tmp_path):
    said = refused(capsys, "--steps", "-10", "--out", str(tmp_path / "run"))
    assert said.count("train.steps") == 1
    assert "train.steps = -10: want at least 1" in said


def test_a_folder_where_we_may_not_write_is_refused_at_once(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    said = refused(capsys, "--preset", "tiny", "--out", str(tmp_path / "new" / "run"))
    assert "its folder is not writable: give another --out" in said
    assert "saved" not in said
    assert not (tmp_path / "new").exists()


def test_an_old_run_is_not_written_over(capsys, tmp_path):
    folder.begin(tmp_path, tiny())
    assert f"--resume {tmp_path}" in refused(capsys, "--preset", "tiny", "--out", str(tmp_path))


def test_resuming_nothing_is_refused(capsys, tmp_path):
    assert "holds no run" in refused(capsys, "--resume", str(tmp_path))
    assert "holds no run" in refused(capsys, "--resume", str(tmp_path / "absent"))


def test_resuming_with_other_settings_is_refused_with_the_difference(capsys, tmp_path):
    folder.begin(tmp_path, tiny())
    resume = ["--resume", str(tmp_path)]
    said = refused(capsys, *resume, "--steps", "4096", "--world.deter", "8")
    assert "train.steps: 4096 wanted, 1024 in" in said
    assert "world.deter: 8 wanted, 16 in" in said
    assert "leave out --preset" in refused(capsys, *resume, "--preset", "tiny")
    assert "leave out --out" in refused(capsys, *resume, "--out", "elsewhere")


def test_resuming_from_damaged_settings_is_refused(capsys, tmp_path):
    raw = asdict(tiny())
    raw["train"]["bach"] = raw["train"].pop("batch")
    (tmp_path / "config.json").write_text(json.dumps(raw))
    assert "did you mean batch" in refused(capsys, "--resume", str(tmp_path))


def test_a_run_without_a_folder_gets_one_of_its_own():
    config, out = command.settled(command.parse(["--robot", "my.robots:SPOT"]))
    assert config.robot == "my.robots:SPOT"
    assert out.parts[0] == "outputs"
    assert out.name.startswith("my.robots.SPOT-forward-ursa-")


def test_every_preset_is_offered():
    words = command.Flags.__annotations__["preset"].__args__
    assert set(words) == set(PRESETS)


def test_the_preset_desktop_is_what_the_log_says_has_walked():
    log = (Path(__file__).parents[2] / "docs" / "log.md").read_text().splitlines()
    (line,) = (it for it in log if "--behavior.units 128" in it and it.startswith("    ursa train"))
    config, _ = command.settled(command.parse(line.split()[2:]))
    assert config == desktop()
