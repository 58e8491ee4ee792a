"""`ursa adapt`: lines while it tries, files when it is done, one clear line when it cannot."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy

import ursa.repair
from ursa import Agent, cli
from ursa.adapt.ite import Chart, Trial, search
from ursa.errors import UserError
from ursa.evaluate.crowd import Crowd
from ursa.evaluate.damage import FRESH
from ursa.evaluate.definitions import AGAIN
from ursa.repair import command as module
from ursa.robot.damage import parse


@pytest.fixture(scope="module", autouse=True)
def command():
    """The command as the shell finds it, and rollouts of 3 s, by which nothing is judged here."""
    table = {**cli.COMMANDS, "adapt": cli.Command("ursa.repair.command:adapt", "adapt to damage")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "COMMANDS", table)
        for room in ("repair.play", "evaluate.rollout"):
            patch.setattr(f"ursa.{room}.STEPS", 60)
        yield


def files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def told(command, point, tmp_path_factory):
    """What the command printed and wrote, for the shared run."""
    out = tmp_path_factory.mktemp("told")
    words = ["--damage", "x:weak=0.5", "--trials", "5", "--out", str(out)]
    assert cli.main(["adapt", str(point), *words]) == 0
    return out, json.loads((out / "adaptation.json").read_text())


def test_a_line_for_every_trial_and_then_before_and_after(point, capsys):
    assert cli.main(["adapt", str(point), "--damage", "y", "--trials", "3"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert printed.err.splitlines() == [
        "compiling, and asking what 64 skills promise: half a minute or so ...",
        "the best before and the best now again, 5 times each ...",
    ]
    said = json.loads((point / "adapt" / "y" / "adaptation.json").read_text())
    tried = [int(re.findall(r"skill +(\d+)", line)[0]) for line in lines[:3]]
    assert tried == [it["row"] for it in said["trials"]]
    if said["chosen"]["row"] == said["before"]["row"]:
        assert lines.pop(6) == "  the old skill is still the best of the 3 tried: it stays"
    number = r" *-?\d+\.\d\d"
    for count, line in enumerate(lines[:3], 1):
        assert re.fullmatch(
            rf"trial {count} of 3: skill +\d+, predicted {number} \+- \d+\.\d\d, "
            rf"returned {number} \(unsafe \d\.\d\d\), best so far: skill \d+",
            line,
        )
    assert lines[3] == "damage y: 3 of 64 skills tried"
    assert re.match(rf"  best before the damage, skill \d+ +return {number}, median of 5", lines[4])
    assert re.match(rf"  chosen after it, skill \d+ +return {number}, median of 5", lines[5])
    place = point / "adapt" / "y"
    kinds = ("json", "png", "pdf")
    assert lines[6:] == [f"-> {place / f'adaptation.{kind}'}" for kind in kinds]
    assert (place / "adaptation.png").read_bytes().startswith(b"\x89PNG")
    assert (place / "adaptation.pdf").read_bytes().startswith(b"%PDF")


def test_the_file_holds_a_search_that_anybody_can_repeat(told):
    _, said = told
    assert (said["damage"], said["body"], said["prior"]) == ("x:weak=0.5", "point", "value")
    assert (said["length"], said["noise"], said["kappa"]) == (0.1, 1e-3, 0.05)
    trials, skills = said["trials"], np.array(said["map"]["skills"])
    expected, at = np.array(said["map"]["expected"]), said["map"]["row"].index
    assert [it["number"] for it in trials] == [1, 2, 3, 4, 5]
    assert trials[0]["row"] == said["map"]["row"][expected.argmax()] == said["before"]["row"]
    best = max(trials, key=lambda it: it["return"])
    assert said["chosen"] == {"row": best["row"], "skill": skills[at(best["row"])].tolist()}
    assert trials[-1]["best"] == best["row"]
    assert said["after"]["row"] == best["row"]
    # The same search from the file's own numbers.
    low, span = expected.min(), np.ptp(expected)
    box = (skills - skills.min(axis=0)) / np.ptp(skills, axis=0)
    returns = {at(it["row"]): it["return"] for it in trials}
    chart = Chart(box, (expected - low) / span, float(low), float(span))
    again = search(chart, lambda row: Trial(returns[row]), 5)
    assert [it.skill for it in again.attempts] == [at(it["row"]) for it in trials]
    np.testing.assert_allclose(low + span * again.belief.mean, said["map"]["mean"])
    np.testing.assert_allclose(span * again.belief.deviation, said["map"]["deviation"])


def test_trials_are_those_that_an_evaluation_of_all_skills_would_make(told, point):
    agent, (_, said) = Agent.load(point), told
    place = agent.arena(64)
    broken = parse("x:weak=0.5", place.body.spec)
    crowd = Crowd(agent.arena, agent.policy)
    skills = np.array(said["map"]["skills"])
    returns = crowd.rollouts(skills, np.arange(64), [broken] * 64).ret
    at = said["map"]["row"].index
    trials = said["trials"]
    assert [it["return"] for it in trials] == [returns[at(it["row"])] for it in trials]
    sound = crowd.rollouts(skills, np.arange(64)).ret
    assert (sound != returns).all()
    fresh = crowd.rollouts(
        np.tile(said["chosen"]["skill"], (5, 1)), FRESH + np.arange(5), [broken] * 5
    )
    assert said["after"] == {
        "row": said["chosen"]["row"],
        "returns": fresh.ret.tolist(),
        "unsafe": fresh.unsafe.tolist(),
        "aborted": 0,
    }


def test_every_row_is_one_of_the_agent_s_skills(told, point):
    agent, (_, said) = Agent.load(point), told
    assert said["version"] == 2
    assert said["map"]["row"] != list(range(64))  # the map has an order of its own
    np.testing.assert_array_equal(agent.skills[said["map"]["row"]], said["map"]["skills"])
    for it in (*said["trials"], said["chosen"]):
        np.testing.assert_array_equal(agent.skills[it["row"]], it["skill"])


def test_another_skill_that_is_chosen_is_no_story_of_one_that_stays(told, point):
    found = ursa.repair.adapt(Agent.load(point), "y", trials=2)
    first, second = found.search.attempts
    low, high = (replace(it, trial=Trial(ret)) for it, ret in ((first, 1.0), (second, 2.0)))
    other = replace(found, search=replace(found.search, attempts=(low, high)))
    assert "it stays" not in module.summary(other)
    assert f"chosen after it, skill {found.numbers[second.skill]} " in module.summary(other)


def test_the_chosen_skill_is_tried_again_with_other_chance(told):
    _, said = told
    fresh = said["after"]["returns"]
    assert len(fresh) == len(said["before"]["returns"]) == said["rollouts"] == AGAIN == 5
    best = max(it["return"] for it in said["trials"])
    assert len({*fresh, best}) == 6


def test_python_gets_the_same_as_the_command(told, point):
    agent, (_, said) = Agent.load(point), told
    heard = []
    found = ursa.repair.adapt(agent, "x:weak=0.5", trials=5, told=heard.append)
    assert tuple(heard) == found.search.attempts
    assert [found.numbers[it.skill] for it in heard] == [it["row"] for it in said["trials"]]
    assert found.number == said["chosen"]["row"]
    assert [it.trial.ret for it in heard] == [it["return"] for it in said["trials"]]
    np.testing.assert_array_equal(found.skill, said["chosen"]["skill"])
    np.testing.assert_array_equal(found.after.ret, said["after"]["returns"])


def test_a_measured_prior_knows_what_skills_return_undamaged(point):
    found = ursa.repair.adapt(Agent.load(point), "undamaged", trials=3, prior="measured")
    # Nothing is broken: every trial returns just what was measured.
    assert [it.trial.ret for it in found.search.attempts] == pytest.approx(
        [it.mean for it in found.search.attempts]
    )
    assert found.chosen == found.first
    stayed = "\n  the old skill is still the best of the 3 tried: it stays"
    assert module.summary(found).endswith(stayed)
    np.testing.assert_array_equal(found.before.ret, found.after.ret)


def test_dominic_adapts_over_its_eight_skills(baseline, tmp_path, capsys):
    words = ["--damage", "x:weak=0.5", "--trials", "20", "--out", str(tmp_path)]
    assert cli.main(["adapt", str(baseline("dominic")), *words]) == 0
    assert "8 of 8 skills tried" in capsys.readouterr().out
    said = json.loads((tmp_path / "adaptation.json").read_text())
    assert sorted(it["row"] for it in said["trials"]) == list(range(8))
    assert sum(said["chosen"]["skill"]) == 1
    assert (tmp_path / "adaptation.png").read_bytes().startswith(b"\x89PNG")


def test_trials_that_turn_unsafe_are_stopped_and_counted(point, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("ursa.task.point.SAFE_SPEED", -2.0)  # nothing is safe
    words = ["--damage", "y", "--trials", "2", "--unsafe-limit", "0.1", "--out", str(tmp_path)]
    assert cli.main(["adapt", str(point), *words]) == 0
    printed = capsys.readouterr().out
    assert printed.count("(unsafe 1.00, stopped)") == 2
    assert "2 of 64 skills tried, 2 stopped for safety" in printed
    said = json.loads((tmp_path / "adaptation.json").read_text())
    assert said["aborted"] == 2


def test_a_return_that_is_no_number_is_reported(point, monkeypatch, capsys, tmp_path):
    outcomes = iter([float("nan"), 3.0])
    monkeypatch.setattr("ursa.repair.play.play", lambda *_: Trial(next(outcomes)))
    words = ["adapt", str(point), "--damage", "y", "--trials", "2", "--out", str(tmp_path)]
    assert cli.main(words) == 0
    printed = capsys.readouterr().out
    assert "returned      nan (unsafe 0.00), best so far: skill None" in printed
    said = json.loads((tmp_path / "adaptation.json").read_text())
    assert [it["return"] for it in said["trials"]] == [None, 3.0]
    outcomes = iter([float("nan")] * 2)
    assert cli.main(words) == 2
    assert "none of 2 trials returned a finite number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--damage", "z"], 'unknown leg or joint of point "z": valid are x, y'),
        (["--damage", "x:bent"], 'unknown kind of damage "bent"'),
        (["--damage", "x:weak=2"], "weak damage with 2"),
        (["--damage", "x", "--trials", "0"], "trials = 0, want at least 1"),
        (["--damage", ""], 'damage "" breaks nothing: name a joint (x, y ...)'),
        (["--damage", "x", "--body", "gazebo"], 'unknown body "gazebo": valid are mujoco'),
        (["--damage", "x", "--body", "pybullet"], "point has a body of its own, no pybullet"),
        (["--damage", "x", "--prior", "guess"], 'unknown prior "guess": valid are measured, value'),
        (["--damage", "x", "--unsafe-limit", "1.5"], "unsafe-limit = 1.5, want a share"),
        (["--damage", "x", "--unsafe-limit", "nan"], "unsafe-limit = nan, want a share"),
        (["--damage", "x", "--seed", "7"], "run: 7, but it has only seed 0\n"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_nothing_is_written(point, words, line, capsys):
    before = files(point)
    assert cli.main(["adapt", str(point), *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("ursa: ")
    assert printed.err.count("\n") == 1
    assert line in printed.err
    assert files(point) == before


def test_a_run_that_is_missing_unfinished_or_without_skills_is_refused(
    unfinished, baseline, tmp_path, capsys
):
    runs = {
        "holds no agent": tmp_path / "nowhere",
        "is unfinished: seed 0 is at 64 of 640 steps": unfinished,
        "knows a single way to move": baseline("daydreamer"),
    }
    for line, run in runs.items():
        before = files(run)
        assert cli.main(["adapt", str(run), "--damage", "x"]) == 2
        assert line in capsys.readouterr().err
        assert files(run) == before
    assert not (tmp_path / "nowhere").exists()


def test_an_agent_of_another_format_is_refused(point, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(point / "agent", run)
    path = run / "seed_0" / "agent.safetensors"
    arrays = safetensors.numpy.load(path.read_bytes())
    for said, metadata in {
        "has format ursa-agent 9; this version of ursa reads ursa-agent 2": {
            "name": "ursa-agent",
            "version": "9",
        },
        "has format unknown; this": {"steps": "640"},
        "has format other 1; this": {"name": "other", "version": "1"},
    }.items():
        path.write_bytes(safetensors.numpy.save(arrays, metadata))
        before = files(run)
        assert cli.main(["adapt", str(run), "--damage", "x"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert said in printed.err
        assert files(run) == before


def test_an_unfinished_run_is_taken_when_asked_for(unfinished, tmp_path):
    words = ["--damage", "x", "--trials", "1", "--unfinished", "--out", str(tmp_path)]
    assert cli.main(["adapt", str(unfinished), *words]) == 0
    assert json.loads((tmp_path / "adaptation.json").read_text())["steps"] == 64


def test_results_do_not_go_into_a_file(point, tmp_path, capsys, monkeypatch):
    (tmp_path / "taken").write_text("")
    words = ["--damage", "x", "--out", str(tmp_path / "taken")]
    assert cli.main(["adapt", str(point), *words]) == 2
    assert "taken is a file: give another --out" in capsys.readouterr().err
    monkeypatch.setattr(Agent, "load", lambda *_: pytest.fail("it was loaded"))
    words[-1] += "/deep"
    assert cli.main(["adapt", str(point), *words]) == 2
    assert "taken is a file: give another --out" in capsys.readouterr().err


def test_an_a1_adapts_to_a_frozen_joint(a1, tmp_path, capsys):
    words = ["--damage", "FL.upper", "--trials", "2", "--out", str(tmp_path)]
    assert cli.main(["adapt", str(a1), *words]) == 0
    printed = capsys.readouterr().out
    assert "damage FL.upper: 2 of" in printed
    said = json.loads((tmp_path / "adaptation.json").read_text())
    assert (said["robot"], said["body"]) == ("a1", "mujoco")
    agent, first = Agent.load(a1), said["trials"][0]
    broken = parse("FL.upper", agent.arena().body.spec)
    crowd = Crowd(agent.arena, agent.policy)
    place = said["map"]["row"].index(first["row"])
    wanted = crowd.rollouts(np.array([first["skill"]]), np.array([place]), [broken])
    assert first["return"] == wanted.ret[0]
    chosen = said["chosen"]["row"]
    assert f"\n  see it: ursa watch {a1} --skill {chosen} --damage FL.upper\n" in printed


def test_another_physics_has_its_own_tick(a1, tmp_path):
    pytest.importorskip("pybullet")
    words = ["--damage", "FL.upper", "--trials", "1", "--body", "pybullet", "--out", str(tmp_path)]
    assert cli.main(["adapt", str(a1), *words]) == 0
    said = json.loads((tmp_path / "adaptation.json").read_text())
    assert said["body"] == "pybullet"
    assert np.isfinite(said["trials"][0]["return"])


def test_the_module_has_no_other_secret_names():
    with pytest.raises(AttributeError, match="no attribute 'adopt'"):
        _ = ursa.repair.adopt
    with pytest.raises(UserError, match="trials = 0"):
        search(Chart(np.zeros((1, 1)), np.zeros(1)), lambda row: None, 0)
