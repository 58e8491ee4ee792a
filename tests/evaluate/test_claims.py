"""The claims table: numbers worked out by hand, and what is said where there are none."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluate.claimed import ROWS, at, hurt, one, put, ramp, seed_of
from evaluate.made import SPEC, made
from ursa.errors import UserError
from ursa.evaluate import claims_table, results, tables
from ursa.evaluate.claim import KINDS, TITLES, Told, at_least
from ursa.evaluate.claims import CLAIMS, filled
from ursa.evaluate.claims_table import END, INTERVALS, START, inserted, markdown
from ursa.evaluate.evidence import Found
from ursa.evaluate.group import grouped
from ursa.evaluate.question import needed
from ursa.evaluate.told import told as printed
from ursa.live.train_command import parse as parse_robot

ROOT = Path(__file__).parents[2]


def test_each_seed_counts_once_and_the_middle_one_is_told(tmp_path):
    put(tmp_path, *(seed_of("ursa", k, speed=ramp(top)) for k, top in enumerate((0.2, 0.5, 0.4))))
    told = one(tmp_path, "fastest safe skill")
    # A median of three draws is 0.2 in 7 of 27 cases and 0.5 in as many: the interval is the range.
    assert told.ours == "0.400 [0.200, 0.500] (n = 3)"
    assert told.verdict == "yes"


def test_a_fooled_estimate_shows_as_return_that_nobody_ran_for(tmp_path):
    ret, speed = np.full(ROWS, 500.0), np.full(ROWS, 0.3)
    ret[:2], speed[:2] = 1000.0, 0.0  # two of sixteen: 750 each beyond what standing earns
    put(tmp_path, seed_of("dominic", 0, ret=ret, speed=speed))
    told = one(tmp_path, "share of DOMiNiC's return")
    assert told.found.middle == pytest.approx(1500 / 9000)
    assert one(tmp_path, "share of URSA's return").ours == "not run"


def test_a_fast_fall_is_no_skill(tmp_path):
    unsafe = np.zeros(ROWS)
    unsafe[-1] = 0.004  # one step of 250
    put(tmp_path, seed_of("ursa", 0, speed=ramp(0.3), unsafe=unsafe))
    told = one(tmp_path, "fastest safe skill")
    assert told.found.middle == pytest.approx(0.3 * 14 / 15, abs=1e-6)
    assert told.ours == "0.280 (n = 1)"
    assert told.verdict == "no"
    assert one(tmp_path, "skills with a safe rollout").found.middle == 15 / 16


@pytest.mark.parametrize(
    ("shares", "times", "met"), [((0.1, 0.3, 0.5, 0.7), 4, "yes"), ((0.1, 0.3, 0.5), 3, "no")]
)
def test_coverage_is_told_in_times_that_of_a_baseline(tmp_path, shares, times, met):
    going = np.full(ROWS, 0.2)
    put(tmp_path, *(seed_of("ursa", k, joint_angle=at(*shares), speed=going) for k in range(2)))
    put(tmp_path, *(seed_of("dominic", k, joint_angle=at(0.5), speed=going) for k in range(2)))
    for text in ("coverage over DOMiNiC's", "the same, moving skills only, DOMiNiC"):
        told = one(tmp_path, text)
        assert told.found.middle == pytest.approx(times)
        assert (told.found.low, told.found.high) == (told.found.middle, told.found.middle)
        assert told.verdict == met
    assert one(tmp_path, "8 skills against DOMiNiC's 8").verdict == "yes"
    assert one(tmp_path, "coverage over DayDreamer's").ours == "not run"


def test_as_the_paper_counts_a_baseline_has_no_second_try_and_a_fall_counts(tmp_path):
    fallen = {"unsafe": np.ones(ROWS)}
    # URSA: 16 rows in 4 places. DOMiNiC: 2 places in its first 8 rows, and two more that come too
    # late. DayDreamer: one row counts.
    late = np.vstack([at(0.1, 0.3)[:8], at(0.6, 0.8)[8:]])
    put(tmp_path, seed_of("ursa", 0, joint_angle=at(0.1, 0.3, 0.5, 0.7), **fallen))
    put(tmp_path, seed_of("dominic", 0, joint_angle=late))
    put(tmp_path, seed_of("daydreamer", 0, joint_angle=at(0.1, 0.3, 0.5)))
    for name, times, met in (("DOMiNiC", 2, "no"), ("DayDreamer", 4, "yes")):
        told = one(tmp_path, f"coverage over {name}'s, as the paper counts")
        assert told.found.middle == pytest.approx(times)
        assert (told.claim.paper, told.verdict) == ("4 times", met)
        assert one(tmp_path, f"coverage over {name}'s, 512 rollouts each").claim.paper == "-"


def test_a_repertoire_that_was_tried_in_part_is_said_to_be(tmp_path):
    def names(*seeds):
        return list(tables.overview(grouped(list(seeds))).rows)

    part = "coverage, every skill once, safe or not; of URSA's 4096 skills the 16 most spread out"
    assert f"{part} (paper)" in names(seed_of("dominic", 0), seed_of("ursa", 0))
    whole = seed_of("ursa", 0)
    whole.config["skill"]["repertoire_size"] = ROWS
    for seeds in ((whole,), (seed_of("dominic", 0),)):
        assert "coverage, every skill once, safe or not (paper)" in names(*seeds)


def test_a_share_of_nothing_is_undefined_not_infinite(tmp_path):
    put(tmp_path, seed_of("ursa", 0, speed=np.full(ROWS, 0.2)))
    put(tmp_path, seed_of("dominic", 0, speed=np.zeros(ROWS)))
    told = one(tmp_path, "the same, moving skills only, DOMiNiC")
    assert told.ours.startswith("undefined: ")
    assert told.verdict == "-"


def test_damages_are_won_by_the_median_of_fresh_rollouts_and_ties_by_nobody(tmp_path):
    ours = [9, 10, 10, 10, 10, 10, 5, 1, 1, 1]  # whole, then nine damages: five are won, one tied
    put(tmp_path, hurt(seed_of("ursa", 0), ours))
    put(tmp_path, hurt(seed_of("dominic", 0), [9, *[5] * 9]))
    put(tmp_path, hurt(seed_of("daydreamer", 0), [10, *[4] * 9]))
    ahead = one(tmp_path, "damages in which URSA + ITE is ahead")
    assert (ahead.found.middle, ahead.verdict) == (5, "yes")
    assert ahead.claim.target == "at least 5 (aim: 8)"
    area = one(tmp_path, "area under the CCDF")
    assert area.found.middle == pytest.approx((58 / 9) / 5)
    whole = one(tmp_path, "undamaged return")
    assert (whole.found.middle, whole.verdict) == (pytest.approx(0.9), "no")


def test_as_the_paper_counts_the_best_trial_decides_and_of_one_skill_their_mean(tmp_path):
    def tried(method, first, second):
        """The first trial of every damage, and the seven that follow."""
        found = hurt(seed_of(method, 0), [1.0] * 10)  # fresh rollouts are the same for everybody
        trials = np.array([first, *[second] * 7], float)
        return replace(found, damages=tuple(replace(it, trial_ret=trials) for it in found.damages))

    name = "the same, as the paper counts: best of the eight trials"
    put(tmp_path, tried("ursa", 5, 1))
    put(tmp_path, tried("dominic", 4, 4))
    put(tmp_path, tried("daydreamer", 8, 0))  # best 8, but 1 on average
    assert one(tmp_path, name).found.middle == 9
    assert one(tmp_path, "damages in which URSA + ITE is ahead").found.middle == 0
    put(tmp_path, tried("daydreamer", 8, 5))
    assert one(tmp_path, name).found.middle == 0


def test_velocities_span_what_was_done_and_miss_what_was_asked(tmp_path):
    found = seed_of("ursa", 0, task="velocity", speed=ramp(1.0), yaw_rate=ramp(2.0))
    tracked = found.tracking
    late = tracked.command[:, None] + np.array([0.05, -0.3])
    late = np.repeat(late, 3, axis=1)
    put(tmp_path, replace(found, tracking=replace(tracked, late=late, whole=late)))
    spans = [one(tmp_path, f"span in {it}").found.middle for it in ("forward", "yaw")]
    np.testing.assert_allclose(spans, [0.9, 1.8], rtol=1e-5)  # the middle 90 % of an even ramp
    near, far = one(tmp_path, "tracking error, m/s"), one(tmp_path, "tracking error, rad/s")
    assert near.found.middle == pytest.approx(0.05, abs=1e-5)
    assert far.found.middle == pytest.approx(0.3, abs=1e-5)
    assert (near.verdict, far.verdict) == ("yes", "no")


def test_the_error_of_a_command_is_the_mean_over_its_rollouts(tmp_path):
    found = seed_of("ursa", 0, task="velocity")
    tracked = found.tracking
    # One of three rollouts falls: 0.05, 0.05 and 0.5 m/s are 0.2 on average, 0.05 in the middle.
    off = np.array([[0.05, 0.1], [-0.05, 0.1], [0.5, -0.4]])
    late = tracked.command[:, None] + off
    found = replace(found, tracking=replace(tracked, late=late, whole=late))
    put(tmp_path, found)
    claimed = [one(tmp_path, f"tracking error, {it}").found.middle for it in ("m/s", "rad/s")]
    np.testing.assert_allclose(claimed, [0.2, 0.2], atol=1e-5)
    table = tables.tracking(grouped([found]))
    told = [table.rows[f"{it}, the last 200 steps"][0] for it in ("speed, m/s", "yaw rate, rad/s")]
    np.testing.assert_allclose([it.middle for it in told], claimed, atol=1e-5)
    assert "median error 0.200 m/s, 0.200 rad/s" in printed(found, SPEC)


def test_the_first_skill_of_a_baseline_is_set_against_the_only_one_of_the_other(tmp_path):
    dominic = made("dominic", 0, rollouts=ROWS)
    first = dominic.skills.z[:, 0] == 1
    put(tmp_path, seed_of("dominic", 0, ret=np.where(first, 45.0, 7.0)))
    alone = seed_of("daydreamer", 0, ret=np.full(ROWS, 50.0), z=np.zeros((ROWS, 0)))
    put(tmp_path, alone)
    told = one(tmp_path, "return of DOMiNiC's skill 0")
    assert (told.found.middle, told.verdict) == (pytest.approx(0.9), "yes")


def test_hind_legs_are_counted_by_their_own_planes(tmp_path):
    hind = np.array([name.startswith("B") for name in SPEC.joint_names])
    still = np.where(hind, at(0.5), at(0.1, 0.3, 0.5, 0.7))
    whole, front = (
        seed_of("ursa", 0, joint_angle=at(0.1, 0.3)),
        seed_of("ursa", 0, joint_angle=still),
    )
    put(tmp_path, whole)
    (tmp_path / "forward-ursa-front").mkdir()
    results.save(front, tmp_path / "forward-ursa-front" / "seed_0.json")
    assert one(tmp_path, "coverage of hind legs").found.middle == pytest.approx(0.5)


def test_without_results_every_claim_says_so(tmp_path):
    told = filled(tmp_path / "nowhere")
    assert {it.ours for it in told} == {"not run"}
    assert {it.verdict for it in told} == {"-"}
    assert {it.claim.number for it in told} == set("1234567")
    assert {it.kind for it in CLAIMS} == set(KINDS)


def test_what_cannot_be_compared_is_refused(tmp_path):
    found = seed_of("ursa", 0)
    put(tmp_path, replace(found, source=replace(found.source, steps=999)))
    with pytest.raises(UserError, match="is unfinished, 999 of 1,000,000 control"):
        filled(tmp_path)
    put(tmp_path, found)
    put(tmp_path, made("dominic", 0, rollouts=8))
    with pytest.raises(UserError, match=r"cannot be compared: rollouts 16 .* and 8"):
        filled(tmp_path)
    results.save(made("dominic", 1, rollouts=ROWS), tmp_path / "forward-ursa" / "seed_1.json")
    with pytest.raises(UserError, match="mixes runs of other settings: URSA, DOMiNiC"):
        filled(tmp_path)


def test_simulated_emulated_and_real_stand_apart(tmp_path):
    put(tmp_path, seed_of("ursa", 0, speed=ramp(0.5)))
    text = markdown(filled(tmp_path))
    head, *parts = text.split("\n### ")
    assert head == f"{INTERVALS}\n\n{claims_table.score(filled(tmp_path))}\n"
    simulated, emulated, real = (part.partition("\n")[2] for part in parts)
    line = next(it for it in simulated.splitlines() if "fastest safe skill" in it)
    assert line.split(" | ")[1:] == [
        "-",
        "at least 0.3",
        "0.500 (n = 1)",
        "yes",
        "`ursa reproduce rq1 --results again`",
        "results/forward-ursa |",
    ]
    for part in (emulated, real):
        lines = [it for it in part.splitlines() if it.startswith("| ")][2:]
        assert lines
        assert all("| not run |" in it for it in lines)


def test_the_score_counts_what_was_judged_and_names_what_was_missed():
    def line(name, target, middle, number="1"):
        holds = at_least(1.0) if target else None
        found = None if middle is None else Found((1,), middle)
        claim = replace(CLAIMS[0], number=number, text=name, target=target, holds=holds)
        return Told(claim, found)

    goal = "at least 1"
    told = [line("a", goal, 2.0), line("b", goal, 0.5), line("c", "", 3.0)]
    assert claims_table.score(told) == "Of 2 targets 1 are met. Missed: b."
    assert claims_table.score([told[0], told[2]]) == "Of 1 targets 1 are met."
    more = [*told, line("d", goal, None), line("e", goal, 0.9), line("f", "", None)]
    assert claims_table.score(more) == "Of 3 targets 1 are met. Missed: b; e. Not run: d."
    many = [told[0], *(line(name, goal, None) for name in "pqrs")]
    assert claims_table.score(many) == "Of 1 targets 1 are met. Not run: 4."
    odd = [told[0], replace(told[1], found="undefined: it fell apart")]
    assert claims_table.score(odd) == (
        "Of 1 targets 1 are met. Without a number: b (undefined: it fell apart)."
    )
    bodies = [line("g", goal, 1.0, "6"), line("h", "", 1.0, "6")]
    assert claims_table.score([told[0], *bodies]) == (
        "Of 1 targets 1 are met. Of 1 targets of bodies (6) 1 are met."
    )


def test_claims_stand_in_groups_with_titles_and_the_longest_opens_on_a_click(tmp_path):
    put(tmp_path, seed_of("ursa", 0, torque=np.full(ROWS, 0.9)))
    text = markdown(filled(tmp_path))
    simulated = text.split("\n### ")[1]
    titles = [it for it in simulated.splitlines() if it.startswith("#### ")]
    assert titles == [f"#### {number}. {title}" for number, title in TITLES.items()]
    assert text.count("<details>") == text.count("</details>") == 1
    sixth = simulated.split("#### 6. ")[1].split("#### 7. ")[0]
    rows = [it for it in sixth.splitlines() if it.startswith("| ")][2:]
    # URSA's joint speed, torque and leaps have a target and were measured; all three are met.
    summed = f"{len(rows)} numbers; of 3 that have a target and were run 3 meet it"
    assert f"<details><summary>{summed}</summary>\n\n| " in sixth
    assert sixth.rstrip().endswith("|\n\n</details>")


def test_a_claim_names_a_question_that_makes_all_its_runs():
    """Its command is then the one that makes its number from the start."""
    for claim in CLAIMS:
        if claim.question:
            made_by = {run.name for run in needed((claim.question,))}
            assert set(claim.recipe.runs) <= made_by, claim.text
            assert claim.command == f"ursa reproduce {claim.question} --results again"
    emulated, real = (it.command for it in CLAIMS if not it.question)
    assert real == "with a robot: docs/robot.md"
    _, robot, measured = re.split(" & | && ", emulated)
    assert parse_robot(shlex.split(robot)[3:]).link == "udp://127.0.0.1:8007"
    assert measured == "ursa evaluate outputs/emulated --out again/emulated-ursa"


def test_the_table_replaces_what_stood_between_its_marks():
    text = f"before\n{START}\nold\n{END}\nafter\n"
    once = inserted(text, "new")
    assert once == f"before\n{START}\n\nnew\n\n{END}\nafter\n"
    assert inserted(once, "new") == once
    for bad in ("nothing", f"{END} {START}", f"{START} {START} {END}"):
        with pytest.raises(UserError, match="each once, in this order"):
            inserted(bad, "new")


def test_files_tell_the_same_as_the_table(tmp_path):
    put(tmp_path, *(seed_of("ursa", k, speed=ramp(0.5)) for k in range(2)))
    readme = tmp_path / "README.md"
    readme.write_text(f"# A title\n{START}{END}\n")
    told = filled(tmp_path)
    assert claims_table.write(told, tmp_path / "out", readme)[-1] == readme
    assert markdown(told) in readme.read_text()
    first = json.loads((tmp_path / "out" / "claims.json").read_text())[0]
    numbers = {"middle": 0.5, "low": 0.5, "high": 0.5}
    assert first["ours"] == {"seeds": [2], **numbers, "interval": "range"}
    assert first["met"] == "yes"


def test_the_numbers_of_the_readme_are_those_of_the_results():
    """What `ursa reproduce all --from-results` writes is what stands there; nobody edits it."""
    readme = (ROOT / "README.md").read_text()
    assert inserted(readme, markdown(filled(ROOT / "results"))) == readme
