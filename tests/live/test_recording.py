"""The recorder says when the disk is nearly full, long before it has to stop."""

from types import SimpleNamespace

import pytest

from ursa.live import recording, settings
from ursa.live.recording import Room


@pytest.fixture
def disk(monkeypatch):
    """A disk with so many bytes left, and how often somebody asked."""
    found = SimpleNamespace(free=9e9, asked=0)

    def usage(folder):
        found.asked += 1
        return found

    monkeypatch.setattr(recording.shutil, "disk_usage", usage)
    return found


def said(folder, disk, least=settings.Live.room_low):
    """What is told at 0, 20 and 40 s, while the disk fills and is emptied again."""
    room, told = Room(folder, least), []
    for now, free in ((100.0, 5e9), (120.0, 4.94e9), (140.0, 8e9)):
        disk.free = free
        told.append(room.look(now))
    return told


LOW = "only 4.9 GB of disk are free, less than 5: make room"


def test_below_five_gigabytes_it_is_told_until_there_is_room_again(tmp_path, disk, caplog):
    assert said(tmp_path, disk) == ["", LOW, ""]
    assert caplog.messages == [LOW]


def test_one_that_is_told_to_bear_less_says_nothing(tmp_path, disk):
    """Sabotage."""
    assert said(tmp_path, disk, least=0.0) == ["", "", ""]


def test_the_disk_is_asked_every_ten_seconds_and_told_of_once(tmp_path, disk, caplog):
    room, disk.free = Room(tmp_path, 5.0), 1e9
    for step in range(1000):  # 20 s
        assert (
            room.look(50.0 + 0.02 * step) == "only 1.0 GB of disk are free, less than 5: make room"
        )
    assert disk.asked == 2
    assert len(caplog.messages) == 1
