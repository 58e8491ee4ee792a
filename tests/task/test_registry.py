"""Tasks by name: ours, another package's, and three functions in a module."""

import sys

import pytest

from plugin.installed import HERE, install
from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.point import POINT
from ursa.task.registry import task, tasks

BROKEN = """
import numpy as np
def reward(before, after): return {"height": after.height}
def cost(reading): return np.mean(reading.height)
def posture(reading): return reading.joint_angle
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder on the path for metadata and modules, beside the package of tests/plugin."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("small_dog", "wrong", "half", "unfinished"):
            del sys.modules[name]


def test_the_built_in_tasks_are_there():
    assert set(tasks()) >= {"forward", "velocity", "point"}
    assert task("forward", A1).name == "forward"
    assert task("velocity", A1).name == "velocity"
    assert task("point", POINT).name == "point"


def test_an_unknown_task_is_answered_with_the_valid_names():
    with pytest.raises(UserError, match=r'unknown task "forwards": valid are forward, point, vel'):
        task("forwards", A1)


def test_three_functions_in_another_package_are_a_task(path):
    crouch = task("small_dog.crouch", A1)
    assert crouch.name == "small_dog.crouch"
    assert crouch.posture_names == ("FR", "FL", "BR", "BL")


def test_a_package_gives_its_task_a_name(path):
    install(path, "small-dog", {"ursa.tasks": {"crouch": "small_dog.crouch"}})
    assert "crouch" in tasks()
    assert task("crouch", A1).name == "crouch"
    with pytest.raises(UserError, match="valid are crouch, forward, point, velocity"):
        task("crawl", A1)


def test_a_task_may_be_a_function_of_the_robot(path):
    built = task("small_dog.tasks:crouch_task", A1)
    assert built.posture_names == ("FR.thigh", "FL.thigh", "BR.thigh", "BL.thigh")


def test_names_of_the_posture_are_optional(path):
    (path / "unfinished.py").write_text(BROKEN.replace("np.mean(reading.height)", "reading.height"))
    assert task("unfinished", A1).posture_names == tuple(f"x{i}" for i in range(12))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("wrong.module", r'task "wrong.module" does not load: ModuleNotFoundError'),
        ("small_dog.crouch:jump", r'"jump": valid are cost, posture, posture_names, reward'),
        ("small_dog.robot", r"module small_dog.robot lacks reward, cost, posture"),
        ("small_dog.tasks:no_task", r"is a dict; want a Task, a function from RobotSpec"),
        ("small_dog.tasks:broken_task", r"broken_task\) does not load: ValueError: a bug of the"),
    ],
)
def test_what_is_not_a_task_is_refused_with_the_reason(path, name, told):
    with pytest.raises(UserError, match=told):
        task(name, A1)


def test_a_wrong_shape_fails_before_any_robot_moves(path):
    (path / "half.py").write_text(BROKEN)
    with pytest.raises(UserError, match=r"cost function half.cost returned float64 .*shape \(5,\)"):
        task("half", A1)


def test_a_task_for_legs_is_refused_for_a_point():
    with pytest.raises(UserError, match=r'task "velocity" .*: robot point has no legs'):
        task("velocity", POINT)
