"""Memory that is removed under a living run: it is noticed, the robot lies down, all ends in order.

As systemd does it when the last session of an account ends.
"""

import json
import shutil
from contextlib import closing
from threading import Event

import pytest

from live.hanging import Obedient, Time
from live.stacked import LIMIT, live_of, recorded, stacked
from ursa.claim import Claim
from ursa.gate import drivers, farewell, link, mailbox
from ursa.live import memory, settings, supervisor, vigil, ward
from ursa.live.gatekeeper import Gatekeeper
from ursa.live.memory import Memory
from ursa.live.supervisor import GAVE_UP, INTERRUPTED, LOCK, Supervisor
from ursa.live.vigil import UserError, Vigil
from ursa.log import store
from ursa.shared import place, pulse

BEFORE, LATER = 5, 50  # looks until the memory goes; until nobody is believed to notice


class Scene:
    """A supervisor whose processes, time and way to the robot are stubs."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.time, self.said, self.looks = folder, Time(), [], 0
        for each in (ward, supervisor):
            monkeypatch.setattr(each, "time", self.time)
        monkeypatch.setattr(ward.subprocess, "Popen", lambda words, **more: Obedient())
        monkeypatch.setattr(farewell, "send", lambda robot, limits: "limp")
        self.live = live_of(folder, clock="wall")
        self.robot = link.address(self.live.link)
        settings.write(folder, self.live)

    def gone(self, remove):
        """The exit code of a run under which something is removed."""
        claim = Claim(self.folder / LOCK, self.folder)
        with closing(link.reserved(self.robot, self.folder)):
            run = Supervisor(self.folder, self.live, claim, self.said.append)
            run._ring.touch()
            gate = pulse.Pulse(self.folder, "gate")

            def stop():
                self.looks += 1
                gate.beat(self.looks)  # or it would hang
                if self.looks == BEFORE:
                    remove(self)
                return self.looks > LATER

            with closing(gate):
                return run.run(stop, lambda _: None)


@pytest.fixture
def scene(memory, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    return Scene(folder, monkeypatch)


def everything(scene):
    shutil.rmtree(place.MEMORY)
    place.MEMORY.mkdir()


def replaced(scene):
    """By memory of the same name, in which nobody listens."""
    everything(scene)
    mailbox.create(scene.folder)
    for path in (store.ring_of(scene.folder), drivers.lock(*scene.robot, "run.lock")):
        path.touch()


def box(scene):
    (place.shared(scene.folder) / "told").unlink()


def ring(scene):
    store.ring_of(scene.folder).unlink()


def lock(scene):
    """So that a second run could have the same robot."""
    drivers.lock(*scene.robot, "run.lock").unlink()


WAYS = [everything, replaced, box, ring, lock]


@pytest.mark.parametrize("remove", WAYS)
def test_a_run_whose_memory_is_removed_says_so_once_and_ends_in_order(scene, remove):
    assert scene.gone(remove) == GAVE_UP
    assert scene.looks == BEFORE
    (told,) = [it for it in scene.said if "THE MEMORY OF THIS RUN IS GONE" in it]
    assert "loginctl enable-linger" in told
    assert f"ursa robot train --resume {scene.folder}" in told


@pytest.mark.parametrize("remove", WAYS)
def test_one_that_does_not_look_would_go_on_out_of_reach(scene, remove, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Memory, "missing", lambda self: None)
    assert scene.gone(remove) == INTERRUPTED
    assert "MEMORY" not in "".join(scene.said)


def test_memory_that_is_not_there_yet_or_made_anew_for_another_layout_is_not_missed(scene):
    found = Memory(scene.folder, scene.robot)
    assert found.missing() is None
    mailbox.create(scene.folder)
    store.ring_of(scene.folder).touch()
    assert found.missing() is None
    other = store.ring_of(scene.folder).with_name("other")
    other.touch()
    other.rename(store.ring_of(scene.folder))
    assert found.missing() is None


def test_whether_a_gate_can_be_told_anything_is_asked_without_making_memory(scene):
    assert not memory.there(scene.folder)
    assert list(place.MEMORY.iterdir()) == []
    mailbox.create(scene.folder)
    assert memory.there(scene.folder)
    box(scene)
    assert not memory.there(scene.folder)


def used(scene, monkeypatch):
    """What a command that uses a robot hears of its vigil when the memory is gone."""
    for role in ("gate", "vigil"):
        pulse.create(scene.folder, role)
    mailbox.create(scene.folder)
    keeper = Gatekeeper(scene.folder, scene.live, print, lambda: True)
    looked = Event()  # twice since it is gone

    class Sleep(Event):
        count = 0

        def wait(self, timeout=None):
            self.count += 1
            if self.count == 1:
                everything(scene)
            elif self.count == 3:
                looked.set()
            return super().wait(timeout)

    monkeypatch.setattr(vigil, "Event", Sleep)
    with closing(keeper.ward), closing(Vigil(keeper)) as found:
        assert looked.wait(LIMIT)
        found.check()


def test_a_command_that_uses_a_robot_does_not_go_on_either(scene, monkeypatch):
    with pytest.raises(UserError, match="THE MEMORY OF THIS RUN IS GONE"):
        used(scene, monkeypatch)


def test_a_vigil_that_does_not_look_would(scene, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Memory, "missing", lambda self: None)
    used(scene, monkeypatch)


def modes(folder):
    lines = (folder / "interventions.jsonl").read_text().splitlines()
    return [it["detail"] for it in map(json.loads, lines) if it["kind"] == "mode"]


def test_a_whole_run_lies_down_by_the_memory_that_it_still_has_and_goes_on_when_resumed(root):
    with stacked(root / "run") as run:
        run.start()
        run.grows()
        shutil.rmtree(place.shared(run.folder))
        assert run.supervisor.wait(LIMIT) == GAVE_UP
        assert "THE MEMORY OF THIS RUN IS GONE" in (run.folder / "supervisor.log").read_text()
        *_, down, limp = modes(run.folder)
        assert (down.partition(" -> ")[2], limp) == ("lie down", "lie down -> damp")
        before, faults = recorded(run.folder)
        assert len(before) >= 5
        assert faults == []
        run.start()
        run.grows()
        assert run.end() == INTERRUPTED
        after, faults = recorded(run.folder)
        assert faults == []
        assert list(after) == list(range(len(after)))
        assert before.items() <= after.items()
