"""The folder of a run: one writer at a time, and a note of what each start ran on."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from ursa import __version__, claim
from ursa.errors import UserError
from ursa.presets import tiny
from ursa.run import folder

HOLD = """
import sys
from pathlib import Path
from ursa import claim
from ursa.errors import UserError
from ursa.run.folder import claimed
claim.NAMED = 60.0  # the winner may have to wait for a core before it writes its name
try:
    with claimed(Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.read()
except UserError as error:
    print(error, flush=True)
"""


def holder(out):
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_of_many_starts_on_one_folder_exactly_one_wins(tmp_path):
    starts = [holder(tmp_path) for _ in range(8)]
    said = [start.stdout.readline() for start in starts]
    for start in starts:
        start.communicate("")
    assert sum(line == "held\n" for line in said) == 1
    winner = starts[said.index("held\n")].pid
    refused = [line for line in said if line != "held\n"]
    assert all(f"in use by process {winner} on " in line for line in refused)


def test_a_holder_that_has_not_said_its_name_yet_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(claim, "NAMED", 60.0)
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    name = threading.Timer(0.1, os.pwrite, (lock, b"process 7 on a robot\n", 0))
    name.start()
    with pytest.raises(UserError, match="in use by process 7 on a robot: wait"):
        folder.claimed(tmp_path).__enter__()
    name.join()
    monkeypatch.setattr(claim, "NAMED", 0.0)
    os.ftruncate(lock, 0)  # as on a full disk: it never says who it is
    with pytest.raises(UserError, match="in use by another process: wait"):
        folder.claimed(tmp_path).__enter__()
    os.close(lock)


def test_somebody_who_only_asks_keeps_nobody_out(tmp_path, monkeypatch):
    (tmp_path / "lock").write_text("process 7 on a robot\n")  # which was killed
    asking = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)  # as `claim.held` does, for a moment
    monkeypatch.setattr(claim.time, "sleep", lambda _: os.close(asking))
    with folder.claimed(tmp_path):
        assert (tmp_path / "lock").read_text().startswith(f"process {os.getpid()} on ")


def test_a_folder_let_go_names_nobody(tmp_path):
    with folder.claimed(tmp_path):
        pass
    assert (tmp_path / "lock").read_text() == ""


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    dead = holder(tmp_path)
    assert dead.stdout.readline() == "held\n"
    with pytest.raises(UserError, match=f"process {dead.pid} on .*choose another folder"):
        folder.claimed(tmp_path).__enter__()
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    with folder.claimed(tmp_path):
        assert (tmp_path / "lock").read_text().startswith(f"process {os.getpid()} on ")


def test_a_folder_is_free_again_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), folder.claimed(tmp_path):
        raise RuntimeError
    with folder.claimed(tmp_path), pytest.raises(UserError), folder.claimed(tmp_path):
        pass


def test_a_run_is_begun_once(tmp_path):
    folder.begin(tmp_path, tiny())
    assert folder.config_of(tmp_path) == tiny()
    with pytest.raises(UserError, match="continue it with --resume"):
        folder.begin(tmp_path, tiny())


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file"):
        folder.refuse_taken(tmp_path / "file")


def test_every_start_is_noted_with_what_it_ran_on(tmp_path, monkeypatch):
    assert folder.note(tmp_path, "cpu", ["ursa", "train"]) == []
    assert folder.note(tmp_path, "cpu", ["ursa", "train", "--resume"]) == []
    monkeypatch.setattr(folder, "_version", lambda name: "9.9" if name == "jax" else "1")
    changed = folder.note(tmp_path, "TPU", [])
    assert "device: TPU now, cpu before" in changed
    assert any(line.startswith("jax: 9.9 now, ") for line in changed)
    starts = json.loads((tmp_path / "environment.json").read_text())["starts"]
    assert [it["command"] for it in starts] == [
        ["ursa", "train"],
        ["ursa", "train", "--resume"],
        [],
    ]
    assert starts[0]["ursa"] == __version__


def test_a_damaged_note_stops_nothing(tmp_path):
    (tmp_path / "environment.json").write_text("{")
    assert folder.note(tmp_path, "cpu", []) == []


def test_the_commit_is_that_of_the_source_and_tells_of_changes(tmp_path):
    def git(*words):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    assert folder.commit(tmp_path) == ""
    git("init")
    (tmp_path / "file").write_text("1")
    git("add", ".")
    git("commit", "-m", "first")
    head = folder.commit(tmp_path)
    assert len(head) == 40
    (tmp_path / "file").write_text("2")
    assert folder.commit(tmp_path) == f"{head}+changes"
