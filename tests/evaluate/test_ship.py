"""Agents that ship: made from a run and its results, loaded by name, refused if anything is off."""

import json
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from evaluate.born import born
from evaluate.made import made, there
from runs import A1, quickly
from ursa import cli
from ursa.config import ForwardConfig
from ursa.errors import UserError
from ursa.evaluate import judged, results
from ursa.evaluate.card import THROUGH, _choices, _overlap, card
from ursa.evaluate.recard import again, recard
from ursa.evaluate.ship import ship
from ursa.evaluate.skills import chosen, promised
from ursa.evaluate.statistics import short
from ursa.presets import preset
from ursa.run import pretrained
from ursa.run.agent import Agent

ROOT = Path(__file__).parents[2]
TWO = replace(A1, seed=3, seeds=2)
KNOWN = 40
NAME = "a1-forward"


def measured(run, seeds=(3, 4), **changes):
    """Results as an evaluation of these agents would have left them."""
    (run / "results").mkdir(exist_ok=True)
    for seed in seeds:
        config = Agent.load(run, seed).config
        found = made("ursa", seed, rollouts=16)
        own = {"seed": seed, "steps": config.train.steps} | changes
        found = replace(found, config=results.settings(config), source=replace(found.source, **own))
        results.save(found, run / "results" / f"seed_{seed}.json")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with quickly():
        out = born(TWO, tmp_path_factory.mktemp("born") / "run", known=KNOWN)
        (out / "config.json").write_bytes((out / "agent" / "config.json").read_bytes())
        measured(out)
        yield out


@pytest.fixture(scope="module")
def shipped(run, tmp_path_factory):
    home = tmp_path_factory.mktemp("package") / "pretrained"
    assert ship(run, NAME, seed=4, home=home) == 0
    return home


@pytest.fixture
def home(shipped, tmp_path, monkeypatch):
    """A copy of the package's shelf that a test may spoil."""
    place = tmp_path / "pretrained"
    shutil.copytree(shipped, place)
    monkeypatch.setattr(pretrained, "HOME", place)
    monkeypatch.chdir(tmp_path)
    return place


def test_by_its_name_it_is_the_agent_of_the_run_to_16_bits(run, home):
    mine, theirs = Agent.load(NAME), Agent.load(run, 4)
    assert (mine.seed, mine.steps) == (4, TWO.train.steps)
    assert mine.config == replace(TWO, seed=4, seeds=1)
    np.testing.assert_array_equal(mine.skills, theirs.skills)
    posture = np.asarray(theirs.repertoire.posture[:5])
    np.testing.assert_allclose(mine.feature(posture), theirs.feature(posture), atol=0.05)
    seen = theirs.arena().start().observation
    one, other = (it.act(seen, it.skills[:1]) for it in (mine, theirs))
    assert 0 < np.abs(one - other).max() < 0.05  # bfloat16 keeps 8 bits of a number


def test_what_the_critics_promised_of_every_skill_comes_with_it_whole(run, home):
    mine, theirs = Agent.load(NAME), Agent.load(run, 4)
    z = chosen(mine, 12)
    np.testing.assert_allclose(promised(mine, z), promised(theirs, z), rtol=1e-5)
    with pytest.raises(UserError, match="a shipped agent has no critics"):
        mine.value(mine.arena().start().observation, z[:1])
    with pytest.raises(UserError, match="1 of 2 skills are not in the repertoire"):
        promised(mine, np.stack([z[0], z[0] + 1]))


def test_no_critic_and_nothing_for_learning_is_in_the_file(home):
    with safetensors.safe_open(home / NAME / "seed_4" / "agent.safetensors", "np") as file:
        names = set(file.keys())
        kinds = {file.get_slice(name).get_dtype() for name in names} - {"I32"}
    parts = {name.split("'")[1] for name in names}
    assert parts == {"encoder", "rssm", "actor", "feature", "promised"}
    assert kinds == {"U16", "F64"}


def test_the_card_is_filled_from_the_results(run, home):
    text = (home / NAME / "card.md").read_text()
    own = results.load(run / "results" / "seed_4.json").skills
    assert "| robot | a1 |" in text
    assert "r = r_upr + 1[r_upr > 0.7] (5 r_velx" in text
    assert "c = 0.7 - r_upr; safe where c is at most 0 |" in text
    share = [
        judged.achieved(results.load(run / "results" / f"seed_{seed}.json")).mean()
        for seed in (3, 4)
    ]
    place = 2 if share[0] > share[1] else 1
    said = f"this is seed 4 of 3, 4; by the share of achieved skills number {place} of 2"
    assert said in text
    assert "measured before they were cut to 16 bits" in text
    assert f"| power, W, median | {np.median(own.power):.1f} |" in text
    assert "## Limits" in text
    assert "Apache-2.0" in text
    assert text.count("| return after eight trials, ") == 10  # undamaged and nine damages


def test_the_card_of_velocity_skills_tells_how_commands_are_followed(run):
    found = made("ursa", 3, task="velocity", rollouts=16)
    assert found.tracking is not None
    near, off = found.tracking.reachable, found.tracking.late - found.tracking.command[:, None]
    off = np.abs(off).mean(axis=1)  # of a command, over its rollouts
    text = card(NAME, Agent.load(run, 3), found, [found], exact=True)
    assert f"| commands of a grid near a skill, share | {short(near.mean())} |" in text
    assert f"| error there, median, m/s | {short(np.median(off[near, 0]))} |" in text
    nowhere = replace(found.tracking, reachable=np.zeros_like(near))
    lost = replace(found, tracking=nowhere)
    assert "error there" not in card(NAME, Agent.load(run, 3), lost, [lost], exact=True)


def test_the_card_says_all_where_no_joint_is_named_and_else_which(run):
    agent = Agent.load(run, 3)
    found = made("ursa", 3, rollouts=16)
    line = "desired_speed 0.3, joints {} |"
    assert line.format("all") in card(NAME, agent, found, [found], exact=True)
    assert _choices(ForwardConfig(joints=("FR.hip", "FL.hip"))).endswith("joints FR.hip FL.hip")


def test_the_card_warns_of_legs_that_overlap_where_there_are_some_and_they_can():
    a1 = preset("tiny", robot="a1")
    assert _overlap(a1) == (THROUGH,)
    assert _overlap(replace(a1, engine="pybullet")) == (THROUGH,)
    assert _overlap(replace(a1, engine="solid")) == ()
    assert _overlap(replace(a1, robot="point", task="point")) == ()


def test_the_card_tells_what_is_left_in_other_physics(run, home, tmp_path):
    """Seed 4 keeps 0.9 of its return at 2 ms, seed 3 keeps 0.5; PyBullet met seed 3 alone."""
    beside = tmp_path / "results" / "forward-ursa"
    shutil.copytree(run / "results", beside)
    for physics, shares in (("2ms", {3: 0.5, 4: 0.9}), ("pybullet", {3: 0.7})):
        place = beside.with_name(f"forward-ursa-{physics}")
        place.mkdir()
        for seed, share in shares.items():
            found = results.load(beside / f"seed_{seed}.json")
            less = replace(found.skills, ret=share * found.skills.ret)
            moved = there(replace(found, skills=less), physics)
            results.save(moved, place / f"seed_{seed}.json")
    ship(run, "a1-both", seed=4, results=beside, home=home)
    ship(run, "a1-third", seed=3, results=beside, home=home)
    both, third = ((home / it / "card.md").read_text() for it in ("a1-both", "a1-third"))
    fine = "| median return at 2 ms physics over that at 5 ms |"
    assert f"{fine} 0.900 | 0.500 and 0.900 |" in both
    assert "PyBullet" not in both
    assert "over that in MuJoCo (1 of 2 seeds) | 0.700 | 0.700 (n = 1) |" in third


def test_a_card_made_anew_is_sealed_and_says_what_results_say_now(run, home, tmp_path, capsys):
    beside = tmp_path / "results" / "forward-ursa"
    shutil.copytree(run / "results", beside)
    before = (home / NAME / "card.md").read_text()
    assert again(NAME, beside) == before
    found = results.load(beside / "seed_4.json")
    stronger = replace(found.skills, power=np.full(16, 77.0))
    results.save(replace(found, skills=stronger), beside / "seed_4.json")
    assert recard(NAME, beside) == 0
    assert "| power, W, median | 77.0 |" in (home / NAME / "card.md").read_text()
    assert pretrained.find(NAME)  # its manifest knows the new card
    (beside / "seed_4.json").unlink()
    with pytest.raises(UserError, match="holds no results of a1-forward, seed 4 of its run"):
        recard(NAME, beside)


SPOILT = {
    "a flipped bit": ("seed_4/agent.safetensors", lambda data: data[:-1] + bytes([data[-1] ^ 1])),
    "a shorter file": ("seed_4/repertoire.npz", lambda data: data[:-1]),
    "other settings": ("config.json", lambda data: data.replace(b'"window": 3', b'"window": 4')),
}


@pytest.mark.parametrize("case", SPOILT)
def test_a_file_that_is_not_what_was_shipped_is_refused(home, case):
    file, spoil = SPOILT[case]
    path = home / NAME / file
    before = path.read_bytes()
    path.write_bytes(spoil(before))
    assert path.read_bytes() != before
    with pytest.raises(UserError, match=rf'agent "{NAME}" is damaged \({path.name} has .*install'):
        Agent.load(NAME)


def test_a_file_that_nobody_sealed_is_refused(home):
    shutil.copytree(home / NAME / "seed_4", home / NAME / "seed_5")
    with pytest.raises(UserError, match=r"seed_5/agent.safetensors, .* not in its manifest"):
        pretrained.find(NAME)


def test_a_hash_does_not_excuse_a_format_that_nobody_reads(home):
    place = home / NAME
    path = place / "seed_4" / "agent.safetensors"
    arrays = safetensors.numpy.load(path.read_bytes())
    path.write_bytes(safetensors.numpy.save(arrays, {"name": "ursa-agent", "version": "9"}))
    from ursa.durable import describe

    told = json.loads((place / "manifest.json").read_text())
    told["files"]["seed_4/agent.safetensors"] = describe(path.read_bytes())
    (place / "manifest.json").write_text(json.dumps(told))
    with pytest.raises(UserError, match="has format ursa-agent 9; this version of ursa reads"):
        Agent.load(NAME)


def test_an_unknown_name_lists_the_known_ones(home, capsys):
    assert cli.main(["adapt", "--pretrained", "a1-foward", "--damage", "FL"]) == 2
    said = capsys.readouterr().err
    assert 'unknown pretrained agent "a1-foward": valid are a1-forward; did you mean' in said
    assert cli.main(["look", "../a1-forward"]) == 2
    assert "once it has saved, or a1-forward" in capsys.readouterr().err
    for words in (["look"], ["evaluate", "--quiet"]):
        assert cli.main(words) == 2
        assert "Give the folder of a run, or --pretrained NAME (a1-forward)" in (
            capsys.readouterr().err
        )
    assert cli.main(["look", "somewhere", "--pretrained", NAME]) == 2
    assert "give one of them" in capsys.readouterr().err


def test_where_none_ships_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "HOME", tmp_path / "nothing")
    assert pretrained.names() == []
    with pytest.raises(UserError, match="this version of ursa ships none; train one"):
        pretrained.find(NAME)


def test_a_folder_of_that_name_comes_first(run, home, tmp_path):
    shutil.copytree(run, tmp_path / NAME)
    assert Agent.load(NAME).config.seeds == 2


def test_results_of_another_agent_make_no_card(run, home, tmp_path):
    other = shutil.copytree(run, tmp_path / "other")
    measured(other, steps=17)
    with pytest.raises(UserError, match="seed 3 are those of another agent"):
        ship(other, "new", home=home)
    (other / "results" / "seed_3.json").unlink()
    with pytest.raises(UserError, match="seed 3 was not evaluated, only 4"):
        ship(other, "new", home=home)
    assert not list(home.glob("*new*"))


def test_what_is_too_large_for_a_clone_stays_at_home(run, home, monkeypatch):
    size = sum(it.stat().st_size for it in (home / NAME).rglob("*") if it.is_file())
    monkeypatch.setattr(pretrained, "LARGEST", size // 2)
    with pytest.raises(UserError, match=r"at most .* are shipped"):
        ship(run, "large", home=home)
    assert sorted(it.name for it in home.iterdir()) == [NAME]


def test_what_ships_is_whole_small_and_has_a_card():
    for place in sorted(pretrained.HOME.glob("*/")):
        assert pretrained.find(place.name) == place
        assert sum(it.stat().st_size for it in place.rglob("*")) <= pretrained.LARGEST
        assert (place / pretrained.CARD).read_text().startswith(f"# {place.name}\n")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_git_and_so_the_wheel_keep_what_ships_though_they_drop_other_weights():
    inside = "src/ursa/pretrained/a1-forward/seed_0/agent.safetensors"
    for path, dropped in ((inside, 1), ("agent.safetensors", 0)):
        done = subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT)
        assert done.returncode == dropped, path
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert told["targets"]["wheel"]["artifacts"] == ["src/ursa/pretrained/**"]


def test_names_are_plain_words(run, home):
    for bad in ("A1", "../a1", "a1_forward", "", "-a"):
        with pytest.raises(UserError, match="want small letters"):
            ship(run, bad, home=home)
