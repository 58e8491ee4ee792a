"""Where nothing can draw, it says what to install; where something can, it is found."""

import os
import subprocess
import sys

import pytest

from ursa.errors import UserError
from ursa.show import gl

YES, NO = (lambda: True), (lambda: False)
linux = pytest.mark.usefixtures("plain_linux")


@pytest.fixture
def plain_linux(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")


@linux
@pytest.mark.parametrize(
    ("egl", "osmesa", "chosen"), [(YES, YES, "egl"), (YES, NO, "egl"), (NO, YES, "osmesa")]
)
def test_egl_comes_before_osmesa(egl, osmesa, chosen):
    assert gl.backend({"egl": egl, "osmesa": osmesa}) == chosen


@linux
def test_without_any_library_the_packages_are_named():
    with pytest.raises(UserError) as caught:
        gl.backend({"egl": NO, "osmesa": NO})
    for package in ("libegl1", "libegl-mesa0", "libgl1-mesa-dri", "libosmesa6"):
        assert package in str(caught.value)


@linux
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("disable", "MUJOCO_GL=disable forbids pictures: unset it"),
        ("osmesa", "MUJOCO_GL=osmesa, which does not work here. .* libosmesa6"),
        ("vulkan", 'unknown backend in MUJOCO_GL "vulkan": valid are disable, egl, glfw, osmesa'),
    ],
)
def test_what_mujoco_gl_asks_for_and_cannot_have_is_refused(monkeypatch, asked, message):
    monkeypatch.setenv("MUJOCO_GL", asked)
    with pytest.raises(UserError, match=message):
        gl.backend({"egl": YES, "osmesa": NO})


@linux
def test_what_mujoco_gl_asks_for_goes_before_our_choice(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "OSMesa")
    assert gl.backend({"egl": YES, "osmesa": YES}) == "osmesa"


@pytest.mark.parametrize("asked", ["disable", "vulkan"])
def test_a_person_without_gl_gets_one_line_and_no_file(tmp_path, asked):
    environment = {**os.environ, "MUJOCO_GL": asked}
    command = [sys.executable, "-m", "ursa", "watch", "--seconds", "0.5", "--out", "robot.png"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("ursa: ")
    assert asked in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_importing_the_room_loads_neither_a_simulator_nor_gl():
    program = (
        "import sys, ursa.show.watch, ursa.show.render\n"
        "print(sorted({'mujoco', 'OpenGL', 'glfw', 'PIL'} & set(sys.modules)))"
    )
    environment = {**os.environ, "MUJOCO_GL": "egl"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr
