"""What a run starts: modules of ours, whatever its files say and in whatever folder one stands."""

import json
import os
import subprocess
import sys

import pytest

from live.stacked import TESTS, live_of
from ursa import cli
from ursa.errors import UserError
from ursa.live import child, settings, ward
from ursa.live.settings import Live, Modules
from ursa.robot import plugin
from ursa.shared import place


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    place.forget(tmp_path)


def hostile(folder):
    """A run's settings that name a module, which lies beside them."""
    (folder / "evil.py").write_text("open('ran', 'w')")
    said = {"modules": {"recorder": "evil"}}
    (folder / "live.json").write_text(json.dumps(said))
    return folder


def test_a_module_that_a_file_names_is_not_run(folder):
    with pytest.raises(UserError) as caught:
        settings.read(hostile(folder))
    assert 'modules.recorder = "evil": want ursa.live.recording or ' in str(caught.value)
    assert "only if the environment names it, too: URSA_MODULES=MODULE," in str(caught.value)


def test_without_the_list_it_would_be(folder, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(settings, "_players", lambda role: ("evil", *settings.PLAYERS[role]))
    assert settings.read(hostile(folder)).modules.recorder == "evil"


def test_every_role_has_players_of_its_own_and_the_first_is_the_usual_one(monkeypatch):
    monkeypatch.delenv(settings.MORE)
    settings.check(Live())
    assert Modules() == Modules(**{role: settings.PLAYERS[role][0] for role in settings.ROLES})
    with pytest.raises(
        UserError, match=r'modules.gate = "ursa.live.acting": want ursa.live.gating'
    ):
        settings.check(Live(modules=Modules(gate="ursa.live.acting")))


def test_one_of_your_own_is_run_if_the_environment_names_it_too(monkeypatch):
    live = Live(modules=Modules(learner="mine.learning"))
    for named in ("", "mine", "mine.learning.py,mine learning", "yours.learning"):
        monkeypatch.setenv(settings.MORE, named)
        with pytest.raises(UserError, match=r"mine\.learning"):
            settings.check(live)
    monkeypatch.setenv(settings.MORE, "yours.learning,mine.learning")
    assert settings.check(live) == live


def ran(folder, monkeypatch):
    """Whether a process that is started from a folder runs a `logging.py` which lies there."""
    (folder / "logging.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    live = live_of(folder, modules=Modules(actor="live.stub_crashing"), clock="wall")
    started = ward.Ward(folder, live, "actor", print, lambda: False)
    started.start()
    started._process.wait()
    started.close()
    return (folder / "ran").exists()


def test_a_file_in_the_folder_one_stands_in_is_not_imported(folder, monkeypatch):
    assert not ran(folder, monkeypatch)


ROBOT = """
import contextlib, sys
from ursa.live import child
from ursa.robot import plugin
sys.argv = ["role", "."]
def main(folder):
    code = plugin.addressed("robot", "mine:CODE")
    import colorsys
    return code if hasattr(colorsys, "rgb_to_hls") else 1
"""
PLUGINS = """
import sys
from ursa.live import child
sys.argv = ["role", "."]
def main(folder):
    import jax
    return len(jax.devices())
"""
INIT = "open('ran', 'w')"


def left_by(folder, program):
    """Exit code of a role of a run that is started from a folder."""
    environment = {**os.environ, **ward.SAFE, "JAX_PLATFORMS": "cpu"}
    return subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment).returncode


def played(folder, how="child.enter(main)"):
    """Of one whose robot lies in its folder, beside a module with the name of one of Python's."""
    (folder / "mine.py").write_text("import yours\nCODE = yours.CODE")
    (folder / "yours.py").write_text("CODE = 7")
    (folder / "colorsys.py").write_text("")
    return left_by(folder, ROBOT + how)


def test_a_robot_of_yours_that_lies_there_is_found_and_hides_nothing_of_ours(folder):
    assert played(folder) == 7


def test_an_address_that_is_not_looked_for_there_would_not_be_found(folder):
    """Sabotage; and in a folder that is looked at first it would hide what is ours."""
    assert (
        played(folder, "plugin.here = contextlib.nullcontext; child.enter(main)") == child.MISTAKE
    )
    assert played(folder, "sys.path.insert(0, ''); child.enter(main)") == 1


TASK = """
import contextlib, sys
from ursa.live import child
from ursa.robot.a1 import A1
from ursa.task import registry
sys.argv = ["role", "."]
def main(folder):
    return 7 if len(registry.task("jumping", A1).posture_names) == 12 else 1
"""
JUMPING = """
reward = lambda before, after: {"jump": after.velocity[:, 2]}
cost = lambda reading: 0.1 - reading.height
posture = lambda reading: reading.joint_angle
"""


def learnt(folder, how="child.enter(main)"):
    """Of one whose task lies in its folder, and is called by its bare name."""
    (folder / "jumping.py").write_text(JUMPING)
    return left_by(folder, TASK + how)


def test_a_task_of_yours_that_lies_there_is_found_by_its_bare_name(folder):
    assert learnt(folder) == 7


def test_a_task_that_is_not_looked_for_there_would_not_be_found(folder):
    """Sabotage."""
    without = "registry.here = contextlib.nullcontext; child.enter(main)"
    assert learnt(folder, without) == child.MISTAKE


def started(folder, how):
    """Whether JAX, when a role starts it, runs a plugin that lies in the folder."""
    (folder / "jax_plugins" / "evil").mkdir(parents=True)
    (folder / "jax_plugins" / "evil" / "__init__.py").write_text(INIT)
    assert left_by(folder, PLUGINS + how) == 1  # it has one device
    return (folder / "ran").exists()


def test_a_library_does_not_run_what_it_finds_there_and_nobody_has_named(folder):
    assert not started(folder, "child.enter(main)")


def test_with_that_folder_on_the_path_for_good_it_would(folder):
    """Sabotage."""
    assert started(folder, "sys.path.append(''); child.enter(main)")


def test_the_folder_is_looked_at_while_an_address_is_and_no_longer(folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    before = list(sys.path)
    with plugin.here():
        assert sys.path == [*before, ""]
        with plugin.here():
            assert sys.path == [*before, ""]
        assert sys.path == [*before, ""]
    assert sys.path == before
    with pytest.raises(UserError, match='robot "nobody:ROBOT" does not load'):
        plugin.addressed("robot", "nobody:ROBOT")
    assert sys.path == before
    assert cli.main(["--version"]) == 0
    assert cli.main(["robot", "check", "nobody:ROBOT"]) == 2
    assert sys.path == before


def test_who_started_python_with_that_folder_keeps_it(monkeypatch):
    monkeypatch.setattr(sys, "path", ["", *(each for each in sys.path if each)])
    before = list(sys.path)
    with plugin.here():
        assert sys.path == before
    assert sys.path == before


def test_a_process_started_with_the_usual_path_would_import_it(folder, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(ward, "SAFE", {})
    assert ran(folder, monkeypatch)
