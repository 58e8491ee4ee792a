"""`ursa compare`: which seeds belong together, what is refused, what is told."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evaluate.made import made, study, written
from ursa import cli
from ursa.errors import UserError
from ursa.evaluate import coping, group
from ursa.evaluate.compare import INCOMPLETE, compare, compared, told
from ursa.evaluate.group import apart, gather, grouped, together
from ursa.evaluate.results import Adapted
from ursa.evaluate.statistics import Summary
from ursa.evaluate.tables import damages, overview, robustness, tables, trials

ROLLOUTS = 16


def rows(table) -> dict:
    return {
        name: dict(zip(table.columns, cells, strict=True)) for name, cells in table.rows.items()
    }


def with_source(found, **changes):
    return replace(found, source=replace(found.source, **changes))


@pytest.fixture
def command(monkeypatch):
    table = {"compare": cli.Command("ursa.evaluate.compare:compare", "compare methods")}
    monkeypatch.setattr(cli, "COMMANDS", table)


# -- which seeds belong together


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"settle": 0.05}, "settle 0.0 .* and 0.05"),
        ({"forward": {"speed": "raw"}}, "forward.speed clipped .* and raw"),
    ],
)
def test_returns_that_mean_different_things_are_not_compared(tmp_path, changes, said):
    ours, theirs = made("ursa", rollouts=ROLLOUTS), made("daydreamer", rollouts=ROLLOUTS)
    assert len(gather(written(tmp_path, [ours, theirs]))) == 2
    forward = theirs.config["forward"] | changes.get("forward", {})
    theirs = replace(theirs, config=theirs.config | changes | {"forward": forward})
    with pytest.raises(UserError, match=f"cannot be compared: {said}"):
        gather(written(tmp_path, [ours, theirs]))


def test_what_another_task_would_have_paid_keeps_nobody_from_being_compared():
    ours = made("ursa", task="velocity", rollouts=ROLLOUTS)
    forward = ours.config["forward"] | {"speed": "raw"}
    theirs = with_source(replace(ours, config=ours.config | {"forward": forward}), run="other")
    together([ours, theirs])
    with pytest.raises(UserError, match=r"settle 0\.0 .* and 0.05"):
        together([ours, replace(theirs, config=theirs.config | {"settle": 0.05})])


def test_seeds_of_the_same_settings_form_a_group_and_ursa_comes_first():
    found = grouped(list(reversed(study(3, rollouts=ROLLOUTS))))
    assert [it.label for it in found] == ["URSA", "DOMiNiC", "DayDreamer"]
    assert [[each.source.seed for each in it.seeds] for it in found] == [[0, 1, 2]] * 3


def test_seeds_of_runs_of_their_own_belong_together_too():
    two = [made(seed=seed, rollouts=ROLLOUTS) for seed in (4, 7)]
    two = [replace(it, config={**it.config, "seed": it.source.seed, "seeds": 1}) for it in two]
    (alone,) = grouped(two)
    assert alone.n == 2


def test_runs_with_other_settings_are_told_apart_by_their_names():
    plain, ablated = (made(rollouts=ROLLOUTS) for _ in range(2))
    config = {**ablated.config, "behavior": {**ablated.config["behavior"], "safety": False}}
    ablated = with_source(replace(ablated, config=config), run="no-safety")
    assert [it.label for it in grouped([plain, ablated])] == [
        "URSA (a1-forward-ursa)",
        "URSA (no-safety)",
    ]
    with pytest.raises(UserError, match=r"both called URSA \(no-safety\): rename one"):
        grouped([with_source(plain, run="no-safety"), ablated])


def test_how_often_a_run_was_saved_and_told_does_not_tell_it_apart():
    two = [made(seed=seed, rollouts=ROLLOUTS) for seed in (0, 1)]

    def other(**changes):
        return replace(two[1], config={**two[1].config, "train": two[1].config["train"] | changes})

    assert [it.n for it in grouped([two[0], other(checkpoint_every=7, log_every=9)])] == [2]
    again = with_source(other(batch=7), run="other")
    assert [it.n for it in grouped([two[0], again])] == [1, 1]


def test_what_an_older_run_could_not_set_is_as_it_was_then():
    old, new = (made(seed=seed, rollouts=ROLLOUTS) for seed in (0, 1))
    old = replace(old, config={k: v for k, v in old.config.items() if k != "settle"})
    assert [it.n for it in grouped([old, new])] == [2]
    again = with_source(replace(new, config=new.config | {"settle": 0.05}), run="other")
    assert [it.n for it in grouped([old, again])] == [1, 1]


def test_only_curves_may_be_there_of_some_seeds():
    two = [made(task="velocity", seed=seed, rollouts=ROLLOUTS) for seed in (0, 1)]
    two = [replace(two[0], curve=None), replace(two[1], tracking=None)]
    (some,) = group.partly(grouped(two), "curve")
    assert [it.source.seed for it in some.seeds] == [1]
    with pytest.raises(UserError, match="tracking of a1-velocity-ursa, seed 1 were not measured"):
        group.measured(grouped(two), "tracking")


def test_a_comparison_can_be_held_to_some_scenarios(tmp_path):
    groups = group.within(grouped(study(2, rollouts=ROLLOUTS)), {"undamaged", "FR", "BL"})
    made_of = compared(groups, tmp_path, ["damages"], chapter="legs")
    assert made_of.name == "legs"
    assert set(made_of.tables[1].rows) == {"FR", "BL"}
    assert made_of.gallery.drawn[0].numbers["scenarios"] == ["undamaged", "FR", "BL"]


def test_a_path_is_a_file_a_folder_of_files_or_a_run(tmp_path):
    file, *_ = written(tmp_path, [made(rollouts=ROLLOUTS)])
    assert group.files(file) == group.files(file.parent) == [file]
    assert group.files(file.parent.parent) == [file]  # a folder of such folders
    run = tmp_path / "run"
    (run / "results").mkdir(parents=True)
    (run / "config.json").write_text("{}")
    (run / "environment.json").write_text("{}")
    (run / "results" / "seed_3.json").write_bytes(file.read_bytes())
    assert group.files(run) == [run / "results" / "seed_3.json"]
    (run / "results").rename(run / "results-quick")
    with pytest.raises(UserError, match=r"measured only in part .* give .*results-quick"):
        group.files(run)


# -- what is refused: one line, code 2, nothing written


def refused(command, capsys, tmp_path, *paths) -> str:
    before = sorted(tmp_path.rglob("*"))
    out = tmp_path / "out"
    assert cli.main(["compare", *map(str, paths), "--out", str(out)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
    return said.err


def test_what_is_not_there_or_was_never_measured_is_refused(command, capsys, tmp_path):
    assert "is not there" in refused(command, capsys, tmp_path, tmp_path / "nowhere")
    (tmp_path / "run").mkdir()
    assert "holds no results" in refused(command, capsys, tmp_path, tmp_path / "run")
    (tmp_path / "run" / "config.json").write_text("{}")
    said = refused(command, capsys, tmp_path, tmp_path / "run")
    assert said == f"ursa: {tmp_path}/run was never measured: ursa evaluate {tmp_path}/run\n"
    assert "nothing to compare" in refused(command, capsys, tmp_path)


def test_a_file_of_another_format_or_of_something_else_is_refused(command, capsys, tmp_path):
    (file,) = written(tmp_path, [made(rollouts=ROLLOUTS)])
    read = json.loads(file.read_text())
    file.write_text(json.dumps(read | {"format": 99}))
    assert "has another format" in refused(command, capsys, tmp_path, file)
    file.write_text(json.dumps({"format": 1, "source": {}}))
    assert "is not a results file" in refused(command, capsys, tmp_path, file)
    file.write_text("not JSON")
    assert "is not a results file" in refused(command, capsys, tmp_path, file)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"robot": "go2"}, "robot a1 (a1-forward-ursa, seed 0) and go2 (other, seed 0)"),
        ({"task": "velocity"}, "task forward"),
        ({"engine": "pybullet"}, "physics mujoco at 5 ms"),
        ({"tick": 0.002}, "mujoco at 2 ms"),
        ({"steps": 1_200_000}, "control steps 1,000,000"),
    ],
)
def test_what_has_nothing_in_common_is_refused(changes, said, command, capsys, tmp_path):
    found = [made(rollouts=ROLLOUTS), made("dominic", rollouts=ROLLOUTS)]
    found[1] = with_source(found[1], run="other", **changes)
    paths = written(tmp_path, found)
    assert said in refused(command, capsys, tmp_path, *paths)


def test_other_numbers_of_rollouts_are_refused(command, capsys, tmp_path):
    paths = written(tmp_path, [made(rollouts=16), made("dominic", rollouts=24)])
    assert "rollouts 16" in refused(command, capsys, tmp_path, *paths)


def test_an_unfinished_run_is_refused_unless_asked(command, capsys, tmp_path):
    early = with_source(made(rollouts=ROLLOUTS), steps=250_000)
    paths = written(tmp_path, [early])
    said = refused(command, capsys, tmp_path, *paths)
    assert "unfinished, 250,000 of 1,000,000 control steps" in said
    assert gather(paths, any_length=True)[0].n == 1


def test_a_seed_counts_once(command, capsys, tmp_path):
    (path,) = written(tmp_path, [made(rollouts=ROLLOUTS)])
    assert "is there twice" in refused(command, capsys, tmp_path, path, path)


def test_other_damages_are_refused():
    two = [made(seed=seed, rollouts=ROLLOUTS) for seed in (0, 1)]
    renamed = replace(two[1].damages[3], scenario="BR:limp")
    two[1] = replace(two[1], damages=(*two[1].damages[:3], renamed, *two[1].damages[4:]))
    with pytest.raises(UserError, match="cannot be compared: URSA was damaged as"):
        coping.coping(grouped(two))
    two[1] = replace(two[1], damages=())
    with pytest.raises(UserError, match="damages of a1-forward-ursa, seed 1 were not measured"):
        tables(grouped(two))


def test_a_report_keeps_tasks_apart_and_robots_out(tmp_path):
    paths = written(tmp_path, [made(task=task, rollouts=16) for task in ("velocity", "forward")])
    assert list(apart(paths)) == ["forward", "velocity"]
    other = written(tmp_path / "b", [with_source(made(rollouts=16), robot="go2")])
    with pytest.raises(UserError, match="robot a1"):
        apart([*paths, *other])


# -- what is told


def adapted(name, ret, trial, again) -> Adapted:
    return Adapted(
        scenario=name,
        ret=np.array(ret, float),
        tried=np.arange(len(trial)),
        trial_ret=np.array(trial, float),
        chosen=0,
        again=np.array(again, float),
    )


def small_study():
    """Two methods, two seeds, two damages, all returns written down here."""
    ursa = [
        [("undamaged", [9, 8, 7], [9, 8], [8, 8]), ("a", [5, 6, 9], [5, 6], [6, 4]),
         ("b", [1, 1, 1], [1, 0], [1, 1])],
        [("undamaged", [9, 8, 7], [9, 8], [4, 4]), ("a", [5, 6, 7], [5, 6], [7, 7]),
         ("b", [1, 1, 1], [1, 0], [-1, 1])],
    ]  # fmt: skip
    dream = [
        [("undamaged", [4], [4, 4], [4, 4]), ("a", [5], [5, 7], [5.5, 5.5]),
         ("b", [2], [2, 2], [2, 2])],
        [("undamaged", [4], [4, 4], [4, 4]), ("a", [5], [5, 7], [6, 6]),
         ("b", [2], [2, 2], [2, 2])],
    ]  # fmt: skip
    return grouped(
        [
            replace(made(method, seed, rollouts=16), damages=tuple(adapted(*it) for it in seeds))
            for method, both in (("ursa", ursa), ("daydreamer", dream))
            for seed, seeds in enumerate(both)
        ]
    )


def test_damages_are_won_by_the_median_of_fresh_rollouts():
    found = rows(damages(coping.coping(small_study())))
    assert found["a"]["URSA + ITE"] == Summary(2, 6.0, 5.5, 6.5)  # seeds 5 and 7
    assert found["a"]["DayDreamer"] == Summary(2, 5.75, 5.625, 5.875)
    assert found["a"]["best"] == "URSA + ITE"
    assert found["b"]["best"] == "DayDreamer"


def test_trials_and_oracle_are_shown_beside_it():
    found = rows(trials(coping.coping(small_study())))
    assert found["a"]["URSA + ITE, best"].middle == 6.0
    assert found["a"]["URSA, oracle"].middle == 8.0
    assert found["a"]["DayDreamer, mean"].middle == 6.0
    assert found["a"]["DayDreamer, best"].middle == 7.0


def test_robustness_sums_up_all_damages():
    found = rows(robustness(coping.coping(small_study())))
    assert found["area under the CCDF of medians"] == {"URSA + ITE": "3.25", "DayDreamer": "3.88"}
    assert found["damages won, of 2"] == {"URSA + ITE": "1", "DayDreamer": "1"}
    # Left of 8 and of 4: (5 + 1) / 2 / 8 and (7 + 0) / 2 / 4.
    left = found["left of the undamaged return, median damage"]["URSA + ITE"]
    assert left.middle == pytest.approx((3 / 8 + 3.5 / 4) / 2)
    # a: 5 and 7 against 5.5 and 6: 2 of 4; b: 1 and 0 against 2 and 2: none.
    beats = found["probability that a seed beats one of DayDreamer"]
    assert beats == {"URSA + ITE": "0.25", "DayDreamer": None}


def test_a_return_of_nothing_leaves_no_share():
    groups = small_study()
    groups[0].seeds[0].damages[0].again[:] = -1.0
    found = rows(robustness(coping.coping(groups)))
    assert found["left of the undamaged return, median damage"]["URSA + ITE"] == "undefined"


def test_the_overview_uses_the_shared_definitions():
    found = made(rollouts=8)
    tried = replace(
        found.skills,
        ret=np.arange(8.0),
        unsafe=np.array([0, 0, 0, 0, 0, 0, 0.004, 0]),
        hand=np.arange(8) == 7,
        speed=np.array([0.1, 0.09, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]),
        airborne=np.array([0.2, 0.21, 0, 0, 0, 0, 0, 0]),
        feature=found.skills.z + np.array([[0.3, 0.4]]) * (np.arange(8) >= 6)[:, None],
    )
    table = rows(overview(grouped([replace(found, skills=tried, ruler=np.eye(2), delta=0.49)])))
    told = {name: cells["URSA (n = 1)"] for name, cells in table.items()}
    assert told["return, median skill"] == Summary(1, 3.5, None, None)
    assert told["safe rollouts"].middle == 6 / 8
    assert told["moving skills"].middle == 5 / 8
    assert told["leaps"].middle == 1 / 8
    assert told["unsafe share of steps"].middle == 0.0005
    assert told["achieved skills"].middle == 6 / 8


def test_a_baseline_has_no_skills_to_miss():
    table = rows(overview(grouped(study(1, rollouts=ROLLOUTS))))
    assert table["achieved skills"]["DOMiNiC (n = 1)"] is None
    assert isinstance(table["coverage of URSA over this one"]["DOMiNiC (n = 1)"], str)


def test_everything_is_written_and_told(tmp_path, capsys):
    paths = written(tmp_path, study(2, rollouts=ROLLOUTS))
    out = tmp_path / "out"
    assert compare(tuple(paths), out=out, figure=("ccdf", "training")) == 0
    said = capsys.readouterr().out
    assert "URSA + ITE" in said
    assert sorted(it.name for it in out.iterdir()) == [
        "ccdf.json", "ccdf.pdf", "ccdf.png", "tables.json", "tables.md", "tables.txt",
        "training.json", "training.pdf", "training.png",
    ]  # fmt: skip
    text = (out / "tables.txt").read_text()
    assert said.startswith(text.rstrip("\n"))
    kept = json.loads((out / "tables.json").read_text())
    assert set(kept) == {"overview", "damages", "trials", "robustness"}
    assert kept["damages"]["rows"]["FR"]["DOMiNiC"]["n"] == 2


def test_nan_is_told_where_it_was_and_spoils_only_what_it_touches(tmp_path, capsys):
    found = study(2, rollouts=ROLLOUTS)
    found[1].skills.ret[7] = np.nan
    found[3].damages[2].again[0] = np.nan
    paths = written(tmp_path, found)
    assert compare(tuple(paths), out=tmp_path / "out", figure=("coverage",)) == INCOMPLETE
    said = capsys.readouterr().out
    assert "a1-forward-ursa, seed 1: returns: 1 of 16 not finite, the first at [7]" in said
    assert (
        "a1-forward-dominic, seed 1, FL.upper: 1 of 5 returns of fresh rollouts are not finite"
        in said
    )
    kept = json.loads((tmp_path / "out" / "tables.json").read_text())
    overall, hurt = kept["overview"]["rows"], kept["damages"]["rows"]
    assert overall["return, median skill"]["URSA (n = 2)"] == "NaN"
    assert overall["return, median skill"]["DOMiNiC (n = 2)"]["n"] == 2
    assert hurt["FL.upper"]["DOMiNiC"] == "NaN"
    assert hurt["FL.upper"]["best"] == "nobody"
    assert hurt["FR.upper"]["DOMiNiC"]["n"] == 2


def test_a_single_seed_is_announced(tmp_path):
    made_of = compared(grouped(study(1, rollouts=16)), tmp_path, ["ccdf"])
    assert "one seed has no interval: URSA, DOMiNiC, DayDreamer (--one-seed" in told(made_of)


def test_a_robot_without_legs_is_compared_by_what_it_has(tmp_path):
    point = with_source(made(rollouts=16), robot="point", task="point")
    made_of = compared(grouped([replace(point, damages=())]), tmp_path, ["angles", "training"])
    assert made_of.gallery.absent == ("angles",)
    assert [it.name for it in made_of.tables] == ["overview"]


def test_a_file_is_not_a_folder_for_results(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(UserError, match="is a file"):
        compared(grouped([made(rollouts=16)]), tmp_path / "out")
