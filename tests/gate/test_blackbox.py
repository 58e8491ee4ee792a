"""Black boxes: fifty are kept, and whoever waits for the next is told once that there is none."""

import pytest

from gate.gated import LIMITS
from ursa.errors import UserError
from ursa.gate import blackbox
from ursa.gate.blackbox import FOLDER, FULL, KEPT, BlackBox
from ursa.gate.modes import Mode
from ursa.shared import place


@pytest.fixture
def folder(tmp_path):
    blackbox.create(tmp_path, 4)
    box = BlackBox(tmp_path)
    box.note(1.0, Mode.FAULT, None, LIMITS.limp, ())
    box.close()
    yield tmp_path
    place.forget(tmp_path)


def dumped(folder, times):
    """How many black boxes were written, and what was told, of so many faults."""
    written, told = 0, []
    for _ in range(times):
        try:
            written += blackbox.dump(folder, "a test") is not None
        except UserError as error:
            told.append(str(error))
    return written, told


def test_fifty_are_written_and_that_there_are_no_more_is_told_once(folder):
    assert dumped(folder, KEPT) == (50, [])
    written, told = dumped(folder, 5)
    assert written == 0
    assert len(told) == 1
    assert "holds 50 already, and no more are kept" in told[0]
    assert told[0] in (folder / FOLDER / FULL).read_text()


def test_when_they_were_moved_away_there_is_room_again_and_its_end_is_told_again(folder):
    dumped(folder, KEPT + 1)
    for path in (folder / FOLDER).glob("0*"):
        path.unlink()
    assert dumped(folder, 1) == (1, [])
    written, told = dumped(folder, KEPT + 3)
    assert (written, len(told)) == (49, 1)
