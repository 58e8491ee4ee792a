"""`ursa demo`: six different skills in pictures, a broken joint, eight trials, before and after."""

import errno
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from evaluate.born import born
from runs import A1, POINT, quickly
from ursa.demo import demo, drawing, scene
from ursa.demo import stage as module
from ursa.demo.delivery import delivered
from ursa.demo.drawing import camera
from ursa.demo.label import Label, number, of_damage, of_skill
from ursa.demo.stage import middle, scouts, six, spread, table
from ursa.errors import UserError
from ursa.evaluate import rollout
from ursa.evaluate.rollout import Rollouts
from ursa.repair import play
from ursa.repair.prior import candidates, numbers, value
from ursa.robot.registry import robot
from ursa.run import pretrained
from ursa.run.agent import Agent
from ursa.show import gl

SPEC = robot("a1")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with quickly():
        yield born(A1, tmp_path_factory.mktemp("demo") / "run")


@pytest.fixture
def short(monkeypatch):
    """Rollouts of a few steps and small pictures: what they add up to is tested elsewhere."""
    for place in (rollout, play):
        monkeypatch.setattr(place, "STEPS", 30)
    for place in (rollout, scene):
        monkeypatch.setattr(place, "SETTLE", 10)
    monkeypatch.setattr(scene, "SECONDS", 0.5)
    for name, given in {"WIDTH": 64, "HEIGHT": 48}.items():
        monkeypatch.setattr(drawing, name, given)


def done(feature, speed, unsafe=None):
    """Rollouts of which only this matters."""
    count = len(speed)
    nothing = np.zeros(count)
    return Rollouts(
        ret=nothing,
        posture=np.zeros((count, 1)),
        feature=np.asarray(feature, float),
        joint_angle=np.zeros((count, 1)),
        speed=np.asarray(speed, float),
        yaw_rate=nothing,
        whole=np.zeros((count, 2)),
        unsafe=nothing if unsafe is None else np.asarray(unsafe, float),
        airborne=nothing,
        joint_speed=nothing,
        torque=nothing,
        power=nothing,
        hand=np.zeros(count, bool),
    )


def test_the_whole_show(run, short, tmp_path, capsys, monkeypatch):
    try:
        gl.backend()
    except UserError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(module, "moving", lambda: ".gif")
    out = run / "demo"  # of its own: another agent's pictures are elsewhere
    assert demo(run, damage="FL.upper") == 0
    assert sorted(it.name for it in out.iterdir()) == [
        "damage.gif",
        "damage.png",
        "skills.gif",
        "skills.png",
    ]
    from PIL import Image

    with Image.open(out / "skills.png") as strip:
        assert strip.size == (6 * 64 + 5 * 4, 3 * 48 + 2 * 4)  # six skills, three moments
    with Image.open(out / "skills.gif") as video:
        assert video.size == (3 * 64 + 2 * 4, 2 * 48 + 4)
        assert video.n_frames == 5  # half a second, a picture every second step of 50 ms
    said = capsys.readouterr().out
    assert said.count("trial ") == 8
    # The first to be tried is the one that promises most, by its row of all skills.
    agent = Agent.load(run)
    skills, rows = candidates(agent), numbers(agent)
    best = value(agent, skills).argmax()
    np.testing.assert_array_equal(agent.skills[rows[best]], skills[best])
    assert re.search(rf"trial 1 of 8: skill +{rows[best]},", said)
    assert re.search(r"before +-?\d+\.\d +-?\d\.\d\d +\d\.\d\d", said)
    assert "after FL.upper broke" in said
    assert f"-> {out / 'damage.png'}" in said


def test_a_show_that_is_interrupted_leaves_the_pictures_of_the_last_one(tmp_path):
    (tmp_path / "skills.mp4").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")

    def interrupted() -> None:
        with delivered(tmp_path) as place:
            (place / "skills.gif").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert {it.name for it in tmp_path.iterdir()} == {"skills.mp4", "notes.txt"}
    with delivered(tmp_path) as place:
        (place / "skills.gif").write_text("new")
        assert (tmp_path / "skills.mp4").read_text() == "old"
    # The old video was of the same show, in another format: it would stand beside new pictures.
    assert {it.name: it.read_text() for it in tmp_path.iterdir()} == {
        "skills.gif": "new",
        "notes.txt": "mine",
    }


def test_a_disk_that_is_full_is_told_in_a_line_and_leaves_what_was_there(tmp_path):
    (tmp_path / "skills.mp4").write_text("old")

    def full() -> None:
        with delivered(tmp_path) as place:
            (place / "skills.gif").write_text("new")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UserError, match=r"could not write pictures and videos .* No space left"):
        full()
    assert [it.name for it in tmp_path.iterdir()] == ["skills.mp4"]


def test_labels_tell_the_number_and_where_skills_are_velocities_what_was_asked_and_done():
    found = replace(done(np.zeros((2, 2)), [0.578, -0.002]), yaw_rate=np.array([0.31, -1.96]))
    z = np.array([-0.4, 2.0])
    assert of_skill(3961, z, found, 0, velocity=False) == Label("skill 3961", "0.58 m/s")
    assert of_skill(7, z, found, 1, velocity=True) == Label(
        "skill 7", f"{number(-0.4)} → +0.00 m/s\n+2.0 → {number(-2.0, 1)} rad/s"
    )
    assert number(-0.4) == "\N{MINUS SIGN}0.40"
    assert number(-0.001) == "0.00"


def test_labels_of_damage_tell_what_is_broken_and_what_comes_of_it():
    found = replace(done(np.zeros((1, 2)), [0.07]), ret=np.array([299.4]))
    what = "front right and hind left legs frozen"
    assert of_damage(what, "old skill 12", "0.07 m/s", found, 0) == Label(
        "front right and hind\nleft legs frozen\nold skill 12", "return 299\n0.07 m/s"
    )


def test_the_rollout_that_is_drawn_is_the_one_in_the_middle():
    ret = np.array([9.0, 9, 9, 9, 9, 4, 1, 3, 5, 2])
    assert ret[middle(ret, 5)] == 3
    assert middle(ret, 5) == 7


def test_rows_are_taken_farthest_first():
    line = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    every = np.ones(5, bool)
    # Their mean is 4.8: row 4 is farthest out, then 0 from it, then 3 or 2, whichever is 2 away.
    assert spread(line, every, 3) == [4, 0, 2]
    assert spread(line, every, 9, taken=[1]) == [1, 4, 0, 2, 3]
    assert spread(line, np.array([True, True, False, False, False]), 3) == [0, 1]
    assert spread(line, ~every, 2) == []


def test_those_shown_are_safe_differ_and_two_thirds_of_them_move(run):
    agent = Agent.load(run)
    inverse = np.linalg.inv(np.asarray(agent.repertoire.ruler, float))
    flat = np.column_stack([np.arange(12.0), np.zeros(12)])
    speed = np.array([0.3, 0.3, 0.4, 0.5, *[0.0] * 8])
    unsafe = np.array([*[0.0] * 11, 0.5])
    found = six(agent, done(flat @ inverse.T, speed, unsafe))
    assert len(set(found)) == 6
    assert 11 not in found  # the one that falls
    assert {0, 1, 2, 3} <= set(found)  # those that move
    assert sum(speed[row] > 0 for row in found) == 4
    # Where nothing moves, six still ones are shown; where everything falls, six that fall.
    assert len(six(agent, done(flat, np.zeros(12)))) == 6
    assert len(six(agent, done(flat, speed, np.ones(12)))) == 6


def test_half_of_the_scouts_promise_much(run, monkeypatch):
    monkeypatch.setattr(module, "SCOUTS", 8)
    monkeypatch.setattr(module, "BEST", 6)
    agent = Agent.load(run)
    skills = agent.skills.astype(float)
    rows = scouts(agent, skills, np.arange(float(len(skills))))
    assert len(set(rows)) == len(rows) == 8
    assert all(row >= len(skills) - 6 for row in rows[4:])


def test_the_table_is_made_of_medians():
    ret = np.repeat([900.0, 300.0, 700.0], 5)
    ret[:5] += (-50, -1, 0, 1, 999)
    found = replace(done(np.zeros((15, 2)), np.repeat([0.5, 0.1, 0.4], 5)), ret=ret)
    lines = [line.split() for line in table("FL", found).splitlines()[1:]]
    assert lines == [
        ["before", "900.0", "0.50", "0.00"],
        ["after", "FL", "broke", "300.0", "0.10", "0.00"],
        ["after", "8", "trials", "700.0", "0.40", "0.00"],
    ]
    assert "hardly" not in table("FL", found)
    last = table("FL", found, 5, same=True).splitlines()[-1]
    assert last == "the old skill is still the best of the 5 tried: it stays"


def test_a_damage_that_hardly_matters_is_said_to():
    found = done(np.zeros((15, 2)), np.zeros(15))
    last = table("BL", replace(found, ret=np.repeat([907.0, 855.0, 880.0], 5))).splitlines()[-1]
    assert last.startswith(
        "BL hardly matters for this agent: its old skill keeps 94% of its return"
    )
    negative = replace(found, ret=np.repeat([-9.0, -10.0, -9.0], 5))
    assert "hardly" not in table("BL", negative)


def test_what_was_found_and_is_unsafe_is_said_to_be():
    unsafe = np.repeat([0.0, 1.0, 0.9], 5)
    found = done(np.zeros((15, 2)), np.zeros(15), unsafe)
    found = replace(found, ret=np.repeat([900.0, 400.0, 800.0], 5))
    last = table("FR+BL", found).splitlines()[-1]
    assert last == "what was found is unsafe in 90% of its steps"
    assert "found" not in table("FR+BL", replace(found, unsafe=np.zeros(15)))


def test_broken_joints_are_seen_from_their_side():
    names = SPEC.joint_names
    assert camera(SPEC, [names.index("FL.upper")]) == "left"
    assert camera(SPEC, [names.index("BR.upper")]) == "follow"
    assert camera(SPEC, []) == "follow"


def test_what_cannot_be_shown_is_refused_before_anything_moves(run, tmp_path, monkeypatch):
    monkeypatch.setattr(Agent, "load", lambda *_: pytest.fail("it was loaded"))
    monkeypatch.setattr(pretrained, "HOME", tmp_path / "nothing")
    with pytest.raises(UserError, match='no agent "a1-forward": this version of ursa ships none'):
        demo(out=tmp_path / "out")
    with pytest.raises(UserError, match='damage "undamaged" breaks nothing'):
        demo(run, damage="undamaged", out=tmp_path / "out")
    with pytest.raises(UserError, match="point has no legs"):
        demo(born(POINT, tmp_path / "point"), out=tmp_path / "out")
    baseline = born(replace(A1, method="dominic"), tmp_path / "dominic")
    with pytest.raises(UserError, match="dominic discovers no skills to show"):
        demo(baseline, out=tmp_path / "out")
    (tmp_path / "taken").write_text("")
    with pytest.raises(UserError, match=r"nowhere holds no agent: it does not exist; give the"):
        demo(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"taken holds no agent: it is a file; give the folder"):
        demo(tmp_path / "taken")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"empty holds no agent; give the folder of a run"):
        demo(tmp_path / "empty")
    with pytest.raises(UserError, match=r"taken is a file: give another --out"):
        demo(run, out=tmp_path / "taken" / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "call", ["demo(Path('/nothing'))", "demo(Path('a1-forward'), damage='XX')"]
)
def test_to_refuse_takes_no_jax(call, tmp_path):
    program = f"""
import sys
from pathlib import Path
from ursa.demo import demo
from ursa.errors import UserError
try:
    {call}
except UserError:
    print('jax' in sys.modules, 'mujoco' in sys.modules)
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "False False\n", done.stderr
