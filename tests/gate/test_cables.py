"""50 cable pulls at random moments: afterwards the robot starts from where it is, or not at all."""

import jaxtyping
import numpy as np
import pytest

from gate.gated import PERIOD, STANDING, Bench, at, is_limp
from ursa.gate import machine, seen
from ursa.gate.modes import Kind, Mode, Order

PULLS = 50


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def pulled(chance: np.random.Generator, bench: Bench) -> float:
    """Pull the cable and plug it in again; both ways are silent and the robot sinks."""
    bench.cycles(PERIOD * int(chance.integers(1, 50)), STANDING + 0.1)
    seconds = 0.05 * 600 ** float(chance.random())  # 0.05 s to 30 s
    ends = bench.now + seconds
    while bench.now < ends:
        bench.wants()
        # once faulted nothing changes any more: longer strides save time
        bench.cycle(None, elapsed=PERIOD if bench.mode is not Mode.FAULT else 0.05, cut=True)
    sunk = np.tile([0.0, 0.3, -0.5], 4) * min(seconds, 1.0) * chance.random()
    bench.angle = np.clip(bench.angle + sunk, -2.69, 4.1)
    if chance.random() < 0.5 and seconds > 1:
        bench.tick = int(chance.integers(0, 2**32))  # the robot was off meanwhile
    return seconds


def one_pull(seed: int) -> str:
    """One pull out of some mode, in which every command is checked; how it went."""
    chance = np.random.default_rng(seed)
    bench = at((Mode.RUN, Mode.STAND, Mode.HOLD, Mode.LIE_DOWN)[seed % 4])
    seconds = pulled(chance, bench)
    bench.cycle()
    pose = bench.state.seen.state.angle
    if seconds < 0.09:
        if bench.mode is Mode.DAMP:  # was lying down already
            return "limp"
        assert bench.mode in (Mode.HOLD, Mode.STAND, Mode.LIE_DOWN)
        assert np.abs(bench.command.angle - pose).max() <= 0.02
        return "short"
    if seconds > 0.11:
        assert bench.mode is Mode.FAULT
        bench.cycles(0.3, STANDING)  # wishes are no order
        assert is_limp(bench.command)
        assert bench.mode is Mode.FAULT
        bench.cycle(orders=(Order.ACKNOWLEDGE,))
        assert is_limp(bench.command)
        bench.cycle(orders=(Order.STAND,))
        assert bench.mode is Mode.STAND
        measured = bench.state.seen.state.angle
        assert np.abs(bench.command.angle - measured).max() <= 0.02
        return "long"
    return "between"


def all_pulls() -> list[str]:
    print("seeds 0 to", PULLS - 1)
    return [one_pull(seed) for seed in range(PULLS)]


def test_50_cable_pulls_end_where_the_robot_is_or_wait_for_a_hand():
    ends = all_pulls()
    assert ends.count("long") > 30
    assert ends.count("short") > 2


@pytest.mark.parametrize(
    "patch",
    [
        (machine, "_anchored", lambda limits, state: state.pose),  # on from the old target
        (seen, "_ages", lambda *arguments: []),  # nobody notices the silence
    ],
)
def test_without_the_protection_a_pull_goes_wrong(patch, monkeypatch):
    for mode in Mode:
        at(mode)
    monkeypatch.setattr(*patch)
    with pytest.raises(AssertionError):
        all_pulls()


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.5])
def test_lost_packets_hold_only_as_long_as_the_rule_says(share):
    """The mode equals what the age of the last packet alone says, at every cycle."""
    chance = np.random.default_rng(round(share * 100))
    bench = at(Mode.RUN)
    last, quiet = bench.now, bench.now - 1.0
    for count in range(1500):
        if count % 25 == 0:
            bench.wants()
        lost = chance.random() < share
        bench.cycle(None if lost else "good")
        age, gap = bench.now - last, not lost and bench.now - last > 0.02
        if not lost:
            last, age = bench.now, 0.0
        if age > 0.02 or gap:
            quiet = bench.now
        assert bench.mode is (Mode.HOLD if bench.now - quiet < 0.1 else Mode.RUN)
    assert bench.counts[Kind.BAD_PACKET] == 0


@pytest.mark.parametrize("length", [1, 5, 9, 11, 30, 49])
def test_a_burst_of_losses_holds_or_not_by_its_length(length):
    bench = at(Mode.RUN)
    bench.wants()
    for _ in range(length):
        bench.cycle(None)
    assert bench.mode is (Mode.RUN if length < 11 else Mode.HOLD)
