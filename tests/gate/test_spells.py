"""A bad cable fills no disk: what comes packet after packet is told by number."""

from collections import Counter

import jaxtyping
import pytest

from ursa.gate import spells
from ursa.gate.modes import Event, Kind, Level
from ursa.gate.spells import spoken

PERIOD = 0.01  # longer than a gate's: fewer cycles to a minute


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def repeated(tick: int) -> Event:
    return Event(Kind.REPEATED_PACKET, Level.COUNT, f"tick {tick} after {tick}")


def lived(cycles: int, found) -> list[tuple[float, Event]]:
    """What is told in so many cycles of a gate that finds `found(cycle)` in each."""
    held, told = {}, []
    for cycle in range(cycles):
        now = round(cycle * PERIOD, 6)
        events, held = spoken(now, found(cycle), held)
        told += [(now, event) for event in events]
    return told


def test_one_alone_is_told_as_it_is_and_nothing_after_it():
    assert lived(2000, lambda cycle: [repeated(7)] if cycle == 10 else []) == [(0.1, repeated(7))]


def test_the_next_one_after_a_quiet_second_is_told_at_once_again():
    told = lived(2000, lambda cycle: [repeated(cycle)] if cycle in (10, 600) else [])
    assert told == [(0.1, repeated(10)), (6.0, repeated(600))]


def test_a_hundred_in_a_row_are_a_line_at_once_and_one_with_their_number_when_it_is_quiet():
    told = lived(1000, lambda cycle: [repeated(cycle)] if cycle < 100 else [])
    assert told[0] == (0.0, repeated(0))
    # the last of them came at 0.99 s; a second later the spell is over
    last = "99 more in 1.0 s, the last: tick 99 after 99"
    assert told[1:] == [(1.99, Event(Kind.REPEATED_PACKET, Level.COUNT, last))]


def lines_of_ten_minutes(found) -> Counter:
    """Lines of each kind that ten minutes of a bad cable leave."""
    return Counter(event.kind for _, event in lived(60_000, found))


def bad_cable(cycle: int) -> list[Event]:
    """One packet in ten comes twice, one in two is damaged, each in its own way."""
    found = [repeated(cycle)] if cycle % 10 == 0 else []
    damaged = Event(Kind.BAD_PACKET, Level.COUNT, f"checksum: {cycle}")
    return [*found, damaged] if cycle % 2 == 0 else found


def test_ten_minutes_of_a_bad_cable_are_ten_lines_of_each_kind_and_none_is_left_out():
    # the first at once, the others once a minute; the last of them are still to come
    assert lines_of_ten_minutes(bad_cable) == {Kind.BAD_PACKET: 10, Kind.REPEATED_PACKET: 10}
    told = [event for _, event in lived(60_000 + 200, lambda c: bad_cable(c) * (c < 60_000))]
    more = [it.detail.split()[0] for it in told if it.kind is Kind.REPEATED_PACKET][1:]
    assert 1 + sum(int(each) for each in more) == 6000


def test_a_line_for_each_would_be_36000_of_them(monkeypatch):
    """Sabotage: nothing is a crowd."""
    monkeypatch.setattr(spells, "CROWDS", frozenset())
    assert lines_of_ten_minutes(bad_cable) == {Kind.BAD_PACKET: 30_000, Kind.REPEATED_PACKET: 6000}


def test_a_button_that_is_held_is_one_stop_and_hides_no_order_to_stop():
    held = Event(Kind.STOP, Level.FAULT, "by the remote")
    order = Event(Kind.STOP, Level.FAULT, "by order")
    told = lived(500, lambda cycle: [order if cycle == 30 else held])
    assert [event for _, event in told] == [held, order]


@pytest.mark.parametrize("now", [3.0, float("nan")])
def test_a_clock_that_runs_backwards_ends_a_spell_and_hides_nothing(now):
    _, held = spoken(100.0, [repeated(1)], {})
    _, held = spoken(100.5, [repeated(2)], held)
    told, held = spoken(now, [], held)
    assert [event.detail for event in told] == ["1 more in 0.5 s, the last: tick 2 after 2"]
    assert held == {}


@pytest.mark.parametrize("kind", [Kind.MODE, Kind.GAP, Kind.ORDER_REFUSED, Kind.HOT, Kind.ERROR])
def test_whatever_decides_something_is_told_every_time(kind):
    event = Event(kind, Level.COUNT, "again")
    assert len(lived(50, lambda cycle: [event])) == 50
