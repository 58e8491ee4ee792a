"""When a process is started again, and when that would not help: by how long its lives were."""

import random
from dataclasses import replace

import pytest

from live.test_storm import program
from ursa.live import backoff
from ursa.live.backoff import Backoff, End
from ursa.live.settings import Restarts

RULE = Restarts(first=1.0, most=30.0, healthy=60.0, window=600.0, allowed=8)
NEVER = 3000  # deaths after which nobody is believed to give up


def delays(rule, lives):
    """Waits before each restart, of processes that lived so long each."""
    found, state = [], Backoff()
    for lived in lives:
        state = backoff.failed(rule, state, End(lived=lived))
        found.append(backoff.delay(rule, state))
    return found, state


def test_waits_double_up_to_a_bound_and_begin_anew_after_a_healthy_life():
    found, state = delays(RULE, [0.1] * 7 + [61.0, 0.1])
    assert found == [1, 2, 4, 8, 16, 30, 30, 1, 2]
    assert state.total == 9


def test_it_is_hopeless_after_more_lives_in_a_row_than_allowed_that_were_shorter_than_the_window():
    assert not backoff.hopeless(RULE, delays(RULE, [0.1] * 8)[1])
    _, state = delays(RULE, [0.1] * 9)
    assert backoff.hopeless(RULE, state) == "9 times in a row, each within 600 s of its start"
    assert backoff.hopeless(RULE, delays(RULE, [599.0] * 9)[1])


def test_a_life_as_long_as_the_window_gives_it_all_its_chances_again():
    assert not backoff.hopeless(RULE, delays(RULE, [0.1] * 8 + [600.0] + [0.1] * 7)[1])
    assert not backoff.hopeless(RULE, delays(RULE, [600.0] * 50)[1])
    assert backoff.hopeless(RULE, delays(RULE, [600.0] * 50 + [0.1] * 8)[1])


def given_up(rule, lived):
    """After how many deaths, and seconds, one is given up that always lives so long; or None."""
    state, now = Backoff(), 0.0
    for deaths in range(1, NEVER):
        now += lived
        state = backoff.failed(rule, state, End(lived=lived))
        if backoff.hopeless(rule, state):
            return deaths, now
        now += backoff.delay(rule, state)
    return None


# Twenty pauses: 0.5 + 1 + 2 + 4 + 8 + 16 + 14 times 30 = 451.5 s; 20 times 0.5 s after a minute.
LONG = {0.1: 2.1 + 451.5, 7.5: 157.5 + 451.5, 40.0: 840 + 451.5, 70.0: 1470 + 10, 300.0: 6300 + 10}


@pytest.mark.parametrize("lived", LONG)
def test_one_that_dies_of_the_same_thing_every_time_is_given_up_however_long_it_takes(lived):
    """A learner compiles for a minute before it dies; 300 s are all that a first beat may take."""
    deaths, seconds = given_up(Restarts(), lived)
    assert deaths == 21
    assert seconds == pytest.approx(LONG[lived])


def test_a_rule_that_counts_what_falls_into_a_short_window_would_never_give_it_up():
    """Sabotage: as if a life of a minute were as good as any."""
    assert given_up(replace(Restarts(), window=60.0), 70.0) is None


def lacking(rule, times=NEVER):
    """What is remembered of one that always lacks the same thing, which may come back."""
    state = Backoff()
    for _ in range(times):
        state = backoff.failed(rule, state, End(lived=30.0, lacking=True))
    return state


def test_one_that_lacks_what_may_come_back_is_not_given_up_for_that():
    state = lacking(RULE)
    assert (backoff.hopeless(RULE, state), backoff.delay(RULE, state)) == ("", 30.0)
    assert state.total == NEVER  # each is counted for who looks at the line
    for _ in range(9):
        state = backoff.failed(RULE, state, End(lived=30.0))
    assert backoff.hopeless(RULE, state)


def test_where_no_second_one_may_come_none_does():
    """Of adapt: no second gate before a person has looked."""
    once = replace(RULE, allowed=0)
    assert backoff.hopeless(once, lacking(once, 1)) == "and no other is started"


def killed(times, lived=30.0):
    """What is remembered of one that others kill again and again."""
    state = Backoff()
    for _ in range(times):
        state = backoff.failed(RULE, state, End(lived=lived, killed=True))
    return state


def test_one_that_others_kill_has_three_times_the_chances_and_no_more():
    """Nobody's own fault; but a machine without memory kills, too, and that does not pass."""
    assert not backoff.hopeless(RULE, killed(24))
    assert backoff.hopeless(RULE, killed(25))
    assert not backoff.hopeless(RULE, killed(50, lived=600.0))
    assert backoff.hopeless(replace(RULE, allowed=0), killed(1))  # of adapt: no second gate


STORMS, HITS = 300, 100


def weathered(seed, victims):
    """Whether a run outlasts the random kills of the storm, which spares nobody for long."""
    chance = random.Random(seed)
    coming = victims(chance)
    now, states, begun = 0.0, {}, {}
    for _ in range(HITS):
        now += chance.expovariate(1 / 25.0) + 5.0  # at the least, until rows and updates grow
        victim = next(coming)
        if victim == "supervisor":  # a new one remembers nothing
            states, begun = {}, {}
            continue
        end = End(lived=now - begun.get(victim, 0.0), killed=True)
        states[victim] = backoff.failed(Restarts(), states.get(victim, Backoff()), end)
        begun[victim] = now
        if backoff.hopeless(Restarts(), states[victim]):
            return False
    return True


def test_random_kills_every_half_minute_are_no_reason_to_give_up():
    victims = program().victims
    assert all(weathered(seed, victims) for seed in range(STORMS))


def test_a_rule_with_less_patience_would_give_up_in_a_storm(monkeypatch):
    """Sabotage: ten kills in a row."""
    monkeypatch.setattr(backoff, "KILLS", 0.5)
    victims = program().victims
    assert not all(weathered(seed, victims) for seed in range(STORMS))


def mistaken(*places):
    """Whether it is given up at each of some mistakes in a row, which came so far."""
    state, found = Backoff(), []
    for place in places:
        state = backoff.failed(RULE, state, End(lived=70.0, place=place))
        found.append(bool(backoff.hopeless(RULE, state)))
    return found


def test_the_same_mistake_twice_in_a_row_no_farther_than_before_is_hopeless():
    assert mistaken(500, 500) == [False, True]
    assert mistaken(500, 480) == [False, True]
    assert mistaken(0, 0) == [False, True]


def test_one_that_came_farther_or_ended_otherwise_in_between_is_tried_again():
    assert mistaken(500, 501, 502) == [False, False, False]
    assert mistaken(500, None, 500) == [False, False, False]


def test_a_rule_that_forgives_every_mistake_would_repeat_it_for_long(monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(backoff, "STUCK", 1000)
    assert mistaken(500, 500, 500) == [False, False, False]
