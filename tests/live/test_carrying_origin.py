"""A learner on another machine knows a run again, moved or restarted, and takes no copy for it."""

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from live.carriers import begun
from live.machines import carried
from log.logs import LAYOUT, served, step
from ursa.channel.carrier import Unwanted
from ursa.log.ledger import Ledger
from ursa.shared import place


def copied(folder, name="copied"):
    """As `cp -a` or a backup has it: contents, times and modes are the same."""
    return shutil.copytree(folder, folder.parent / name, ignore=shutil.ignore_patterns("*.lock"))


def called(machines, folder):
    """Carry everything of a folder; how that was met."""
    with closing(machines.carrying(folder=folder)) as robot:
        try:
            while robot.turn(0.0):
                pass
        except Unwanted as error:
            return str(error)
        return robot.why


def walks_apart(machines):
    """Five rows are at the learner's; then a copy of the run makes two rows of its own, and calls,
    and the original makes three more, and calls. How each was met, and the learner's rows."""
    machines.record(5)
    carried(machines)[0].close()
    copy = copied(machines.robot)
    with closing(Ledger(copy, LAYOUT.kind)) as ledger:
        ledger.commit(5, [step(1000), step(1001)])
    met = called(machines, copy)
    place.forget(copy)
    machines.record(3)
    met = met, called(machines, machines.robot)
    return met, served(machines.copy, LAYOUT.kind)[0]


def test_a_copied_folder_is_a_run_of_its_own_and_the_original_goes_on(machines):
    (copy, original), rows = walks_apart(machines)
    assert "is a copy of run" in copy
    assert "copied, or put back from a backup, is a run of its own" in copy
    assert "another --out" in copy
    assert original == ""
    assert rows == {number: step(number) for number in range(8)}


def test_one_that_is_known_by_its_number_alone_would_be_taken_for_the_original(
    machines, monkeypatch
):
    """Sabotage: `cp -r` copies the number, too."""
    monkeypatch.setattr(place, "origin", lambda folder: (folder / "identity").read_text())
    (copy, original), rows = walks_apart(machines)
    assert copy == ""
    assert "row 6 of the learner's copy is not row 6 of this log" in original
    assert rows[5] == step(1000)


def after(folder, monkeypatch):
    """What a run is called at first, moved, with other modes and owners' bits, and when the file
    system has another number, as it may have after a restart of the machine."""
    found = [place.origin(folder)]
    folder = folder.rename(folder.parent / "moved")
    found.append(place.origin(folder))
    for path in (folder, folder / "identity"):
        path.chmod(0o750)
    found.append(place.origin(folder))
    real = Path.stat

    def restarted(self, **more):
        told = list(real(self, **more))
        told[2] += 7  # st_dev
        return os.stat_result(told)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", restarted)
        found.append(place.origin(folder))
    place.forget(folder)
    return found


def test_a_run_that_is_moved_or_whose_machine_is_restarted_is_called_the_same(root, monkeypatch):
    assert len(set(after(begun(root / "robot"), monkeypatch))) == 1


def test_called_by_its_memory_it_would_be_another_after_a_restart(root, monkeypatch):
    """Sabotage."""
    named = lambda folder: place._name(folder, (folder / "identity").read_text())  # noqa: E731
    monkeypatch.setattr(place, "origin", named)
    first, moved, chosen, restarted = after(begun(root / "robot"), monkeypatch)
    assert first == moved == chosen != restarted


@pytest.mark.parametrize("times", [2, 3])
def test_every_copy_and_every_copy_of_a_copy_is_another_run(root, times):
    folders = [begun(root / "robot")]
    for number in range(times):
        folders.append(copied(folders[-1], f"copy {number}"))
    names = {place.origin(folder) for folder in folders}
    assert len(names) == times + 1
    assert all(len(name) == 32 for name in names)
    for folder in folders:
        place.forget(folder)
