"""Velocity and height as a robot can know them: right by hand, right on a trot, finite always."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ursa.robot import estimator, gait
from ursa.robot.a1 import A1
from ursa.robot.disturbance import Disturbance
from ursa.robot.engine import Ticks
from ursa.robot.estimator import EstimatorState
from ursa.robot.go2 import GO2
from ursa.robot.legged import LeggedBody
from ursa.robot.simulator import MuJoCoEngine

TICK = 0.005
STANCE = np.tile([0.0, 0.9, -1.8], 4)
ALL, NONE = (True, True, True, True), (False, False, False, False)
ON_BACK = (0.0, 1.0, 0.0, 0.0)


def ticks(n: int = 1, k: int = 10, **changes) -> Ticks:
    """k ticks of n A1s standing still in their stance; a change is one row that holds for all."""
    rows = {
        "joint_angle": STANCE,
        "joint_speed": np.zeros(12),
        "torque": np.zeros(12),
        "quaternion": (1.0, 0.0, 0.0, 0.0),
        "gyro": np.zeros(3),
        "acceleration": (0.0, 0.0, 9.81),
        "contact": ALL,
    } | changes
    arrays = {name: np.asarray(row) for name, row in rows.items()}
    return Ticks(**{name: np.tile(row, (n, k, 1)) for name, row in arrays.items()})


def after(
    steps: int, seen: Ticks, start: EstimatorState | None = None, tick: float = TICK, **options
):
    """State, velocity and height of the first robot after the same ticks again and again."""
    state = start or estimator.begin(len(seen.contact))
    velocity, height = state.velocity, state.height
    for _ in range(steps):
        state, velocity, height = estimator.update(A1, tick, state, seen, **options)
    return state, velocity[0], height[0]


def moving(*velocity: float, doubt: float = 0.05) -> EstimatorState:
    velocities, height = np.array([velocity]), np.zeros(1)
    return EstimatorState(velocity=velocities, height=height, doubt=np.array([doubt]))


def test_a_robot_that_stands_is_at_rest_and_as_high_as_its_legs():
    _, velocity, height = after(3, ticks())
    np.testing.assert_allclose(velocity, 0.0, atol=1e-6)
    assert height == pytest.approx(2 * 0.2 * np.cos(0.9) + 0.02, abs=1e-6)  # 0.2686 m


def test_standing_feet_that_swing_back_carry_the_trunk_forward():
    # Straight legs, thighs at 1 rad/s: the sole is 0.42 m below the joint.
    swing = ticks(joint_angle=np.zeros(12), joint_speed=np.tile([0.0, 1.0, 0.0], 4))
    _, velocity, _ = after(20, swing)
    np.testing.assert_allclose(velocity, (0.42, 0.0, 0.0), atol=1e-3)


def test_velocity_is_in_the_world_frame():
    left = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))  # turned to the left by a right angle
    swing = {"joint_angle": np.zeros(12), "joint_speed": np.tile([0.0, 1.0, 0.0], 4)}
    _, velocity, _ = after(20, ticks(quaternion=left, **swing))
    np.testing.assert_allclose(velocity, (0.0, 0.42, 0.0), atol=1e-3)


def test_a_trunk_that_turns_about_a_foot_moves():
    # Yaw at 1 rad/s about the front left foot, at (0.183, 0.13205): v = -omega x p.
    only = (False, True, False, False)
    _, velocity, _ = after(40, ticks(gyro=(0.0, 0.0, 1.0), contact=only))
    np.testing.assert_allclose(velocity, (0.13205, -0.183, 0.0), atol=1e-3)


def test_in_flight_it_falls_like_a_stone():
    flight = ticks(acceleration=(0.0, 0.0, 0.0), contact=NONE)
    _, velocity, _ = after(4, flight, moving(0.5, -0.1, 1.0))  # 0.2 s
    np.testing.assert_allclose(velocity, (0.5, -0.1, 1.0 - 9.81 * 0.2), atol=1e-9)


def test_a_push_is_felt_before_the_feet_tell():
    # 2 m/s^2 forward for 50 ms while no foot touches, seen by a robot that faces backwards.
    pushed = ticks(acceleration=(-2.0, 0.0, 0.0), contact=NONE, quaternion=(0.0, 0.0, 0.0, 1.0))
    _, velocity, _ = after(1, pushed, moving(0.0, 0.0, 0.0))
    assert velocity[0] == pytest.approx(0.1, rel=0.05)


def test_after_a_long_flight_the_feet_are_believed_at_once():
    lost = moving(0.3, 0.0, 0.0, doubt=0.5)
    sure = moving(0.3, 0.0, 0.0, doubt=0.01)
    assert after(1, ticks(), lost)[1][0] < 0.06
    assert after(1, ticks(), sure)[1][0] > 0.15
    assert after(20, ticks(), sure)[1][0] == pytest.approx(0.0, abs=1e-3)


def test_doubt_settles_where_feet_remove_what_time_adds():
    # Per step of 50 ms, four feet: u = P + 0.05, P = u 0.0036 / (0.2 u + 0.0036), so
    # 0.2 u^2 - 0.01 u - 0.00018 = 0 and P = 0.01405; with no foot it only grows, up to 1 s.
    state, _, _ = after(50, ticks())
    assert state.doubt[0] == pytest.approx(0.01405, abs=1e-5)
    flight = ticks(acceleration=(0.0, 0.0, 0.0), contact=NONE)
    assert after(4, flight, state)[0].doubt[0] == pytest.approx(0.21405, abs=1e-5)
    assert after(50, flight, state)[0].doubt[0] == 1.0


LYING = ticks(contact=NONE)


def test_lying_takes_doubt_away_where_that_is_asked_for():
    # Per step of 50 ms on the trunk, settle 0.05 s: d = (d + 0.05) / e ends at 0.05 / (e - 1).
    assert after(50, LYING, settle=0.05)[0].doubt[0] == pytest.approx(0.0291, abs=1e-4)
    assert after(50, LYING)[0].doubt[0] == 1.0
    flight = ticks(acceleration=(0.0, 0.0, 0.0), contact=NONE)
    assert after(50, flight, settle=0.05)[0].doubt[0] == 1.0  # nothing bears it


def pawing(steps: int, *, every: int = 3, **options) -> float:
    """Forward speed that a robot on its trunk believes, which touches in one step of `every`.

    A foot strokes back at 0.42 m/s and slips; the accelerometer feels nothing. The mean of the
    last strokes.
    """
    stroke = np.tile([0.0, 1.0, 0.0], 4)
    slips = ticks(joint_angle=np.zeros(12), joint_speed=stroke, contact=(True, False, False, False))
    state, speeds = estimator.begin(1), []
    for step in range(steps):
        seen = slips if step % every == 0 else LYING
        state, velocity, _ = estimator.update(A1, TICK, state, seen, **options)
        speeds.append(velocity[0, 0])
    return float(np.mean(speeds[-every:]))


def test_a_robot_that_paws_the_floor_on_its_belly_can_be_kept_from_believing_that_it_travels():
    assert pawing(60) > 0.25
    assert pawing(60, settle=0.05) < pawing(60) / 2


def test_who_has_settled_believes_feet_again_within_seven_steps():
    state, _, _ = after(50, LYING, settle=0.05)
    stands = ticks(
        joint_angle=np.zeros(12),
        joint_speed=np.tile([0.0, 1.0, 0.0], 4),
        contact=(True, False, False, False),
    )
    _, velocity, _ = after(7, stands, state, settle=0.05)
    assert velocity[0] > 0.9 * 0.42
    _, velocity, _ = after(1, stands, state, settle=0.05)
    assert velocity[0] < 0.5 * 0.42


def test_on_its_back_a_poor_accelerometer_does_not_carry_it_away():
    # A bias of 0.5 m/s^2 against the leak: v = (v + 0.025) exp(-0.05 / 0.3) ends at 0.138 m/s.
    lying = ticks(quaternion=ON_BACK, acceleration=(0.5, 0.0, -9.81), contact=NONE)
    _, velocity, _ = after(1200, lying)  # a minute
    np.testing.assert_allclose(velocity, (0.138, 0.0, 0.0), atol=2e-3)


def test_nothing_is_faster_than_three_metres_a_second():
    thrown = ticks(acceleration=(300.0, 400.0, 9.81), contact=NONE)
    _, velocity, _ = after(3, thrown)
    np.testing.assert_allclose(velocity, (1.8, 2.4, 0.0), atol=1e-6)


def test_one_foot_of_four_that_slips_is_outvoted():
    speed = np.zeros(12)
    speed[1] = 4.0  # FR thigh: its sole alone says 1.07 m/s
    _, velocity, _ = after(20, ticks(joint_speed=speed))
    assert np.linalg.norm(velocity) < 0.01


def test_of_two_feet_that_disagree_the_accelerometer_picks_one():
    speed = np.zeros(12)
    speed[1] = 2.0  # FR slips at 0.54 m/s, BL stands; nothing accelerates
    seen = ticks(joint_speed=speed, contact=(True, False, False, True))
    _, velocity, _ = after(10, seen, moving(0.0, 0.0, 0.0))
    assert np.linalg.norm(velocity) < 0.02


def test_even_a_wrong_estimate_gives_in_to_standing_feet():
    _, velocity, _ = after(100, ticks(), moving(2.0, 1.0, 0.0))
    np.testing.assert_allclose(velocity, 0.0, atol=1e-2)


@pytest.mark.parametrize(("k", "tick"), [(10, 0.005), (25, 0.002), (50, 0.001)])
def test_the_physics_tick_makes_no_difference(k, tick):
    seen = ticks(k=k, joint_angle=np.zeros(12), joint_speed=np.tile([0.0, 0.5, 0.0], 4))
    _, velocity, _ = after(1, seen, moving(0.15, 0.0, 0.0), tick)
    _, wanted, _ = after(
        1,
        ticks(joint_angle=np.zeros(12), joint_speed=seen.joint_speed[0, 0]),
        moving(0.15, 0.0, 0.0),
    )
    assert velocity[0] == pytest.approx(wanted[0], abs=0.003)
    assert 0.17 < velocity[0] < 0.21  # on its way from 0.15 to 0.21


def test_height_is_over_the_feet_in_contact():
    angle = STANCE.copy()
    angle[:3] = (0.0, 0.0, -0.92)  # FR stretched far below the others, but in the air
    lifted = (False, True, True, True)
    _, _, height = after(1, ticks(joint_angle=angle, contact=lifted))
    assert height == pytest.approx(0.2686, abs=1e-4)


def test_in_the_air_height_is_over_the_lowest_foot():
    angle = STANCE.copy()
    angle[:3] = (0.0, 0.6, -1.2)  # FR
    _, _, height = after(1, ticks(joint_angle=angle, contact=NONE))
    assert height == pytest.approx(0.4 * np.cos(0.6) + 0.02, abs=1e-6)


def test_on_its_knees_height_is_over_the_knees():
    kneeling = np.tile([0.0, 0.0, -2.5], 4)  # thighs down, feet up: soles 0.04 m below the trunk
    _, _, height = after(1, ticks(joint_angle=kneeling, contact=NONE))
    assert height == pytest.approx(0.2, abs=1e-6)


def test_on_its_back_height_is_half_the_trunk():
    _, _, height = after(1, ticks(quaternion=ON_BACK, contact=NONE))
    assert height == pytest.approx(0.114 / 2, abs=1e-6)


def test_a_trunk_reaches_down_with_its_lowest_shape():
    up = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]]).T
    # Go2 upright: the ball of its head, 0.06 + 0.047; on its back: its box; on its nose: the ball.
    wanted = (0.107, 0.057, 0.293 + 0.047)
    np.testing.assert_allclose(estimator.trunk_reach(GO2, up), wanted, atol=1e-9)


def test_restarting_one_robot_leaves_the_other_alone():
    state, _, _ = after(2, ticks(n=2, joint_speed=np.full(12, 0.2)))
    again = estimator.restart(state, np.array([True, False]))
    for field in fields(state):
        mixed = getattr(again, field.name)
        assert (mixed[0] == getattr(estimator.begin(2), field.name)[0]).all()
        assert (mixed[1] == getattr(state, field.name)[1]).all()


@st.composite
def any_ticks(draw) -> Ticks:
    """Two robots, three ticks, any finite numbers at all."""
    finite = st.floats(allow_nan=False, allow_infinity=False)
    sizes = {"quaternion": 4, "gyro": 3, "acceleration": 3}
    names = [f.name for f in fields(Ticks) if f.name != "contact"]
    contact = draw(arrays(bool, (2, 3, 4)))
    numbers = {f: draw(arrays(float, (2, 3, sizes.get(f, 12)), elements=finite)) for f in names}
    return Ticks(contact=contact, **numbers)


@settings(max_examples=60)
@given(any_ticks())
def test_every_finite_input_gives_a_finite_estimate(seen):
    state = estimator.begin(2)
    for _ in range(2):
        state, velocity, height = estimator.update(A1, TICK, state, seen)
        assert np.isfinite(height).all()
        assert (np.linalg.norm(velocity, axis=1) <= 3.0 + 1e-6).all()
        assert ((state.doubt >= 0) & (state.doubt <= 1)).all()


def test_a_robot_with_a_dead_sensor_keeps_its_last_estimate_and_harms_no_other():
    seen = ticks(n=2, joint_speed=np.full(12, 0.3))
    state, _, _ = after(2, seen)
    broken = replace(seen, gyro=seen.gyro.copy(), joint_angle=seen.joint_angle.copy())
    broken.gyro[0, 4] = np.nan
    broken.joint_angle[0, -1] = np.inf
    state_broken, velocity, height = estimator.update(A1, TICK, state, broken)
    _, sound_velocity, sound_height = estimator.update(A1, TICK, state, seen)
    assert (velocity[0] == state.velocity[0]).all()
    assert height[0] == state.height[0]
    assert state_broken.doubt[0] == 1.0
    assert (velocity[1] == sound_velocity[1]).all()
    assert height[1] == sound_height[1]


def errors(spec, action, disturbance: Disturbance | None = None, tick: float = TICK, **options):
    """Of forward speed (m/s) and height (m), absolute, over 7.5 s after a start of 1.5 s."""
    body = LeggedBody(MuJoCoEngine(spec, 1, tick=tick), disturbance=disturbance, **options)
    speed, height, true = [], [], []
    for step in range(180):
        reading = body.step(action(spec, step)[None])
        forward, truth = reading.rotation[0, :2, 0], reading.truth
        assert truth is not None
        true.append(truth.velocity[0, :2] @ forward)
        speed.append(abs((reading.velocity - truth.velocity)[0, :2] @ forward))
        height.append(abs(reading.height[0] - truth.position[0, 2]))
    body.close()
    return np.array(speed[30:]), np.array(height[30:]), np.array(true[30:])


NOISE = Disturbance(angle_noise=0.003, speed_noise=0.1, gyro_noise=0.02, acceleration_noise=0.3)


@pytest.mark.parametrize("spec", [A1, GO2], ids=lambda spec: spec.name)
def test_a_standing_robot_knows_that_it_stands(spec):
    speed, height, _ = errors(spec, lambda spec, step: gait.stand(spec))
    assert speed.mean() < 0.001
    assert height.mean() < 0.001


@pytest.mark.parametrize("disturbance", [None, NOISE], ids=["exact", "noisy"])
@pytest.mark.parametrize(("stride", "least"), [(0.28, 0.18), (0.4, 0.3)])
@pytest.mark.parametrize("spec", [A1, GO2], ids=lambda spec: spec.name)
def test_a_trotting_robot_knows_its_speed_and_height(spec, stride, least, disturbance):
    speed, height, true = errors(
        spec, lambda spec, step: gait.trot(spec, step, stride=stride), disturbance
    )
    assert true.mean() > least
    assert speed.mean() < 0.015
    assert height.mean() < 0.002


def test_who_settles_when_lying_knows_its_speed_when_trotting_by_poor_sensors():
    speed, _, true = errors(A1, gait.trot, NOISE, settle=0.05)
    assert true.mean() > 0.3
    assert speed.mean() < 0.015


def test_a_faithful_physics_tick_is_estimated_as_well():
    speed, _, true = errors(A1, gait.trot, tick=0.002)
    assert true.mean() > 0.3
    assert speed.mean() < 0.01


def test_a_trot_on_a_slippery_floor_is_not_mistaken_for_a_fast_one():
    speed, _, true = errors(A1, gait.trot, Disturbance(friction=(0.4, 0.4)))
    assert true.mean() > 0.3
    assert speed.mean() < 0.02


def test_a_flailing_robot_roughly_knows_its_speed():
    speed, height, _ = errors(A1, gait.random)
    assert speed.mean() < 0.08
    assert height.mean() < 0.01
