"""`ursa evaluate`: one file per seed and a table, or one line that says why not."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy

from evaluate.born import born
from evaluate.made import made
from runs import A1, POINT, TWO, quickly
from ursa import cli
from ursa.errors import UserError
from ursa.evaluate.beside import refuse_strangers
from ursa.evaluate.command import agents, inside
from ursa.evaluate.results import load, save, settings
from ursa.evaluate.study import QUICK, Study, job
from ursa.evaluate.told import headline, nan, told
from ursa.robot.registry import robot


def evaluate(*words) -> int:
    return cli.main(["evaluate", *map(str, words), "--quiet"])


def test_every_seed_is_measured_and_told(tmp_path, capsys):
    run = born(replace(TWO, seed=3), tmp_path / "run")
    with quickly():
        assert evaluate(run, "--skills", 8) == 0
    assert sorted(path.name for path in (run / "results").iterdir()) == [
        "seed_3.json",
        "seed_4.json",
    ]
    one, other = (load(run / "results" / f"seed_{seed}.json") for seed in (3, 4))
    assert (one.source.seed, other.source.seed) == (3, 4)
    assert one.source.run == "run"
    assert (one.skills.ret != other.skills.ret).any()
    printed = capsys.readouterr().out
    assert "run seed 3: ursa on point / point" in printed
    assert f"return, best                {one.skills.ret.max():.1f}" in printed
    assert f"-> {run / 'results' / 'seed_4.json'}" in printed
    assert "640 steps; its own physics, 8 rollouts" in printed  # no engine moves a point
    assert printed.count("no learning curve: its journal (metrics.jsonl) is not") == 2  # just born


def test_one_seed_of_several_goes_where_it_is_told(tmp_path):
    run = born(replace(TWO, seed=3), tmp_path / "run")
    with quickly():
        assert evaluate(run, "--skills", 8, "--seed", 4, "--out", tmp_path / "new" / "place") == 0
    assert [it.name for it in (tmp_path / "new" / "place").iterdir()] == ["seed_4.json"]
    assert not (run / "results").exists()


def test_another_study_does_not_replace_the_usual_one():
    assert inside(Study(), quick=False) == "results"
    assert inside(QUICK, quick=True) == "results-quick"
    assert inside(Study(engine="pybullet"), quick=False) == "results-pybullet"
    assert inside(Study(tick=0.002), quick=False) == "results-2ms"
    assert inside(Study(failure="limp"), quick=False) == "results-limp"
    assert inside(Study(damages={}), quick=False) == "results-undamaged"


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def config(run, **changes):
    path = run / "agent" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def other_format(run):
    path = run / "agent" / "seed_0" / "agent.safetensors"
    arrays = safetensors.numpy.load(path.read_bytes())
    path.write_bytes(safetensors.numpy.save(arrays, {"name": "ursa-agent", "version": "9"}))


def torn(run):
    path = run / "agent" / "seed_0" / "agent.safetensors"
    path.write_bytes(path.read_bytes()[:100])


WRONG = {
    "no run": (lambda run: shutil.rmtree(run), [], "holds no agent"),
    "nothing saved yet": (lambda run: shutil.rmtree(run / "agent"), [], "holds no agent"),
    "no such seed": (None, ["--seed", "7"], "unknown seed of .*run: 7, but it has only seed 0"),
    "an agent is missing": (lambda run: config(run, seeds=2), [], "seed_1.*is missing"),
    "another format": (other_format, [], "has format ursa-agent 9; .* reads ursa-agent 2"),
    "a torn file": (torn, [], "cannot be read"),
    "a config that is none": (lambda run: config(run, seeds="x"), [], "does not give the settings"),
    "another robot": (lambda run: config(run, robot="a2"), [], 'unknown robot "a2"'),
    "a robot of other sizes": (lambda run: config(run, robot="point", task="point"), [], "shape"),
    "no such physics": (None, ["--body", "odd"], 'unknown body "odd": valid are mujoco'),
    "no such failure": (None, ["--failure", "bent"], 'unknown failure "bent": valid are frozen'),
    "too long a tick": (None, ["--tick", "0.5"], "tick"),
    "too few skills": (None, ["--skills", "4"], "skills = 4, want a whole number >= 8"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_measured_is_refused_in_one_line_and_nothing_is_written(
    case, tmp_path, capsys
):
    spoil, words, said = WRONG[case]
    run = born(A1, tmp_path / "run")
    if spoil is not None:
        spoil(run)
    before = tree(tmp_path)
    assert evaluate(run, *words) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1, printed.err
    assert re.search(said, printed.err), printed.err
    assert printed.out == ""
    assert tree(tmp_path) == before


def test_an_unfinished_run_is_measured_only_when_asked(tmp_path, capsys):
    run = born(POINT, tmp_path / "run", steps=320)
    assert evaluate(run, "--skills", 8) == 2
    assert "seed 0 is at 320 of 640 steps" in capsys.readouterr().err
    assert not (run / "results").exists()
    with quickly():
        assert evaluate(run, "--skills", 8, "--unfinished") == 0
    assert load(run / "results" / "seed_0.json").source.steps == 320


def test_the_words_say_which_body_and_how_joints_fail(tmp_path, monkeypatch):
    pytest.importorskip("pybullet", reason="PyBullet is not installed: make setup")
    run, asked = born(A1, tmp_path / "run", known=8), []

    def carried_out(work, **_):
        asked.append(work)
        return made(rollouts=16)

    monkeypatch.setattr("ursa.evaluate.command.carried_out", carried_out)
    assert evaluate(run, "--skills", 8, "--body", "pybullet", "--failure", "limp") == 0
    (work,) = asked
    assert (work.engine, work.tick, work.chunk) == ("pybullet", 0.002, 64)
    hurt = {
        kind for _, broken in list(work.cases.items())[1:] for kind in {it.kind for it in broken}
    }
    assert hurt == {"limp"}
    assert {it.name for it in run.iterdir()} == {"agent", "results-pybullet-limp"}


def test_results_of_another_run_are_neither_joined_nor_written_over(tmp_path, capsys):
    first, other = (born(replace(TWO, seed=3), tmp_path / name) for name in ("first", "other"))
    longer = replace(TWO, seed=4, train=replace(TWO.train, batch=TWO.train.batch + 1))
    strange, place = born(longer, tmp_path / "strange"), tmp_path / "place"
    with quickly():
        assert evaluate(first, "--skills", 8, "--seed", 3, "--out", place) == 0
        before = (place / "seed_3.json").read_bytes()
        capsys.readouterr()
        for seed in (4, 5):  # beside seed 3, and nothing of its own there
            assert evaluate(strange, "--skills", 8, "--seed", seed, "--out", place) == 2
            said = capsys.readouterr().err
            assert "seed_3.json is of first, seed 3, which was trained with other settings" in said
            assert f"(train.batch = {TWO.train.batch}, not {TWO.train.batch + 1}): give an" in said
        assert evaluate(other, "--skills", 9, "--seed", 4, "--out", place) == 2
        said = capsys.readouterr().err
        ways = "(mujoco at 5 ms, 8 rollouts; not mujoco at 5 ms, 9 rollouts)"
        assert f"measured otherwise {ways}" in said
        assert [it.name for it in place.iterdir()] == ["seed_3.json"]
        assert (place / "seed_3.json").read_bytes() == before
        assert evaluate(other, "--skills", 8, "--seed", 4, "--out", place) == 0  # of equal settings
        assert evaluate(strange, "--skills", 8, "--seed", 4, "--out", place) == 2  # would replace
        assert "seed_3.json is of first" in capsys.readouterr().err
        (place / "seed_3.json").unlink()
        assert evaluate(strange, "--skills", 8, "--seed", 4, "--out", place) == 2
        assert "seed_4.json is of other" in capsys.readouterr().err
        (place / "seed_4.json").write_text("torn")
        assert evaluate(strange, "--skills", 8, "--seed", 5, "--out", place) == 2
        assert "seed_4.json is not a results file" in capsys.readouterr().err
        assert evaluate(strange, "--skills", 8, "--seed", 4, "--out", place) == 0  # no loss
        assert evaluate(strange, "--skills", 9, "--seed", 4, "--out", place) == 2  # the same seed
        assert "measured otherwise" in capsys.readouterr().err
        assert load(place / "seed_4.json").skills.ret.shape == (8,)
        assert evaluate(strange, "--skills", 8, "--seed", 4, "--out", place) == 0  # just again
        for skills in (8, 9):  # in its own folder a run replaces what it had
            assert evaluate(strange, "--skills", skills, "--seed", 4) == 0
    assert load(strange / "results" / "seed_4.json").skills.ret.shape == (9,)


def test_results_that_were_damaged_otherwise_or_counted_otherwise_are_strangers(tmp_path, capsys):
    run, place = born(A1, tmp_path / "run", known=8), tmp_path / "place"
    (agent,) = agents(run, None, unfinished=False)
    work = job(agent, Study(skills=8))
    found = made(rollouts=8)
    kept = replace(
        found,
        config=settings(agent.config),
        source=replace(found.source, steps=agent.steps),
        damages=tuple(replace(found.damages[0], scenario=it) for it in work.cases),
    )
    place.mkdir()

    def refused(**changes) -> str:
        save(replace(kept, **changes), place / "seed_7.json")
        try:
            refuse_strangers(place, [work])
        except UserError as error:
            return str(error)
        return ""

    assert refused() == ""
    assert "rollouts, scenarios undamaged; not mujoco" in refused(damages=kept.damages[:1])
    assert "with a yardstick; not mujoco" in refused(notes={"distinct": 4.0})
    assert "trained with other settings (task = velocity, not forward)" in refused(
        config={**kept.config, "task": "velocity"}
    )
    for name, value in (("engine", "solid"), ("tick", 0.002), ("steps", 9)):
        assert refused(source=replace(kept.source, **{name: value})), name


def test_a_file_in_the_place_of_the_results_is_not_written_over(tmp_path, capsys):
    run = born(POINT, tmp_path / "run")
    (run / "results").write_text("mine")
    assert evaluate(run, "--skills", 8) == 2
    assert "is a file" in capsys.readouterr().err
    assert (run / "results").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_refused_before_an_agent_is_loaded(
    tmp_path, capsys, monkeypatch
):
    run = born(POINT, tmp_path / "run")
    (tmp_path / "taken").write_text("mine")
    monkeypatch.setattr("ursa.run.agent.Agent.load", lambda *_: pytest.fail("it was loaded"))
    assert evaluate(run, "--out", tmp_path / "taken" / "deep" / "er") == 2
    assert f"cannot be made: {tmp_path / 'taken'} is a file: give another --out" in (
        capsys.readouterr().err
    )
    monkeypatch.setattr("os.access", lambda *_: False)
    assert evaluate(run) == 2
    assert "results: its folder is not writable: give another --out" in capsys.readouterr().err


def test_results_are_told_below_the_last_line_of_progress(tmp_path, capsys, monkeypatch):
    class Shown:
        def __init__(self, total, **_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            print("100%")

    run = born(replace(TWO, seed=3), tmp_path / "run", known=8)
    monkeypatch.setattr("ursa.evaluate.command.Progress", Shown)
    monkeypatch.setattr(
        "ursa.evaluate.command.carried_out",
        lambda work, **_: made(seed=work.agent.seed, rollouts=16),
    )
    assert cli.main(["evaluate", str(run), "--skills", "8"]) == 0
    printed = capsys.readouterr()
    begins = [line for line in printed.out.splitlines() if re.match(r"100%|a1-forward|->", line)]
    assert [line.partition(":")[0] for line in begins] == [
        "a1-forward-ursa seed 3",
        f"-> {run / 'results' / 'seed_3.json'}",
        "100%",
        "a1-forward-ursa seed 4",
        f"-> {run / 'results' / 'seed_4.json'}",
    ]
    assert printed.err.startswith("loading and compiling")


def test_the_help_says_that_damages_are_not_left_out_unless_asked(capsys):
    with pytest.raises(SystemExit):
        cli.main(["evaluate", "--help"])
    words = " ".join(re.sub("[\u2500-\u257f]", " ", capsys.readouterr().out).split())
    assert re.search(r"--no-damages Leave out [^()]* \(default: False\)", words)


def test_a_headline_says_whose_physics_it_was():
    found = made(rollouts=16)
    assert "; mujoco at 5 ms, 16 rollouts" in headline(found, robot("a1"))
    assert "; its own physics, 16 rollouts" in headline(found, robot("point"))


def test_returns_that_are_not_numbers_are_counted_and_placed():
    found = made(rollouts=16)
    assert nan(found) == ""
    ret, again = found.skills.ret.copy(), found.damages[1].again.copy()
    ret[[2, 5]], again[0] = np.nan, np.inf
    hurt = replace(found.damages[1], again=again)
    found = replace(
        found,
        skills=replace(found.skills, ret=ret),
        damages=(found.damages[0], hurt, *found.damages[2:]),
    )
    assert nan(found).splitlines() == [
        "  NOT A NUMBER: 2 of 16 returns, skills, row 2, 5",
        "  NOT A NUMBER: 1 of 5 returns, FR.upper, again, row 0",
    ]
    printed = told(found, robot("a1"))
    assert "return, median              nan" in printed  # not averaged away
    assert "2 of 16 returns" in printed


def test_the_table_tells_damages_and_commands():
    printed = told(made(rollouts=64), robot("a1"))
    found = made(rollouts=64)
    line = next(it for it in printed.splitlines() if it.startswith("  FR+BL"))
    hurt = found.damages[-1]
    assert line.split() == [
        "FR+BL",
        f"{hurt.ret.max():.1f}",
        f"{hurt.trial_ret.max():.1f}",
        f"{hurt.again.mean():.1f}",
    ]
    follows = made(task="velocity", rollouts=64)
    assert follows.tracking is not None
    count = follows.tracking.reachable.sum()
    assert f"commands: {count} of 441 reachable" in told(follows, robot("a1"))
