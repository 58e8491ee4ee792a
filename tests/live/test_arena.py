"""Near the edge of its arena a robot walks home, with a script if it has nothing better."""

import math

import jaxtyping
import numpy as np
import pytest

from emulator.emulated import Pilot, driven
from ursa.emulator.emulator import Emulator
from ursa.live import homing as gaits
from ursa.live.arena import Arena, Homing, Zone, bearing, follow, velocity, zone
from ursa.live.homing import steering, step_home
from ursa.robot.a1 import A1

ARENA = Arena(radius=2.5, margin=0.5)  # margin from 2.0 m on, home within 1.0 m


@pytest.mark.parametrize(
    ("x", "y", "where"),
    [
        (0.0, 0.0, Zone.INSIDE),
        (1.2, 1.6, Zone.INSIDE),  # 2.0 exactly
        (-1.2, -1.7, Zone.MARGIN),
        (0.0, 2.5, Zone.MARGIN),
        (0.0, -2.51, Zone.OUT),
    ],
)
def test_zones_are_rings(x, y, where):
    assert zone(ARENA, x, y) is where


def test_homing_begins_in_the_margin_and_ends_well_inside():
    homing, active = Homing(), []
    for x in (0.0, 1.9, 2.1, 1.9, 1.1, 0.9, 1.5, 2.6, 2.7, 2.2, 0.5):
        homing = follow(ARENA, homing, x, 0.0)
        active.append(homing.active)
    assert active == [False, False, True, True, True, False, False, True, True, True, False]
    assert (homing.count, homing.outs) == (2, 1)


def test_the_bearing_is_the_shorter_way_round():
    assert bearing(1.0, 0.0, math.pi) == pytest.approx(0.0)  # looks home
    assert abs(bearing(1.0, 0.0, 0.0)) == pytest.approx(math.pi)
    assert bearing(0.0, 1.0, 0.0) == pytest.approx(-math.pi / 2)  # home is to its right
    assert bearing(-1.0, 0.0, 3.0) == pytest.approx(-3.0)
    assert bearing(1.0, 0.0, -3.0) == pytest.approx(3.0 - math.pi)  # 8 degrees right


def test_velocity_skills_are_asked_to_turn_first_and_then_to_walk():
    assert velocity(ARENA, 2.0, 0.0, 0.0)[0] == 0.0
    assert velocity(ARENA, 2.0, 0.0, math.pi) == (pytest.approx(0.3), pytest.approx(0.0, abs=1e-9))
    forward, turn = velocity(ARENA, 0.0, 2.0, 0.0)
    assert forward == pytest.approx(0.0, abs=1e-9)
    assert turn == -0.8


def test_steering_spins_first_and_then_bends():
    assert steering(0.0) == (0.4, 0.4)
    assert steering(math.pi) == (-0.3, 0.3)
    assert steering(-1.0) == (0.3, -0.3)
    left, right = steering(0.3)  # home is a little to the left: the left legs take half steps
    assert (left, right) == (pytest.approx(0.2), 0.4)


def walk_home(x: float, y: float, seconds: float) -> list[float]:
    """Distances from the middle of a robot that begins there, looking along x."""
    emulator = Emulator(start=1.0, seed=4)
    away: list[float] = []

    def here() -> tuple[float, float, float]:
        dx, dy, _, yaw = emulator.rig.place()
        return x + dx, y + dy, yaw

    homing = Homing()

    def act(step: int) -> np.ndarray:
        nonlocal homing
        px, py, yaw = here()
        homing = follow(ARENA, homing, px, py)
        away.append(math.hypot(px, py))
        assert homing.active or away[-1] <= ARENA.home + 0.2
        return step_home(A1, ARENA, step, px, py, yaw)

    pilot = Pilot(act)
    while seconds > 0 and (not away or away[-1] > ARENA.home):
        driven(emulator, pilot, 1.0)
        seconds -= 1.0
    assert emulator.audit.counts["violations"] == 0
    emulator.close()
    return away


def test_a_robot_beyond_the_margin_that_looks_outward_walks_home(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    away = walk_home(2.1, 0.3, 25.0)
    assert away[0] > 2.0
    assert away[-1] <= 1.0
    assert max(away) < 2.5


def test_a_gait_that_cannot_turn_does_not_bring_it_home(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    monkeypatch.setattr(gaits, "steering", lambda turn: (0.4, 0.4))
    assert walk_home(2.1, 0.3, 6.0)[-1] > 2.5
