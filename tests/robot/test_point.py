"""The point robot does what its first page promises, to the digit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ursa.errors import UserError
from ursa.robot.body import Body
from ursa.robot.damage import parse
from ursa.robot.point import POINT, PointBody

FADE = np.exp(-0.5)  # one control period of 0.05 s against the lag of 0.1 s


def after(body: PointBody, action: list[float], steps: int):
    reading = body.rest()
    for _ in range(steps):
        reading = body.step(np.tile(np.array(action), (body.count, 1)))
    return reading


def test_it_is_a_body():
    assert isinstance(PointBody(2), Body)


def test_one_step_from_rest_is_the_exact_exponential():
    reading = after(PointBody(1), [1.0, -0.5], 1)
    speed = 1.0 - FADE  # 0.3935 m/s after 50 ms of full command
    way = 0.05 - 0.1 * speed  # 10.65 mm
    np.testing.assert_allclose(reading.velocity, [[speed, -speed / 2, 0.0]], rtol=1e-15)
    assert reading.truth is not None
    np.testing.assert_allclose(reading.truth.position, [[way, -way / 2, 0.0]], rtol=1e-12)
    np.testing.assert_allclose(reading.torque, [[speed / 0.05, -speed / 0.1]], rtol=1e-12)
    # Half m v^2 on both axes, in 50 ms.
    np.testing.assert_allclose(reading.power, [speed**2 * (1 + 0.25) / 2 / 0.05], rtol=1e-12)


def test_turning_round_costs_only_the_work_after_standing_still():
    body = PointBody(1)
    body.restore(body.save() | {"velocity": np.array([[-0.5, 0.0]])})
    speed = 1.0 - 1.5 * FADE  # 0.0902: it turned within this step
    reading = body.step(np.array([[1.0, 0.0]]))
    np.testing.assert_allclose(reading.power, [speed**2 / 2 / 0.05], rtol=1e-12)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_every_velocity_of_the_square_is_reached_and_held(x: float, y: float):
    reading = after(PointBody(1), [x, y], 50)  # 2.5 s: e^-25 is left of the start
    np.testing.assert_allclose(reading.velocity, [[x, y, 0.0]], atol=2e-11)


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=1, max_size=30))
def test_no_action_leaves_the_square_or_the_circle(actions: list[tuple[float, float]]):
    body = PointBody(1)
    for action in actions:
        reading = body.step(np.array([action]))
        assert np.abs(reading.velocity).max() <= 1.0
        assert np.abs(reading.joint_angle).max() <= np.pi


def test_the_wheels_wrap_where_the_true_position_goes_on():
    reading = after(PointBody(1), [1.0, -1.0], 80)  # 4 s: 3.9 m, once past half a turn
    assert reading.truth is not None
    way = reading.truth.position[0, :2]
    np.testing.assert_allclose(way, [3.9, -3.9], atol=1e-12)
    turn = 2 * np.pi * np.array([-1.0, 1.0])
    np.testing.assert_allclose(reading.joint_angle[0], way + turn, atol=1e-12)


def test_carried_home_it_keeps_speed_and_wheels():
    body = PointBody(2)
    before = after(body, [0.5, 0.2], 30)
    carried = body.carry(np.array([True, False]))
    assert before.truth is not None
    assert carried.truth is not None
    np.testing.assert_array_equal(carried.truth.position[0], [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(carried.truth.position[1], before.truth.position[1])
    np.testing.assert_array_equal(carried.joint_angle, before.joint_angle)
    np.testing.assert_array_equal(carried.velocity, before.velocity)


@pytest.mark.parametrize(
    ("text", "speed"), [("x", 0.0), ("x:limp", 0.0), ("x:weak=0.25", 0.25), ("x:locked", 0.0)]
)
def test_a_damaged_axis_settles_at_its_speed_and_the_other_is_sound(text: str, speed: float):
    body = PointBody(1)
    body.damage(parse(text, POINT))
    np.testing.assert_allclose(after(body, [1.0, 1.0], 100).velocity, [[speed, 1.0, 0.0]])


def test_a_locked_axis_stops_at_once_and_a_frozen_one_glides_on():
    body = PointBody(2)
    before = after(body, [1.0, 0.0], 100)
    body.damage(parse("x:locked", POINT), np.array([True, False]))
    body.damage(parse("x", POINT), np.array([False, True]))
    reading = body.step(np.ones((2, 2)))
    assert reading.velocity[0, 0] == 0.0
    assert reading.joint_angle[0, 0] == before.joint_angle[0, 0]
    np.testing.assert_allclose(reading.velocity[1, 0], FADE)


def test_a_state_of_another_size_is_refused():
    with pytest.raises(UserError, match="of count 3; this body has count 2"):
        PointBody(2).restore(PointBody(3).save())
    with pytest.raises(UserError, match="count = 0, want a whole number >= 1"):
        PointBody(0)
    with pytest.raises(UserError, match="2 booleans"):
        PointBody(2).rest(np.ones(3, bool))
