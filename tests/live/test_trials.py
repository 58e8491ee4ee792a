"""How far a series of trials is, and what was written of it."""

import io

import pytest

from ursa.gate.wired import Wired
from ursa.live.trials import Trials, teller


class Watch(Wired):
    """An engine of which only the clock matters."""

    told = None

    def __init__(self):
        self.time, self.clock = 100.0, self

    def now(self):
        return self.time


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_time_left_follows_from_the_steps_made_and_the_time_they_took():
    watch, screen = Watch(), Terminal()
    trials = Trials(watch, 4, 10, screen)
    assert trials.line() == "0% rollout 1 of 4, step 0 of 10, -, ETA -"
    watch.time += 3.0  # it stood up
    for _ in range(10):
        watch.time += 0.2
        trials.step()
    assert trials.left == pytest.approx(15.0)  # 5 s for 10 steps, 30 to go
    assert trials.line() == "25% rollout 2 of 4, step 0 of 10, -, ETA 0:15"
    assert screen.getvalue().count("rollout 1 of 4") == 3  # every half second: at 3.2, 3.8, 4.4 s
    trials.step()
    trials.over(2)  # stopped after one step: 20 of 40 are behind us
    assert trials.left == pytest.approx(5.0)


def test_what_an_earlier_start_has_made_says_nothing_of_the_pace():
    watch = Watch()
    trials = Trials(watch, 4, 10, Terminal(), earlier=2)
    assert trials.line() == "50% rollout 3 of 4, step 0 of 10, -, ETA -"
    watch.time += 5.0
    trials.over(3)
    assert trials.left == pytest.approx(5.0)  # 5 s for 10 steps, 10 to go


def test_what_is_said_has_a_line_of_its_own_also_over_a_line_that_is_redrawn():
    screen, file = Terminal(), io.StringIO()
    for stream in (screen, file):
        teller(stream)("limp")
    assert screen.getvalue() == "\r\x1b[2Kursa: limp\n"
    assert file.getvalue() == "ursa: limp\n"
