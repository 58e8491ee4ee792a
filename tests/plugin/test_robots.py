"""Robots by name: ours, and another package's without a line changed here."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from plugin.installed import HERE, install
from ursa.env.arena import arena
from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.disturbance import Disturbance
from ursa.robot.go2 import GO2
from ursa.robot.motion import MotionConfig, action_of
from ursa.robot.point import POINT, PointBody
from ursa.robot.registry import body, robot, robots

DECLARED = {
    "ursa.robots": {"small_dog": "small_dog.robot:SMALL_DOG", "pup": "small_dog.robot:small_dog"},
    "ursa.tasks": {"crouch": "small_dog.crouch"},
}


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The path of somebody who installed small-dog."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "small-dog", DECLARED)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("small_dog", "bad_dog"):
            del sys.modules[name]


def test_our_robots_are_there():
    assert robot("a1") is A1
    assert robot("go2") is GO2
    assert robot("point") is POINT
    assert set(robots()) >= {"a1", "go2", "point"}


def test_an_unknown_robot_is_answered_with_the_valid_names():
    with pytest.raises(UserError, match='unknown robot "go3": valid are a1, go2, point; did you'):
        robot("go3")


def test_a_robot_of_another_package_stands_at_a_task_of_that_package(path):
    built = arena("small_dog", "crouch", 2, threads=1)
    spec = built.body.spec
    assert spec.mass == pytest.approx(8.0)
    assert built.start().observation.shape == (2, built.layout.size)
    stance = np.tile(action_of(spec, spec.of_joints("stance")), (2, 1))
    for _ in range(20):
        outcome = built.step(stance)
    assert (outcome.reading.rotation[:, 2, 2] > 0.99).all()  # after a second it still stands
    assert outcome.reading.truth.position[:, 2] == pytest.approx(0.2, abs=0.03)
    assert outcome.safe.all()
    assert outcome.posture.shape == (2, 4)
    assert list(outcome.terms) == ["low", "calm"]
    built.close()


def test_a_spec_may_be_computed_by_a_function(path):
    assert robots()["pup"]() is robot("small_dog")


def test_a_robot_may_be_named_by_its_address(path):
    assert robot("small_dog.robot:SMALL_DOG").name == "small_dog"
    with pytest.raises(UserError, match=r'unknown robot in small_dog.robot "SMALL_CAT": valid are'):
        robot("small_dog.robot:SMALL_CAT")
    with pytest.raises(UserError, match=r'"no_such:X" does not load: ModuleNotFoundError'):
        robot("no_such:X")


def test_only_what_could_be_a_robot_is_offered(path):
    (path / "bad_dog.py").write_text(
        "from dataclasses import replace\n"
        "from ursa.robot.a1 import A1\n"
        "HEAVY = replace(A1, name='heavy')\n"
        "MASS = 3.0\n"
        "class Dog: ...\n"
        "def young(): return A1\n"
    )
    with pytest.raises(UserError, match=r'in bad_dog "NOPE": valid are A1, HEAVY, young$'):
        robot("bad_dog:NOPE")


def test_a_broken_package_breaks_itself_alone(path):
    (path / "bad_dog.py").write_text("import a_module_nobody_has\n")
    broken = {"bad": "bad_dog:BAD", "worse": "small_dog.robot:LIGHTER", "a1": "bad_dog:FALSE"}
    install(path, "bad-dog", {"ursa.robots": broken})
    assert set(robots()) >= {"a1", "go2", "point", "small_dog", "bad", "worse"}
    assert robot("small_dog").name == "small_dog"
    assert robot("a1") is A1  # nobody takes the name of one of ours
    with pytest.raises(UserError, match=r'"bad" of the package bad-dog \(bad_dog:BAD\) does not'):
        robot("bad")
    with pytest.raises(UserError, match="is a float; want a RobotSpec value, or a function"):
        robot("worse")


def test_two_packages_that_want_one_name_are_both_named(path):
    install(path, "other-dog", {"ursa.robots": {"pup": "small_dog.robot:SMALL_DOG"}})
    with pytest.raises(UserError, match=r"several packages: other-dog \(.*\), small-dog \("):
        robot("pup")


def test_a_function_that_fails_is_told_as_its_authors(path):
    (path / "bad_dog.py").write_text("def dog():\n    return 1 / 0\n")
    with pytest.raises(UserError, match=r"\(bad_dog:dog\) does not load: ZeroDivisionError"):
        robot("bad_dog:dog")


def test_a_body_is_built_by_name_or_by_value():
    for what in ("a1", A1):
        built = body(what, 2, threads=1)
        assert (built.spec.name, built.count) == ("a1", 2)
        built.close()
    assert isinstance(body("point", 3), PointBody)


def test_the_tick_is_the_engines_own_unless_given():
    for tick, wanted in ((None, 0.005), (0.002, 0.002)):
        built = body("a1", threads=1, tick=tick)
        assert built.engine.tick == wanted
        built.close()


def test_motion_settings_reach_body_and_engine():
    built = body("a1", threads=1, motion=MotionConfig(clip=False))
    assert built.engine.clip is False
    built.close()


def test_unknown_engines_are_answered_with_the_valid_ones():
    with pytest.raises(UserError, match='unknown engine "bullet": valid are mujoco, pybullet'):
        body("a1", engine="bullet")


def test_what_a_robot_cannot_do_is_refused():
    with pytest.raises(UserError, match="car has no legs"):
        body(replace(POINT, name="car"))
    with pytest.raises(UserError, match="neither motion stages nor disturbances"):
        body("point", disturbance=Disturbance(push=1.0))
