"""Two accounts at one computer: both can drive a robot, and a stop says whose run it cannot reach.

The memory of the computer is a folder of the test's own: no robot outside of it hears anything.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from live.accounts import ROBOT
from live.stacked import LIMIT
from live.test_stop_command import Gate
from ursa import claim
from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate import drivers, link, mailbox
from ursa.gate.modes import Order
from ursa.live import settings, stop_command
from ursa.live.settings import Live
from ursa.shared import place

TESTS = Path(__file__).parents[1]
root_only = pytest.mark.root  # nobody else can be somebody else


@pytest.fixture
def memory(monkeypatch):
    """A folder that is everybody's, as memory is."""
    found = Path(tempfile.mkdtemp())
    found.chmod(0o1777)
    monkeypatch.setattr(place, "MEMORY", found)
    monkeypatch.setattr(stop_command, "WAIT", LIMIT)
    yield found
    shutil.rmtree(found)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def careful():
    """Of an account whose files nobody else may read unless that is said."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_a_lock_in_everybodys_folder_is_everybodys_and_elsewhere_it_is_ones_own(
    memory, tmp_path, careful
):
    link.claimed(ROBOT).close()
    assert mode_of(drivers.lock(*ROBOT, "lock")) == 0o666
    Claim(tmp_path / "steps.lock").close()
    assert mode_of(tmp_path / "steps.lock") == 0o600


def test_a_lock_that_is_there_is_taken_without_asking_to_make_it(memory, monkeypatch):
    """In everybody's folder the kernel refuses that for a file of another account."""
    link.claimed(ROBOT).close()
    asked, real = [], os.open

    def opened(path, flags, *more):
        asked.append(flags & os.O_CREAT)
        return real(path, flags, *more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", opened)
        link.claimed(ROBOT).close()
    assert asked
    assert not any(asked)


def said(scene, memory, sabotage=""):
    """What the accounts of a scene of `live.accounts` had to say."""
    words = [sys.executable, "-m", "live.accounts", scene, str(memory), sabotage]
    done = subprocess.run(words, cwd=TESTS, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@root_only
def test_a_robot_that_one_account_has_driven_can_be_driven_by_another(memory):
    assert said("turns", memory) == ["taken"] * 4


@root_only
def test_with_a_lock_of_ones_own_nobody_else_could_until_the_computer_is_restarted(memory):
    """Sabotage."""
    first, second, third, _ = said("turns", memory, "private")
    assert first == third == "taken"
    assert "Permission denied" in second


@root_only
def test_a_lock_that_an_older_version_left_is_named_with_its_owner(memory):
    first, second = said("older", memory)
    assert first == "taken"
    assert second.startswith(f"refused: {drivers.lock(*ROBOT, 'lock')} is a lock of the account #")
    assert "disk" not in second


@root_only
def test_who_may_not_write_a_runs_files_is_not_given_its_memory(memory):
    (refused,) = said("asked", memory)
    assert refused == f"refused: {memory / 'run'} belongs to the account root: go on there"


def foreign(told, folder):
    """Whether a refusal says whose run it is and what stops the robot, and no more."""
    owner = claim.account(os.getuid())
    assert f"{folder} is a run of the account {owner}" in told
    assert "REMOTE (R2) OR ITS POWER BUTTON NOW" in told
    assert f"sudo -u {owner} ursa robot stop {folder}" in told
    assert "identity" not in told
    assert "remove" not in told


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("words", [{}, {"acknowledge": True}, {"end": True}])
def test_a_stop_from_another_account_says_whose_run_it_is(
    tmp_path, memory, monkeypatch, named, words
):
    if words and not named:
        return  # who acknowledges or ends names the folder
    with closing(Gate(tmp_path / "run", 1)) as gate:
        with monkeypatch.context() as patch:
            patch.setattr(os, "getuid", lambda: gate.folder.stat().st_uid + 1)
            with pytest.raises(UserError) as caught:
                stop_command.stop(*([gate.folder] if named else []), **words)
        assert gate.heard == []
        assert stop_command.stop(gate.folder) == 0  # its own account can, as before
        assert gate.heard == [Order.STOP]
    foreign(str(caught.value), gate.folder)


def test_one_that_does_not_look_at_the_owner_would_advise_something_else(
    tmp_path, memory, monkeypatch
):
    """Sabotage: what the memory itself has to say is not for somebody in a hurry."""
    monkeypatch.setattr(stop_command, "_foreign", lambda folder, error: str(error))
    with closing(Gate(tmp_path / "run", 1)) as gate, monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: gate.folder.stat().st_uid + 1)
        with pytest.raises(UserError) as caught:
            stop_command.stop(gate.folder)
    with pytest.raises(AssertionError):
        foreign(str(caught.value), gate.folder)


def test_a_folder_that_may_not_even_be_looked_at_is_somebodys_run_too(
    tmp_path, memory, monkeypatch
):
    def hidden(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(stop_command, "_driven", hidden)
    with pytest.raises(UserError) as caught:
        stop_command.stop(tmp_path / "run")  # not there for us: the folder above says whose it is
    foreign(str(caught.value), tmp_path / "run")


def made_by_asking(folder, memory):
    """Memory that is there after somebody asked for a stop of a run that is over."""
    folder.mkdir()
    settings.write(folder, Live())
    mailbox.create(folder)
    place.forget(folder)
    with pytest.raises(UserError, match="nobody runs this robot now"):
        stop_command.stop(folder)
    return [path.name for path in memory.iterdir() if path.is_dir()]


def test_asking_for_a_stop_makes_no_memory_that_its_owner_could_not_use(tmp_path, memory):
    assert made_by_asking(tmp_path / "run", memory) == []


def test_one_that_asks_the_memory_without_a_look_would_make_it(tmp_path, memory, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(place, "begun", lambda folder: True)
    assert len(made_by_asking(tmp_path / "run", memory)) == 1
