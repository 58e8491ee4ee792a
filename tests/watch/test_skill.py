"""`ursa watch` of an agent: one skill of a run, as the agent itself acts."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from evaluate.born import born
from runs import A1, POINT, quickly
from ursa.cli import main
from ursa.robot.damage import parse
from ursa.run.agent import Agent
from ursa.show.render import Studio
from ursa.show.watch import play, summary
from ursa.watch import skill
from ursa.watch.skill import learnt, title

STEPS, NEVER = 20, 10**6
SIZE = {"width": 96, "height": 72}
SMALL = ("--width", "96", "--height", "72", "--seconds", "1")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with quickly():
        yield born(A1, tmp_path_factory.mktemp("watch") / "some run")


@pytest.fixture(scope="module")
def daydreamer(run):
    return born(replace(A1, method="daydreamer", seeds=2), run.parent / "daydreamer")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_hand(agent, z, steps=STEPS):
    """What the robot reads, at rest and after each step, where the agent acts with this skill."""
    place = agent.arena()
    agent.reset()
    outcome = place.start()
    readings = [outcome.reading]
    for _ in range(steps):
        outcome = place.step(agent.act(outcome.observation, z))
        readings.append(outcome.reading)
    place.close()
    return readings


def played(role, damages=(), broken=NEVER):
    return list(play(role, STEPS, damages, broken))


def angles(readings):
    return np.stack([it.joint_angle[0] for it in readings])


def test_the_skill_of_that_number_is_drawn_as_the_agent_acts(run, drawing, here, capsys):
    words = ["--skill", "12", "--frames", "1", "--plain", "--out", "it.png", *SMALL]
    assert main(["watch", str(run), *words]) == 0
    agent = Agent.load(run)
    mine, other = (by_hand(agent, agent.skills[[number]]) for number in (12, 13))
    with Studio(agent.arena().body.spec, **SIZE, smooth=True) as studio:
        wanted, unwanted = (studio.picture(it[-1]) for it in (mine, other))
    drawn = np.asarray(Image.open(here / "it.png"))
    np.testing.assert_array_equal(drawn, wanted)
    assert (drawn != unwanted).any()
    assert capsys.readouterr().out == f"{summary(mine)}\n-> it.png\n"


def test_without_a_number_it_is_the_skill_that_promises_most(run, monkeypatch):
    monkeypatch.setattr(skill, "promised", lambda agent, skills: -np.abs(skills - skills[7]).sum(1))
    assert learnt(run, None, None, None).name == "some run skill 7"


def test_damage_happens_at_its_time_and_not_before(run):
    role = learnt(run, None, None, 12)
    sound, broken = played(role), played(role, parse("FL:limp", role.spec), 10)
    same = [(a == b).all() for a, b in zip(angles(sound), angles(broken), strict=True)]
    assert same == [True] * 11 + [False] * 10  # rest and ten steps, then without that leg
    assert all((it.torque[0, 3:6] == 0).all() for it in broken[11:])


def test_a_baseline_is_drawn_too_and_its_seed_counts(daydreamer, drawing, here, capsys):
    assert main(["watch", str(daydreamer), "--seed", "1", "--out", "it.gif", *SMALL]) == 0
    first, second = (Agent.load(daydreamer, seed) for seed in (0, 1))
    mine = by_hand(second, second.skills)
    assert capsys.readouterr().out == f"{summary(mine)}\n-> it.gif\n"
    assert (angles(mine)[-1] != angles(by_hand(first, first.skills))[-1]).any()
    with Image.open(here / "it.gif") as gif:
        assert gif.n_frames == STEPS + 1


def test_skills_of_a_baseline_are_counted_as_its_method_counts_them(run):
    out = born(replace(A1, method="dominic"), run.parent / "dominic")
    agent = Agent.load(out)
    third = np.eye(len(agent.skills))[[2]]
    mine = angles(played(learnt(out, None, None, 2)))
    np.testing.assert_array_equal(mine, angles(by_hand(agent, third)))
    assert learnt(out, None, None, None).name.startswith("dominic skill ")  # the best of them


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--skill", "40"), "skill = 40, want 0 to 39; leave out --skill for the best one"),
        (("--skill", "-1"), "skill = -1, want 0 to 39"),
        (("--script", "trot"), 'script = "trot" beside the agent'),
        (("--robot", "go2"), 'robot = "go2" beside the agent'),
        (("--pretrained", "a1-forward"), "--pretrained a1-forward: give one of them"),
        (("--seed", "7"), "unknown seed of"),
        (("--engine", "gazebo"), 'unknown engine "gazebo"'),
    ],
    ids=lambda it: " ".join(it) if isinstance(it, tuple) else "",
)
def test_what_makes_no_sense_is_refused_in_one_line(run, drawing, here, capsys, words, message):
    assert main(["watch", str(run), *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ursa: ")
    assert said.count("\n") == 1
    assert message in said
    assert list(here.iterdir()) == []


def test_other_agents_are_refused_where_there_is_nothing_to_see(daydreamer, drawing, here, capsys):
    blank = born(A1, here / "blank", known=0)
    point = born(POINT, here / "point")
    for words, message in (
        ((str(daydreamer), "--skill", "1"), "skill = 1, want 0, the only one"),
        ((str(blank),), "this agent has discovered no skill yet; train it further"),
        ((str(point), "--skill", "0"), "point has no legs"),
        ((str(here),), "holds no agent"),
        (("--skill", "3"), "skill = 3, but a script has no skills"),
    ):
        assert main(["watch", *words]) == 2
        assert message in capsys.readouterr().err
    assert not (here / "watch.png").exists()


@pytest.mark.parametrize(
    ("told", "tick"),
    [
        ({}, None),
        ({"tick": 0.002}, 0.002),
        ({"engine": "mujoco"}, None),
        ({"engine": "pybullet"}, 0.002),  # its own
    ],
)
def test_physics_is_that_of_the_training_unless_told_otherwise(run, told, tick):
    if told.get("engine") == "pybullet":
        pytest.importorskip("pybullet", reason="PyBullet is not installed: make setup")
    body, _ = learnt(run, None, None, 0, **told).enter()
    assert body.engine.tick == (tick or Agent.load(run).config.tick)
    body.close()


def test_a_caption_names_the_folder_of_the_run(run, daydreamer):
    assert title(run / "agent", Agent.load(run)) == "some run"
    assert title(daydreamer, Agent.load(daydreamer, 1)) == "daydreamer seed 1"


def test_a_script_needs_no_jax():
    program = "import sys, ursa.watch.command; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_the_help_teaches_skills(capsys):
    with pytest.raises(SystemExit):
        main(["watch", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for words in ("ursa watch outputs/a1 --skill 12", "promises most", "--pretrained", "dominic"):
        assert words in said
