"""What a run starts: modules of ours, whatever its files say and in whatever folder one stands."""

import json
import os
import subprocess
import sys

import pytest

from live.stacked import TESTS, live_of
from ursa.errors import UserError
from ursa.live import settings, ward
from ursa.live.settings import Live, Modules
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


LATER = """
import sys
from ursa.live import child
sys.argv = ["role", "."]
def main(folder):
    import colorsys, mine
    return mine.CODE if hasattr(colorsys, "rgb_to_hls") else 1
"""


def played(folder, how):
    """Exit code of a role that imports a module which lies in its folder, and one of Python's."""
    (folder / "mine.py").write_text("CODE = 7")
    (folder / "colorsys.py").write_text("")
    words = [sys.executable, "-c", LATER + how]
    return subprocess.run(words, cwd=folder, env={**os.environ, **ward.SAFE}).returncode


def test_a_robot_of_yours_that_lies_there_is_found_and_hides_nothing_of_ours(folder):
    assert played(folder, "child.enter(main)") == 7


def test_a_role_that_does_not_look_there_would_not_find_it(folder):
    """Sabotage; and one that looks there first would take it for ours."""
    assert played(folder, "sys.exit(main('.'))") == 1
    assert played(folder, "sys.path.insert(0, ''); child.enter(main)") == 1


def test_a_process_started_with_the_usual_path_would_import_it(folder, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(ward, "SAFE", {})
    assert ran(folder, monkeypatch)
