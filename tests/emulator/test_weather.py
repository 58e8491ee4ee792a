"""A link loses, doubles, damages and reorders what its weather says; in calm weather nothing."""

import pytest

from ursa.emulator.chance import Stream
from ursa.emulator.weather import CALM, Way, Weather, damage
from ursa.errors import UserError

SENT = 4000
DATA = bytes(range(256)) * 3


def carried(weather: Weather, seed: int = 5) -> list[tuple[float, int, bytes]]:
    """(when, number, bytes) of all that arrives of datagrams sent every 2 ms."""
    way, found = Way(seed, "test"), []
    for number in range(SENT):
        for time, data in way.carry(weather, number * 0.002, DATA):
            found.append((time, number, data))
    return found


def test_calm_weather_changes_nothing():
    assert carried(CALM) == [(number * 0.002, number, DATA) for number in range(SENT)]


def test_latency_and_jitter_delay_within_their_bounds_and_keep_the_order():
    found = carried(Weather(latency=0.003, jitter=0.01))
    assert len(found) == SENT
    times = [time for time, _, _ in found]
    assert times == sorted(times)
    late = [time - number * 0.002 for time, number, _ in found]
    assert min(late) >= 0.003
    assert max(late) <= 0.013 + 1e-12


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_the_share_that_is_lost_doubled_or_damaged_is_the_one_asked_for(share):
    # Within five standard deviations of a binomial of 4000.
    close = 5 * (share * (1 - share) * SENT) ** 0.5
    lost = SENT - len(carried(Weather(loss=share)))
    doubled = len(carried(Weather(duplicate=share))) - SENT
    damaged = sum(data != DATA for _, _, data in carried(Weather(corrupt=share)))
    for count in (lost, doubled, damaged):
        assert abs(count - share * SENT) < close


def test_only_those_picked_to_be_overtaken_are():
    orders = []
    for weather in (Weather(jitter=0.01), Weather(reorder=0.1)):
        found = sorted(carried(weather), key=lambda it: it[0])
        numbers = [number for _, number, _ in found]
        orders.append(numbers == sorted(numbers))
    assert orders == [True, False]


def test_the_same_seed_is_the_same_weather_and_another_is_not():
    rough = Weather(jitter=0.01, loss=0.1, duplicate=0.1, reorder=0.1, corrupt=0.1)
    assert carried(rough, 5) == carried(rough, 5)
    assert carried(rough, 5) != carried(rough, 6)


def test_draws_do_not_depend_on_the_order_in_which_they_are_asked_for():
    first, second = Stream(7, "a", 3), Stream(7, "a", 3)
    wanted = [first.draw(number).tolist() for number in (0, 300, 5)]
    assert [second.draw(number).tolist() for number in (5, 0, 300)] == [
        wanted[2],
        wanted[0],
        wanted[1],
    ]
    assert Stream(7, "b", 3).draw(0).tolist() != wanted[0]


def test_damage_always_changes_something():
    for number in range(500):
        draw = Stream(1, "damage", 2).draw(number)
        assert damage(DATA, *draw.tolist()) != DATA


def test_a_storm_is_at_least_as_bad_as_the_weather_was():
    both = Weather(latency=0.01, loss=0.2).worse(Weather(latency=0.002, corrupt=0.5))
    assert both == Weather(latency=0.01, loss=0.2, corrupt=0.5)


def test_impossible_weather_is_refused():
    with pytest.raises(UserError, match=r"link.loss = 1.5, want a share from 0 to 1"):
        Weather(loss=1.5)
    with pytest.raises(UserError, match=r"link.latency = -1, want a number >= 0"):
        Weather(latency=-1)
