"""Sizes: how often the tests repeat what chance decides. The one place that reads them.

Every size has an ordinary value, for each test run, and a longer one for `make soak`, which sets
URSA_SOAK=1. A variable of the environment with the size's own name goes before both:
`URSA_STACK_KILLS=200 make test ARGS=tests/live/test_stack.py`. CONTRIBUTING.md lists them all.
"""

import os

SIZES = {  # name: ordinary, soak
    "URSA_KILLS": (8, 100),  # deaths of a run in simulation
    "URSA_STORE_KILLS": (300, 5_000),  # of a writer of the log; actor and recorder: a quarter
    "URSA_STACK_KILLS": (30, 500),  # kills under a supervisor; hangs beside them: a fifth
    "URSA_CARRIER_KILLS": (40, 1_000),  # of robot's or learner's machine
    "URSA_STORM_ROUNDS": (1, 10),  # how often the storm kills each of the five processes
    "URSA_POWER_STATES": (20_000, 1_000_000),  # states that a power cut may leave of a log
    "URSA_LEARNER_STATES": (300, 50_000),  # the same with the learner's journal and checkpoints
    "URSA_DATAGRAMS": (200_000, 20_000_000),  # decoded; through the whole gate half as many
    "URSA_TARGETS": (200_000, 10_000_000),  # adversarial ones, within and beyond the limits
    "URSA_DAMAGES": (3_000, 100_000),  # of checkpoints; of logs: two thirds
    "URSA_SEED": (0, 0),  # added to the seeds of all these
}


def size(name: str) -> int:
    """What the environment says, or the ordinary or the longer size of a test."""
    ordinary, soak = SIZES[name]
    return int(os.environ.get(name, soak if os.environ.get("URSA_SOAK") == "1" else ordinary))


SOAK = os.environ.get("URSA_SOAK") == "1"
SEED = size("URSA_SEED")
PATIENCE = 300.0  # s for an ordinary test, as pyproject.toml says


def patience(name: str, seconds: float = PATIENCE) -> float:
    """A test's time limit, that grows with its size."""
    return seconds * max(1.0, size(name) / SIZES[name][0])
