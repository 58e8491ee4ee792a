"""An emulated A1: motors, heat, battery and sensors do what is written beside them."""

import math

import jaxtyping
import numpy as np
import pytest

from ursa.emulator import charge, heat, motors, physics
from ursa.emulator.noise import Noise
from ursa.emulator.rig import Rig
from ursa.gate.limits import limits_of
from ursa.gate.wire import BRAKE, POSITION_OFF, SERVO, Command
from ursa.robot.a1 import A1

ZERO = np.zeros(12)


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def command(angle=ZERO, kp=0.0, kd=0.0, speed=0.0, torque=0.0, servo=True) -> Command:
    return Command(
        angle=ZERO + angle,
        speed=ZERO + speed,
        torque=ZERO + torque,
        kp=ZERO + kp,
        kd=ZERO + kd,
        servo=servo,
    )


def test_a_motor_gives_torque_stiffness_and_damping():
    told = command(angle=0.5, kp=20.0, kd=2.0, speed=1.0, torque=3.0)
    # 3 + 20 (0.5 - 0.3) + 2 (1 - 0.25)
    assert motors.wanted(told, ZERO + 0.3, ZERO + 0.25) == pytest.approx(ZERO + 8.5)


def test_loops_that_are_off_give_nothing():
    off = command(angle=POSITION_OFF, kp=50.0, kd=2.0)
    assert motors.wanted(off, ZERO, ZERO + 1.5) == pytest.approx(ZERO - 3.0)
    assert (motors.wanted(command(speed=16000.0, kd=2.0), ZERO, ZERO + 1) == 0).all()


@pytest.mark.parametrize("told", [None, command(angle=1.0, kp=80.0, servo=False)])
def test_without_commands_and_when_told_to_the_motors_brake(told):
    assert motors.wanted(told, ZERO, ZERO + 2.0) == pytest.approx(ZERO - 6.0)
    assert motors.mode(told) == BRAKE
    assert motors.mode(command()) == SERVO


@pytest.mark.parametrize(
    ("asked", "speed", "given"),
    [
        (10.0, 0.0, 10.0),
        (99.0, 0.0, 33.5),  # peak
        (99.0, 10.5, 16.75),  # half the no-load speed, half the torque
        (99.0, 21.0, 0.0),
        (-99.0, 10.5, -33.5),  # against the motion a motor can brake with all it has
        (99.0, 42.0, -33.5),  # driven beyond its no-load speed it brakes by itself
    ],
)
def test_torque_falls_along_a_line_to_the_no_load_speed(asked, speed, given):
    assert motors.given(A1, ZERO + asked, ZERO + speed) == pytest.approx(ZERO + given)


def test_half_the_peak_torque_ends_at_seventy_degrees():
    temperature = heat.cold(12)
    for _ in range(4200):
        temperature = heat.warmed(temperature, ZERO + 16.75, 1.0)
    assert temperature == pytest.approx(ZERO + 70.0, abs=0.1)


def test_a_hot_motor_is_off_until_it_has_cooled_a_little():
    off = ZERO.astype(bool)
    states = []
    for degrees in (59.0, 60.0, 57.0, 55.0, 57.0):
        off = heat.cut_out(ZERO + degrees, off)
        states.append(bool(off[0]))
    assert states == [False, True, True, False, False]


def test_holding_still_empties_the_battery_in_its_time():
    # 30 W and 12 x 0.05 x 10^2 = 60 W out of 90 Wh: one hour
    share = 1.0
    for _ in range(3599):
        share = charge.drained(share, ZERO + 10.0, ZERO, 1.0)
    assert 0 < share < 0.001
    assert charge.drained(share, ZERO + 10.0, ZERO, 5.0) == 0.0


def test_a_low_battery_weakens_and_an_empty_one_stops():
    assert [charge.strength(it) for it in (1.0, 0.5, 0.0)] == [1.0, 0.9, 0.0]


@pytest.mark.parametrize("engine", ["mujoco", "pybullet"])
def test_it_starts_lying_on_its_belly(engine):
    if engine == "pybullet":
        pytest.importorskip("pybullet")
    rig = Rig(engine=engine)
    x, y, height, yaw = rig.place()
    assert height < 0.12
    assert rig.up() > 0.99
    assert math.hypot(x, y) < 0.05
    assert abs(yaw) < 0.05
    state = rig.say()
    assert (state.mode == BRAKE).all()
    assert np.abs(state.speed).max() < 0.5
    rig.close()


def test_sensors_are_noisy_and_say_the_same_of_one_tick_however_often_they_are_asked():
    rig = Rig(seed=2, sensors=Noise(gyro=0.5))
    first, again = rig.say(), rig.say()
    assert (first.gyro == again.gyro).all()
    rig.tick(None)
    later = rig.say()
    assert (later.gyro != first.gyro).all()
    assert later.tick - first.tick == 2000
    gyros = []
    for _ in range(400):
        rig.tick(None)
        gyros.append(rig.say().gyro)
    assert np.std(gyros) == pytest.approx(0.5, rel=0.1)
    rig.close()


def test_the_counter_wraps_and_begins_anew_after_a_restart():
    rig = Rig(first=2**32 - 3000)
    ticks = []
    for _ in range(3):
        ticks.append(rig.say().tick)
        rig.tick(None)
    assert ticks == [2**32 - 3000, 2**32 - 1000, 1000]
    rig.restart()
    assert rig.say().tick == 0
    rig.close()


def test_a_hand_turns_it_over_and_back_again():
    rig = Rig()
    for up in (-1.0, 1.0):
        before = rig.count
        while not rig.turn(up):
            rig.tick(None)
            assert rig.count - before < 800
        assert rig.count - before > 600  # a second and a half
        assert up * rig.up() > 0.97
    rig.close()


def test_physics_that_fails_sets_the_robot_down_again(monkeypatch):
    rig = Rig()
    monkeypatch.setattr(rig.physics, "diverged", lambda: True)
    rig.tick(None)
    assert rig.diverged == 1
    assert np.isfinite(rig.say().angle).all()
    rig.close()


def swung(monkeypatch=None):
    """How far beyond its range a hip goes that 20 N m swing against its stop."""
    if monkeypatch is not None:
        monkeypatch.setattr(physics, "STOP", (0.02, 1.0))  # MuJoCo's own
    robot, torque = physics.physics(A1, "mujoco"), np.zeros(12)
    torque[6] = 20.0
    furthest = max(robot.advance(torque).joint_angle[0, -1, 6] for _ in range(250))
    robot.close()
    return furthest - A1.joints[6].upper


def test_joints_end_at_metal_which_gives_less_than_what_makes_the_gate_let_go():
    assert 0 < swung() < limits_of(A1, {}).beyond


def test_at_the_usual_softness_a_healthy_leg_would_trip_the_gate(monkeypatch):
    """Sabotage."""
    assert swung(monkeypatch) > 4 * limits_of(A1, {}).beyond
