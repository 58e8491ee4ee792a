"""Records whose bytes follow from their number, so that any reader can be checked against it."""

import hashlib
import os
import tempfile
from contextlib import closing
from functools import lru_cache
from pathlib import Path

import numpy as np

from ursa.log.record import Layout, pack
from ursa.log.shelf import Shelf
from ursa.log.volume import Kind
from ursa.types import Row, Sizes

LAYOUT = Layout(sizes=Sizes(observation=3, action=2, posture=1), skill=2)
KIND = Kind(name="toy", layout="bytes of their number", size=100)
MEMORY = Path("/dev/shm")


@lru_cache(100_000)
def oracle(number):
    """What record `number` must be."""
    return hashlib.shake_128(number.to_bytes(8, "little")).digest(KIND.size)


def oracles(first, end):
    return [oracle(number) for number in range(first, end)]


def served(folder, kind=KIND):
    """Everything a reader gives out, by number; and what it reports; and where it ends."""
    with closing(Shelf(folder, kind)) as shelf:
        found = {
            first + index: data
            for first, records in shelf.records(0, shelf.end)
            for index, data in enumerate(records)
        }
    return found, shelf.faults, shelf.end


def step(number, **changes):
    """A packed control step that can be told from its number: everything in it is that number."""
    values = {
        "observation": np.full((1, 3), number, np.float32),
        "action": np.full((1, 2), -number, np.float32),
        "reward": np.full(1, 0.5 * number, np.float32),
        "cost": np.full(1, -1.0, np.float32),
        "posture": np.full((1, 1), number, np.float32),
        "safe": np.array([number % 2 == 0]),
        "first": np.array([number == 0]),
    }
    row = Row(**{**values, **changes})
    skill = np.full(2, number, np.float32)
    return pack(LAYOUT, row, skill=skill, policy=number, time=50 * number, age=7, marks=number % 4)


def quick(tmp_path):
    """A folder where a sync costs nothing, if the machine has one; files look the same there."""
    if not os.access(MEMORY, os.W_OK):
        return tmp_path
    return Path(tempfile.mkdtemp(prefix="ursa-test-", dir=MEMORY))
