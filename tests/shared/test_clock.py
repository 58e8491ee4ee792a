"""A shared clock moves when everybody sleeps and not before, and no corpse holds it up."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from live.kernel import Kernel
from ursa.errors import UserError
from ursa.shared import clock as clocks
from ursa.shared import keeper as keeping
from ursa.shared.clock import Gone, Shared, Wall, open_clock
from ursa.shared.keeper import Keeper

SLEEPER = """
import sys
from pathlib import Path
from ursa.shared.clock import Shared
clock = Shared(Path(sys.argv[1]), sys.argv[2])
print("here", flush=True)
while True:
    clock.wait(clock.now() + 0.5)
"""


def beside(work) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def turns(clock: Shared, name: str, period: float, count: int, said: list) -> None:
    for number in range(1, count + 1):
        said.append((name, clock.wait(1 + number * period)))
    clock.close()


def kept_until(keeper: Keeper, end: float) -> None:
    while keeper.attending() and keeper.now() < end:
        keeper.settle()
        due = keeper.due()
        if due is not None:
            keeper.advance(due)


def conversation(path: Path, slow: float) -> list:
    """Two parties, of periods 2 and 4 ms, noting who woke when; one may dawdle in real time."""
    keeper, said = Keeper(path), []
    gate, actor = Shared(path, "gate"), Shared(path, "actor")

    def dawdle() -> None:
        for number in range(1, 6):
            said.append(("actor", actor.wait(1 + number * 0.004)))
            time.sleep(slow)
        actor.close()

    threads = [beside(lambda: turns(gate, "gate", 0.002, 10, said)), beside(dawdle)]
    kept_until(keeper, 2)
    for thread in threads:
        thread.join()
    keeper.close()
    return said


def test_parties_wake_at_their_instants_in_one_order_whoever_is_slow(tmp_path):
    expected = []
    for number in range(1, 11):
        expected.append(("gate", pytest.approx(1 + number * 0.002, abs=1e-9)))
        if number % 2 == 0:
            expected.append(("actor", pytest.approx(1 + number * 0.002, abs=1e-9)))
    assert conversation(tmp_path / "quick", 0) == expected
    assert conversation(tmp_path / "slow", 0.01) == expected


def test_time_stands_still_while_a_party_is_awake(tmp_path):
    keeper = Keeper(tmp_path / "clock")
    gate = Shared(tmp_path / "clock", "gate")
    assert keeper.attending() == ["gate"]
    assert not keeper.settled(1)
    assert not keeper.advance(5)
    assert gate.now() == 1
    gate.close()
    assert keeper.advance(5)
    assert keeper.now() == 5


@pytest.mark.parametrize("sabotage", [False, True])
def test_a_killed_party_no_longer_holds_time_up(tmp_path, monkeypatch, sabotage):
    path = tmp_path / "clock"
    keeper = Keeper(path)
    child = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, str(path), "gate"], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"here\n"
    keeper.settle()
    keeper.advance(1.1)
    child.send_signal(signal.SIGKILL)
    # Not waited for: a zombie still has its process number, but not its lock.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    if sabotage:
        monkeypatch.setattr(keeping, "kept", lambda *_: True)
    beside(lambda: None).join()
    words = keeper._words["gate"]
    words[4] = words[2]  # it was just woken when it died
    settled = any(keeper.settled(1) for _ in range(5))
    assert settled is not sabotage
    child.wait()
    child.stdout.close()
    if not sabotage:
        keeper.advance(9)
        again = Shared(path, "gate")
        assert keeper.attending() == ["gate"]
        assert again.now() == 9
        again.close()


def test_a_party_that_is_silent_for_too_long_is_left_behind_and_may_come_back(tmp_path):
    path, real = tmp_path / "clock", [time.monotonic()]
    keeper = Keeper(path, patience=60, real=lambda: real[0])
    gate = Shared(path, "gate")
    assert not keeper.settled(1)
    real[0] += 50
    assert not keeper.settled(1)
    real[0] += 15
    assert keeper.settled(1)
    keeper.advance(2)
    gate.alive()
    assert keeper.attending() == ["gate"]
    beside(lambda: (gate.wait(3), gate.close()))
    kept_until(keeper, 10)
    assert keeper.now() == 3


def test_a_party_that_slept_long_is_not_taken_for_silent_when_it_wakes(tmp_path):
    path, real = tmp_path / "clock", [time.monotonic()]
    keeper = Keeper(path, patience=60, real=lambda: real[0])
    actor = Shared(path, "actor")
    woken = threading.Event()
    beside(lambda: (actor.wait(2), woken.wait(), actor.close()))
    keeper.settle()
    real[0] += 1000  # a slow machine, and the actor asleep all the while
    settle, keeper.settle = keeper.settle, lambda: None
    keeper.advance(2)
    keeper.settle = settle
    assert not keeper.settled(1)
    woken.set()
    keeper.settle()


def test_a_keeper_that_comes_back_goes_on_from_where_time_stood(tmp_path):
    keeper = Keeper(tmp_path / "clock")
    keeper.advance(7.25)
    with pytest.raises(UserError, match="in use by process"):
        Keeper(tmp_path / "clock")
    keeper.close()
    assert Keeper(tmp_path / "clock").now() == 7.25


def test_a_new_keeper_does_not_wait_for_the_dead_of_the_last(tmp_path):
    path = tmp_path / "clock"
    first = Keeper(path)
    child = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, str(path), "gate"], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"here\n"
    first.settle()
    child.kill()
    child.wait()
    child.stdout.close()
    assert first.attending() == ["gate"]  # asleep, as far as anybody knows
    first.close()
    second = Keeper(path)
    assert second.attending() == []
    second.close()


def test_a_sleeper_without_a_keeper_gives_up_and_says_what_to_do(tmp_path):
    Keeper(tmp_path / "clock").close()
    gate = Shared(tmp_path / "clock", "gate", gone=0)
    with pytest.raises(Gone, match="keeper is gone"):
        gate.wait(2)


def test_specs_of_clocks(tmp_path):
    wall = open_clock("wall", "gate")
    assert isinstance(wall, Wall)
    assert wall.wait(wall.now() - 1) >= 0
    for spec in ("", "shared", "shared:", "sundial:3"):
        with pytest.raises(UserError, match="want wall, or shared:PATH"):
            open_clock(spec, "gate")
    with pytest.raises(Gone, match="nobody keeps it; start `ursa robot emulate"):
        open_clock(f"shared:{tmp_path}/none", "gate")
    Keeper(tmp_path / "clock").close()
    with pytest.raises(UserError, match='"cook": valid are actor, gate'):
        open_clock(f"shared:{tmp_path}/clock", "cook")
    one = open_clock(f"shared:{tmp_path}/clock", "gate")
    with pytest.raises(UserError, match="in use by process"):
        open_clock(f"shared:{tmp_path}/clock", "gate")
    one.close()
    open_clock(f"shared:{tmp_path}/clock", "gate").close()


def slept_through(monkeypatch):
    """What a wall clock says has passed in a wait of a second, in which the computer slept."""
    kernel, wall = Kernel(), Wall()
    monkeypatch.setattr(clocks, "time", kernel)
    before, kernel.passing = wall.now(), lambda: setattr(kernel, "slept", 600.0)
    assert wall.wait(before + 1.0) == wall.now()
    assert kernel.awake == 1001.0  # nobody waits longer than he is awake
    return wall.now() - before


def test_a_wall_clock_counts_what_the_computer_slept(monkeypatch):
    assert slept_through(monkeypatch) == 601.0


def test_a_monotonic_clock_would_not(monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(clocks, "STEADY", time.CLOCK_MONOTONIC)
    assert slept_through(monkeypatch) == 1.0


def test_a_forgotten_clock_leaves_nothing_behind(tmp_path):
    keeper = Keeper(tmp_path / "clock")
    Shared(tmp_path / "clock", "gate").close()
    keeper.close()
    keeping.forget(tmp_path / "clock")
    assert list(tmp_path.iterdir()) == []
