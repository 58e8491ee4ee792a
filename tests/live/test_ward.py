"""A ward: nobody waits for ever for a process, and what it ended of is told."""

import os
from contextlib import closing

import pytest

from live.hanging import Ended, Held, Stopped, Time
from live.stacked import LIMIT, live_of
from ursa.live import backoff, ward
from ursa.live.child import MISTAKE
from ursa.live.settings import Restarts
from ursa.live.ward import GONE_TIME, STACKS_TIME, Ward
from ursa.shared import place, pulse


@pytest.fixture
def time(monkeypatch):
    found = Time()
    monkeypatch.setattr(ward, "time", found)
    return found


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


# ---- what it says of an end -------------------------------------------------------------------


class Deaths:
    """A ward whose processes beat, write and end at once."""

    def __init__(self, folder, role, monkeypatch, time):
        self.folder, self.role, self.said, self.time = folder, role, [], time
        self.life = None  # how far it comes (None: it never beats), what it writes, its exit code
        monkeypatch.setattr(ward.subprocess, "Popen", self.started)
        live = live_of(folder, clock="wall", restarts=Restarts())
        self.ward = Ward(folder, live, role, self.said.append, lambda: False)

    def started(self, words, stdout, **more):
        progress, text, code = self.life
        if progress is not None:
            with closing(pulse.Pulse(self.folder, self.role)) as beating:
                beating.beat(progress)
        os.write(stdout, text.encode())
        return Ended(code)

    def dies(self, progress=5, text="", code=1):
        """One life; whether it is given up, and what is said of that."""
        self.said.clear()
        self.life = progress, text, code
        self.time.sleep(60.0)  # longer than any pause
        assert self.ward.look()
        hopeful = self.ward.look()
        assert self.ward._log._outlet.settle(LIMIT)
        return not hopeful, "\n".join(self.said)


@pytest.fixture
def deaths(tmp_path, monkeypatch, time):
    made = []

    def of(role):
        made.append(Deaths(tmp_path, role, monkeypatch, time))
        return made[-1]

    yield of
    made[-1].ward.close()
    place.forget(tmp_path)


def test_every_end_is_told_with_the_last_words_of_that_process(deaths):
    actor = deaths("actor")
    log = actor.folder / "logs" / "actor.log"
    over, said = actor.dies(text="Traceback ...\nValueError: no such skill\n\n")
    assert not over
    assert said == (
        f"actor ended with exit code 1; starting it again in 0.5 s (see {log})\n"
        "the last words of actor: ValueError: no such skill"
    )
    _, said = actor.dies(code=-9)  # it had no time to say anything
    assert said == f"actor ended with SIGKILL; starting it again in 1.0 s (see {log})"


def test_a_ward_that_does_not_read_the_log_would_not_say_why(deaths):
    """Sabotage."""
    actor = deaths("actor")
    actor.ward._log.tell = lambda lines: None
    assert "no such skill" not in actor.dies(text="ValueError: no such skill\n")[1]


def test_a_kill_by_others_is_nobodys_fault_and_a_hang_is_its_own(deaths):
    actor = deaths("actor")
    actor.dies(code=-9)
    assert (actor.ward.backoff.deaths, actor.ward.backoff.kills) == (1, 1)
    actor.ward._process, actor.ward._heard = Stopped(), actor.time.now
    actor.time.sleep(actor.ward.silent + 0.1)
    assert actor.ward.look()
    assert (actor.ward.backoff.deaths, actor.ward.backoff.kills) == (2, 1)


HELPLESS = "ursa: row 900: updates are not finite, and going back did not help\n"


def test_a_learner_beyond_help_is_given_up_at_the_second_time_with_its_sentence(deaths):
    learner = deaths("learner")
    assert not learner.dies(progress=800, text=HELPLESS, code=MISTAKE)[0]
    over, said = learner.dies(progress=800, text=HELPLESS, code=MISTAKE)
    assert over
    assert "learner ended with exit code 2, 2 times in a row at the same place: giving up" in said
    assert HELPLESS.strip() in said


def test_without_that_rule_it_would_do_the_same_rounds_again_and_again(deaths, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(backoff, "STUCK", 10**6)
    learner = deaths("learner")
    lives = [learner.dies(progress=800, code=MISTAKE)[0] for _ in range(20)]
    assert not any(lives)


PASSING = {
    "it gets farther each time": ("learner", [800, 801, 802]),
    "a full disk, at the start": ("learner", [0, 0, 0]),
    "its folder is in use, at the start": ("actor", [5, None, None]),
    "a recorder": ("recorder", [5, 5, 5]),
}


@pytest.mark.parametrize("case", PASSING)
def test_what_may_pass_is_tried_again(deaths, case):
    role, lives = PASSING[case]
    found = deaths(role)
    assert not any(found.dies(progress=progress, code=MISTAKE)[0] for progress in lives)


def test_an_actor_whose_config_cannot_be_used_is_given_up_at_the_second_time(deaths):
    actor = deaths("actor")  # it beats while it waits for the others, and counts nothing yet
    assert [actor.dies(progress=0, code=MISTAKE)[0] for _ in range(2)] == [False, True]
