"""How long an end waits for whom: a minute for one that has something to save, for others not.

Processes are stubs that do not hear that they are asked to end, as one that compiles does not;
time passes while somebody sleeps.
"""

from contextlib import closing

import pytest

from live.hanging import Obedient, Stopped, Time
from live.stacked import live_of
from ursa.claim import Claim
from ursa.gate import farewell
from ursa.live import settings, supervisor, ward
from ursa.live.settings import Patience
from ursa.live.supervisor import DONE, GAVE_UP, INTERRUPTED, LOCK, SOON, Supervisor
from ursa.live.ward import PAUSE, Ward
from ursa.shared import place, pulse


class Scene:
    """A run in which one role does not hear that it is asked to end."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.time, self.said = folder, Time(), []
        for each in (ward, supervisor):
            monkeypatch.setattr(each, "time", self.time)
        monkeypatch.setattr(ward.subprocess, "Popen", self.started)
        monkeypatch.setattr(farewell, "send", lambda robot, limits: "limp")
        self.live = live_of(folder, clock="wall", patience=Patience())
        settings.write(folder, self.live)

    def started(self, words, **more):
        deaf = words[2] == getattr(self.live.modules, self.role)
        return Stopped() if deaf else Obedient()

    def ended(self, role, beats=None, done=False):
        """Seconds from the signal to the end, and whether memory was given back.

        `beats`: what the role says of itself before; None: it has not beaten yet. `done`: nobody
        asks for the end, all rows are there.
        """
        self.role = role
        claim = Claim(self.folder / LOCK, self.folder)
        run = Supervisor(self.folder, self.live, claim, self.said.append)
        run._ring.touch()
        run.look()
        run.look()
        if beats is not None:
            with closing(pulse.Pulse(self.folder, role)) as pulses:
                pulses.beat(7, **beats)
        begun = self.time.now
        if done:
            run._attend = lambda *words: DONE
        assert run.run(lambda: True, lambda _: None) == (GAVE_UP if done else INTERRUPTED)
        return self.time.now - begun, not place.begun(self.folder)


@pytest.fixture
def scene(memory, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    return Scene(folder, monkeypatch)


SLACK = 10 * PAUSE


@pytest.mark.parametrize("role", ["learner", "actor"])
def test_one_that_is_only_starting_is_not_waited_for_and_memory_is_given_back(scene, role):
    seconds, given_back = scene.ended(role)
    assert SOON <= seconds <= SOON + SLACK
    assert given_back
    assert f"{role} was only starting, and was ended" in scene.said


def test_an_actor_that_still_waits_for_the_others_has_nothing_to_save_either(scene):
    seconds, _ = scene.ended("actor", {"waiting": "for another process"})
    assert SOON <= seconds <= SOON + SLACK


def test_a_learner_that_has_begun_has_its_minute_to_save(scene):
    seconds, given_back = scene.ended("learner", {})
    assert 60.0 <= seconds <= 60.0 + SLACK
    assert not given_back
    assert "learner did not end within 60 s and was killed" in scene.said


def test_one_that_begins_while_it_is_waited_for_has_it_too(scene, monkeypatch):
    """It has compiled, and hears now that it is to end."""
    beating = []

    def sleep(seconds):
        scene.time.now += seconds
        if not beating and "ending" in "".join(scene.said):
            beating.append(pulse.Pulse(scene.folder, "learner"))
            beating[0].beat(0)

    monkeypatch.setattr(scene.time, "sleep", sleep)
    seconds, _ = scene.ended("learner")
    beating[0].close()
    assert seconds >= 60.0


def test_when_all_rows_are_there_a_learner_that_is_only_starting_has_it_too(scene):
    """Nobody would go on with that run, and it would never have an agent."""
    seconds, _ = scene.ended("learner", done=True)
    assert seconds >= 60.0


def test_a_recorder_has_it_always(scene):
    seconds, _ = scene.ended("recorder")
    assert seconds >= 60.0


def test_an_end_that_does_not_look_would_take_a_minute(scene, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Ward, "working", lambda self: True)
    seconds, given_back = scene.ended("learner")
    assert seconds >= 60.0
    assert not given_back


def test_an_end_that_takes_all_for_idle_would_cost_what_was_learnt(scene, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Ward, "working", lambda self: False)
    seconds, _ = scene.ended("learner", {})
    assert seconds <= SOON + SLACK
