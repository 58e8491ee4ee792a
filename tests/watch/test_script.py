"""`ursa watch` of a script, as a person calls it."""

import re

import numpy as np
import pytest
from PIL import Image

from ursa.cli import main
from ursa.errors import UserError
from ursa.watch.command import watch

SMALL = ("--width", "96", "--height", "72")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sheet_of_a_standing_robot_and_what_it_did(drawing, here, capsys):
    assert main(["watch", "--script", "stand", "--seconds", "0.5", "--frames", "4", *SMALL]) == 0
    with Image.open(here / "watch.png") as page:
        assert page.size == (96 * 3 + 8, 72 * 2 + 4)
    said = capsys.readouterr().out
    told = re.search(r"; (\S+) m from .*upright 100% of the time, peak torque (\S+) N m", said)
    assert told is not None
    assert float(told[1]) < 0.03
    assert 2 < float(told[2]) < 20  # it carries 12.5 kg on bent knees
    assert said.endswith("-> watch.png\n")


def test_a_video_has_a_picture_for_each_moment(drawing, here):
    watch(seconds=0.5, out=here / "it.gif", fps=10.0, width=96, height=72)
    with Image.open(here / "it.gif") as gif:
        assert gif.n_frames == 6  # at 0.0, 0.1, ... 0.5 s
        assert gif.info["duration"] == 100


def test_the_damage_is_seen_from_its_moment_on(drawing, here):
    told = {"damage": "FR:limp", "damage_at": 0.25, "seconds": 0.5, "frames": 3, "plain": True}
    watch(script="stand", out=here / "it.png", width=96, height=72, **told)
    r, g, b = np.moveaxis(np.asarray(Image.open(here / "it.png")).astype(int), 2, 0)
    red = (r > 60) & (r > 3 * g) & (r > 3 * b)
    before, during, after = (red[:, 100 * i : 100 * i + 96].sum() for i in range(3))
    assert before == 0
    assert during > 10
    assert after > 10


def test_one_picture_is_the_end(drawing, here):
    watch(seconds=0.5, out=here / "one.png", frames=1, width=96, height=72)
    watch(seconds=0.5, out=here / "three.png", frames=3, width=96, height=72)
    one, three = (np.asarray(Image.open(here / name)) for name in ("one.png", "three.png"))
    np.testing.assert_array_equal(one, three[:, 200:296])


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"robot": "a2"}, 'unknown robot "a2".* a1, go2, point'),
        ({"robot": "point", "script": "random"}, "point has no legs"),
        ({"script": "dance"}, 'unknown script "dance": valid are random, stand, trot'),
        ({"damage": "FX.upper"}, 'unknown leg or joint of a1 "FX.upper"'),
        ({"damage": "FL:bent"}, 'unknown kind of damage "bent"'),
        ({"damage": "FL", "damage_at": -1.0}, "damage-at = -1.0 s"),
        ({"damage": "FL", "damage_at": 4.0, "seconds": 4.0}, "less than the 4 s to be seen"),
        ({"seconds": 0.0}, "seconds = 0.0, want a number > 0"),
        ({"seconds": float("nan")}, "seconds = nan"),
        ({"seconds": float("inf")}, "seconds = inf"),
        ({"fps": 60.0}, "fps = 60.0, want more than 0 and at most 20"),
        ({"fps": 0.0}, "fps = 0.0"),
        ({"frames": 0}, "frames = 0, want 1 to 81 for 4 s"),
        ({"frames": 82}, "frames = 82"),
        ({"seed": -1}, "seed = -1"),
        ({"camera": "behind"}, 'unknown camera "behind"'),
        ({"width": 7}, "width = 7 pixels"),
        ({"out": "film.avi"}, r"want .png, .gif, .mp4"),
        ({"out": "nowhere/film.png"}, "folder that does not exist"),
    ],
    ids=lambda it: str(it) if isinstance(it, dict) else "",
)
def test_bad_input_is_answered_in_one_line_and_nothing_is_written(here, told, message):
    told = {"out": "it.png"} | told
    with pytest.raises(UserError, match=message) as caught:
        watch(**told | {"out": here / told["out"]})
    assert "\n" not in str(caught.value)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("told", "message"),
    [({"engine": "gazebo"}, 'unknown engine "gazebo"'), ({"tick": 0.004}, "tick = 0.004 s")],
)
def test_physics_that_there_is_not_is_refused_too(drawing, here, told, message):
    with pytest.raises(UserError, match=message):
        watch(out=here / "it.png", **told)
    assert list(here.iterdir()) == []


def test_the_help_teaches(capsys):
    with pytest.raises(SystemExit) as done:
        main(["watch", "--help"])
    assert done.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ("--damage-at", "FL.upper:limp", "stand, random", "ursa watch --script trot"):
        assert words in said
