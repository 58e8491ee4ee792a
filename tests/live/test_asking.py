"""What other processes ask a person for reaches the terminal; what a run used in memory goes."""

import pytest

from live.stacked import live_of
from ursa.claim import Claim
from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode
from ursa.live import settings, supervisor
from ursa.live.supervisor import INTERRUPTED, LOCK, Supervisor
from ursa.shared import place, pulse

CARRY = "60 s on its way home and not there: stop it, carry it to the middle, acknowledge"


@pytest.fixture
def run(tmp_path):
    """A supervisor that has started nothing, and what it says."""
    live = live_of(tmp_path)
    settings.write(tmp_path, live)
    said = []
    found = Supervisor(tmp_path, live, Claim(tmp_path / LOCK, tmp_path), said.append)
    yield found, said
    place.forget(tmp_path)


def told(fault=""):
    return Told(cycle=1, now=1.0, mode=Mode.DAMP, since=0.0, fault=fault)


def passed_on(run, said, beats):
    """What is said while actor and recorder beat like this, four looks for each."""
    run._ears.newest = told
    mouths = {role: pulse.Pulse(run.folder, role) for role in ("actor", "recorder")}
    for role, words in beats:
        mouths[role].beat(1, **words)
        for _ in range(4):
            run._converse(rest=False)
    for mouth in mouths.values():
        mouth.close()
    run.close()
    return said


BEATS = (
    ("recorder", {"low": ""}),
    ("recorder", {"low": "only 4.9 GB of disk are free"}),
    ("recorder", {"low": "only 4.8 GB of disk are free"}),  # the same, some rows later
    ("actor", {"asks": CARRY}),
    ("actor", {"asks": ""}),
    ("recorder", {"low": ""}),
    ("actor", {"asks": CARRY}),
)


def test_a_robot_that_needs_a_hand_and_a_disk_that_fills_are_told_once_each_time(run):
    disk = "only 4.{} GB of disk are free"
    assert passed_on(*run, BEATS) == [disk.format(9), CARRY, disk.format(8), CARRY]


def test_one_that_does_not_look_at_them_would_say_nothing(run, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Supervisor, "asked", "")
    assert passed_on(*run, BEATS) == []


def left(run, fault=""):
    """Whether the memory of a run is still there after its end in order."""
    memory = place.shared(run.folder)
    run._ears.newest = lambda: told(fault)
    assert run.run(lambda: True, lambda _: None) == INTERRUPTED
    return memory.exists()


def test_a_run_in_virtual_time_gives_its_memory_back_too(run):
    assert run[0].live.virtual
    assert not left(run[0])


def test_without_that_it_would_stay_until_the_machine_is_restarted(run, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(supervisor.place, "forget", lambda folder: None)
    assert left(run[0])


def test_what_waits_for_a_person_still_waits_after_the_end(run):
    assert left(run[0], "stop by order")
