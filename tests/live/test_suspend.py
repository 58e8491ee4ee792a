"""A computer that was asleep finds its robot limp, and a person looks before it moves again."""

import time

import jaxtyping
import pytest

from live.kernel import Gate
from ursa.gate.modes import Kind, Mode, Order
from ursa.shared import clock


@pytest.fixture
def gate(monkeypatch):
    jaxtyping.config.update("jaxtyping_disable", True)  # thousands of cycles; checked elsewhere
    yield Gate(monkeypatch)
    jaxtyping.config.update("jaxtyping_disable", False)


def sleeps(gate, seconds):
    """The computer does, between two cycles; its monotonic clock and its processes stand still."""
    gate.kernel.slept += seconds
    gate.cycles(1)


@pytest.mark.parametrize("seconds", [600.0, 1.1])
@pytest.mark.parametrize("cable", ["in", "pulled"])
def test_after_a_sleep_of_the_computer_the_robot_is_limp_until_a_person_acknowledges(
    gate, seconds, cable
):
    gate.runs()
    if cable == "pulled":
        gate.wire.cut()
    sleeps(gate, seconds)
    assert gate.limp
    assert gate.told.mode is Mode.FAULT
    assert f"{seconds:.0f}." in gate.told.fault  # s without a word of the robot
    assert gate.told.counts[Kind.SUSPENDED] == 1
    for order in (Order.STAND, Order.RUN):
        gate.cycles(500, order)
        assert gate.limp
        assert gate.told.mode is Mode.FAULT
    gate.cycles(1, Order.ACKNOWLEDGE)
    assert gate.told.mode is Mode.DAMP
    gate.runs()


def test_also_one_that_was_limp_already_waits_for_a_person(gate):
    assert (gate.told.mode, gate.told.fault) == (Mode.DAMP, "")
    sleeps(gate, 600.0)
    assert gate.told.mode is Mode.DAMP
    assert gate.told.fault.startswith("gap in states of 600.")


def test_on_a_clock_that_stands_still_meanwhile_it_would_run_on(gate, monkeypatch):
    """Sabotage: as Linux has it with its monotonic clock."""
    monkeypatch.setattr(clock, "STEADY", time.CLOCK_MONOTONIC)
    gate.runs()
    sleeps(gate, 600.0)
    assert gate.told.mode is Mode.RUN
    assert not gate.limp
    assert gate.told.counts[Kind.SUSPENDED] == 0
