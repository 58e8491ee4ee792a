"""Pictures reach their file complete, or the file does not appear."""

import subprocess

import numpy as np
import pytest
from PIL import Image

from ursa.errors import UserError
from ursa.show import film

RED, GREEN, BLUE = ((200, 0, 0), (0, 200, 0), (0, 0, 200))


def plain(color, height=20, width=30):
    return np.full((height, width, 3), color, np.uint8)


def test_a_sheet_reads_like_a_page():
    page = film.sheet([plain(RED), plain(GREEN), plain(BLUE), plain(GREEN)])
    assert page.shape == (20 + 4 + 20, 30 + 4 + 30 + 4 + 30, 3)
    centers = [page[row, column].tolist() for row in (10, 34) for column in (15, 49, 83)]
    assert centers == [list(it) for it in (RED, GREEN, BLUE, GREEN, (255,) * 3, (255,) * 3)]


def test_one_picture_is_its_own_sheet():
    np.testing.assert_array_equal(film.sheet([plain(RED)]), plain(RED))


def test_a_png_holds_the_sheet(tmp_path):
    film.save(iter([plain(RED), plain(BLUE)]), tmp_path / "two.png", 20)
    read = np.asarray(Image.open(tmp_path / "two.png"))
    np.testing.assert_array_equal(read, film.sheet([plain(RED), plain(BLUE)]))


def test_a_gif_moves_at_its_pace_for_ever(tmp_path):
    film.save([plain(RED), plain(GREEN), plain(BLUE)], tmp_path / "three.GIF", 20)
    with Image.open(tmp_path / "three.GIF") as gif:
        assert (gif.n_frames, gif.info["duration"], gif.info["loop"]) == (3, 50, 0)
        gif.seek(2)
        assert np.abs(np.asarray(gif.convert("RGB"))[10, 15] - np.array(BLUE)).max() < 20


@pytest.fixture
def ffmpeg():
    try:
        return film.ffmpeg()
    except UserError as error:
        pytest.skip(str(error))


def test_an_mp4_holds_every_picture_at_its_time(tmp_path, ffmpeg):
    # odd sides: players want even ones, so a border may be added
    film.save((plain(color, 21, 31) for color in (RED, GREEN, BLUE)), tmp_path / "it.mp4", 10)
    command = [ffmpeg, "-loglevel", "error", "-i", str(tmp_path / "it.mp4")]
    raw = subprocess.run(
        [*command, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True
    )
    frames = np.frombuffer(raw.stdout, np.uint8).reshape(-1, 22, 32, 3).astype(int)
    assert len(frames) == 3
    for frame, color in zip(frames, (RED, GREEN, BLUE), strict=True):
        assert np.abs(frame[10, 15] - np.array(color)).max() < 40


@pytest.mark.parametrize("name", ["it.png", "it.gif", "it.mp4"])
def test_a_drawing_that_fails_leaves_nothing_and_keeps_what_was_there(tmp_path, ffmpeg, name):
    def failing():
        yield plain(RED)
        raise ValueError("the drawing failed")

    (tmp_path / name).write_text("earlier")
    with pytest.raises(ValueError, match="the drawing failed"):
        film.save(failing(), tmp_path / name, 20)
    assert [it.name for it in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "earlier"


def test_ffmpeg_that_gives_up_is_quoted(tmp_path, monkeypatch):
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\necho no space left >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(film, "ffmpeg", lambda: str(broken))
    pictures = (plain(RED, 400, 400) for _ in range(50))
    with pytest.raises(UserError, match=r"ffmpeg could not write .*: no space left"):
        film.save(pictures, tmp_path / "it.mp4", 20)
    assert [it.name for it in tmp_path.iterdir()] == ["ffmpeg"]


def test_without_ffmpeg_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(film, "find_spec", lambda name: None)
    monkeypatch.setattr(film.shutil, "which", lambda name: None)
    with pytest.raises(UserError, match=r"mp4 needs it: pip install 'ursa-robot\[video\]'"):
        film.ffmpeg()


def test_the_ffmpeg_of_the_system_will_do(monkeypatch):
    monkeypatch.setattr(film, "find_spec", lambda name: None)
    monkeypatch.setattr(film.shutil, "which", lambda name: f"/somewhere/{name}")
    assert film.ffmpeg() == "/somewhere/ffmpeg"


def test_a_caption_is_written_into_the_upper_left_corner_only():
    white = plain((255, 255, 255), 240, 320)
    marked = (film.captioned(white, "a1 trot  1.25 s") != white).any(axis=2)
    assert marked[:24, :160].any()
    assert not marked[24:].any()
    assert (white == 255).all()


def test_letters_are_as_large_as_told_and_as_the_picture_is_wide():
    white = plain((255, 255, 255), 240, 320)

    def ink(*told, **size):
        return np.argwhere((film.captioned(white, *told, **size) < 100).all(axis=2))

    small, large = (np.ptp(ink("m", size=size)[:, 0]) for size in (20, 60))
    assert 2.5 < large / small < 3.5
    long = ink("front right and hind left legs frozen", size=30)
    assert long[:, 1].max() < 320
    assert np.ptp(long[:, 1]) > 250
    below = ink("", "0.07 m/s")
    assert below[:, 0].min() > 200


def test_a_minus_is_as_wide_as_a_plus():
    white = plain((255, 255, 255), 60, 60)
    plus, minus = (
        np.ptp(np.argwhere((film.captioned(white, it, size=26) < 100).all(axis=2))[:, 1])
        for it in ("+", "\N{MINUS SIGN}")
    )
    assert abs(plus - minus) <= 1
    assert plus > 10


@pytest.mark.parametrize("name", ["it.avi", "it", "missing/it.png", "."])
def test_a_place_that_cannot_be_written_is_refused(tmp_path, name):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(UserError, match="out = "):
        film.check(tmp_path / name)
    with pytest.raises(UserError, match="is a folder"):
        film.check(tmp_path / "folder.png")
