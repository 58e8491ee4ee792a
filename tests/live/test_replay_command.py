"""`ursa replay`: a learner follows from its log and its journal, and from nothing else."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from live.lessons import LAYOUT, LIVE, Recording, begin, drained, lived
from runs import quickly
from ursa import checkpoint
from ursa.errors import UserError
from ursa.live import settings
from ursa.live.learning import Learning
from ursa.live.replay_command import again, differences, replay
from ursa.log.ledger import Ledger
from ursa.log.watermark import Journal, entries


@pytest.fixture(scope="module", autouse=True)
def quick():
    with quickly():
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run with two checkpoints, and rounds after the last."""
    folder = begin(tmp_path_factory.mktemp("replay") / "run")
    settings.write(folder, LIVE)
    recording = Recording(folder)
    learning = Learning(folder, LIVE)
    for count in (48, 40, 20):
        recording.add(count)
        drained(learning)
        if count > 20:
            assert learning.save()
    learning.close()
    recording.close()
    return folder


@pytest.fixture
def copy(run, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("identity"))
    return folder


def files(folder):
    """When each was written; but for those that SQLite makes to read."""
    return {
        path: path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def rewritten(folder, kind, change):
    """The same ledger with records changed: whole, sealed, but not what was written then."""
    ledger_files = list(folder.glob(f"{kind.name}-*"))
    for path in ledger_files:
        path.unlink()
    ledger = Ledger(folder, kind)
    change(ledger)
    ledger.close()


def test_the_learner_of_the_newest_checkpoint_is_made_again_bit_for_bit(run):
    before = files(run)
    found = again(run, LAYOUT)
    assert found.differences == ()
    assert found.faults == ()
    assert found.name == "step_000000088"
    assert found.updates == 28  # (88 - 32) / 2
    assert found.leaves > 50
    assert files(run) == before  # and nothing was touched


def test_it_can_begin_with_an_earlier_checkpoint(run):
    found = again(run, LAYOUT, since=48)
    assert found.differences == ()
    assert found.updates == 20  # of the 28, 8 came before


def test_a_checkpoint_that_is_not_there_is_refused_with_those_that_are(run):
    with pytest.raises(UserError, match='unknown checkpoint "50": valid are 48, 88'):
        again(run, LAYOUT, since=50)


def test_one_row_that_is_not_what_it_was_is_seen(copy):
    def change(ledger):
        rows = [lived(number) for number in range(108)]
        rows[60] = lived(60, reward=np.array([0.25], np.float32))
        ledger.commit(0, rows)

    rewritten(copy, LAYOUT.kind, change)
    found = again(copy, LAYOUT)
    assert found.differences
    assert any("agent" in line for line in found.differences)


def test_a_row_that_no_update_had_seen_may_change(copy):
    """Sabotage of the test above: it must be the row that counts, not the rewriting."""

    def change(ledger):
        rows = [lived(number) for number in range(108)]
        rows[100] = lived(100, reward=np.array([0.25], np.float32))
        ledger.commit(0, rows)

    rewritten(copy, LAYOUT.kind, change)
    assert again(copy, LAYOUT).differences == ()


def renoted(folder, noted):
    """Another journal in its place."""
    for path in folder.glob("journal-*"):
        path.unlink()
    journal = Journal(folder)
    for watermark in noted:
        journal.note(watermark)
    journal.close()


def test_an_update_that_was_made_before_other_rows_came_is_seen(copy):
    noted = list(entries(copy))
    last = max(n for n, it in enumerate(noted) if it.visible == 48 and it.updates)
    first = min(n for n, it in enumerate(noted) if it.visible == 88)
    noted[last] = replace(noted[last], updates=noted[last].updates - 1)
    noted[first] = replace(noted[first], updates=noted[first].updates + 1)
    renoted(copy, noted)
    assert again(copy, LAYOUT).differences


def test_a_round_that_had_seen_fewer_rows_is_seen(copy):
    noted = list(entries(copy))
    noted[0] = replace(noted[0], visible=44)
    renoted(copy, noted)
    assert again(copy, LAYOUT).differences


def test_the_same_updates_on_the_same_rows_may_be_cut_into_other_rounds(copy):
    """Sabotage of the two tests above: it must be the order that counts, not the rewriting."""
    noted = list(entries(copy))
    busy = [n for n, it in enumerate(noted) if it.visible == 88 and it.updates == 4]
    noted[busy[0]] = replace(noted[busy[0]], updates=3)
    noted[busy[1]] = replace(noted[busy[1]], updates=5)
    renoted(copy, noted)
    assert again(copy, LAYOUT).differences == ()


def test_a_journal_that_ends_too_early_is_said(copy):
    renoted(copy, list(entries(copy))[:3])
    with pytest.raises(UserError, match="has 3 rounds, the checkpoint was made after"):
        again(copy, LAYOUT)


def test_a_damaged_row_is_told_beside_what_differs(copy):
    path = next(copy.glob("steps-*.db"))
    data = bytearray(path.read_bytes())
    at = data.find(lived(60)[20:60])
    assert at > 0
    data[at + 5] ^= 16
    path.write_bytes(bytes(data))
    found = again(copy, LAYOUT)
    assert any("60" in fault for fault in found.faults)
    assert found.differences


def test_the_command_says_so_and_returns_it(run, copy, capsys):
    assert replay(run, quiet=True) == 0
    assert "leaves of step_000000088 are equal" in capsys.readouterr().out
    newest = checkpoint.stored(copy / "checkpoints")[0]
    shutil.rmtree(newest)
    assert replay(copy, quiet=True) == 0
    assert "step_000000048" in capsys.readouterr().out


def test_a_run_without_a_checkpoint_has_nothing_to_compare(copy):
    shutil.rmtree(copy / "checkpoints")
    with pytest.raises(UserError, match="holds no checkpoint yet"):
        again(copy, LAYOUT)


def test_bits_are_compared_not_values():
    one = {"a": np.array([0.0, 1.0]), "b": np.zeros(2)}
    assert differences(one, {"a": np.array([-0.0, 1.0]), "b": np.zeros(2)}) == [
        "a: 0 of 2 numbers, by up to 0"
    ]
    assert differences(one, {"a": np.array([0.0, 1.5]), "b": np.zeros(2)}) == [
        "a: 1 of 2 numbers, by up to 0.5"
    ]
    assert differences(one, {"a": one["a"]}) == ["b: of another shape, or missing"]
