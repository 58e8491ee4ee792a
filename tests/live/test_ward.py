"""A ward: nobody waits for ever for a process, not even for one that survives being killed."""

import subprocess

import pytest

from live.hanging import Stopped, Time
from live.stacked import live_of
from ursa.live import ward
from ursa.live.ward import GONE_TIME, STACKS_TIME, Ward
from ursa.shared import place


@pytest.fixture
def time(monkeypatch):
    found = Time()
    monkeypatch.setattr(ward, "time", found)
    return found


class Held(Stopped):
    """A process that a broken disk holds fast: killed, it stays."""

    def __init__(self, time):
        self._time = time

    def kill(self):
        pass

    def wait(self, seconds=None):
        if seconds is None:
            raise AssertionError("waits for ever")
        self._time.sleep(seconds)
        raise subprocess.TimeoutExpired("python", seconds)


@pytest.fixture
def held(tmp_path, time):
    """A recorder that hangs and cannot be ended."""
    found = Ward(tmp_path, live_of(tmp_path, clock="wall"), "recorder", print, lambda: False)
    found._process, found._heard = Held(time), time.now
    yield found
    found.close()
    place.forget(tmp_path)


def test_one_that_does_not_end_of_being_killed_is_left_after_a_second(held, time):
    begun = time.now
    held.kill()
    assert time.now - begun == GONE_TIME == 1.0
    assert held.code == -9  # not an end in order


def test_the_watch_goes_on_and_another_is_started_in_its_place(held, time):
    time.sleep(held.silent + 0.1)
    begun = time.now
    assert held.look()
    assert time.now - begun == pytest.approx(STACKS_TIME + GONE_TIME)
    assert (held.pid, held.backoff.total) == (None, 1)


def test_one_that_waits_for_the_end_of_it_would_wait_for_ever(held, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(ward, "GONE_TIME", None)
    with pytest.raises(AssertionError, match="waits for ever"):
        held.kill()
