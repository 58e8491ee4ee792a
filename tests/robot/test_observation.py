"""An observation holds what a robot can know, in named columns, scaled, finite and unwrapped."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readings import readings, standing, turned
from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.go2 import GO2
from ursa.robot.observation import Layout, ObservationConfig, names, observe
from ursa.robot.point import POINT, PointBody

EVERYTHING = ObservationConfig(last_command=True)


def seen(channel: str, config: ObservationConfig = EVERYTHING, **changes) -> np.ndarray:
    """One channel of an A1 that stands, with changes."""
    layout = Layout(A1, config)
    return observe(layout, standing(A1, **changes))[0, layout[channel]]


def test_an_a1_has_34_columns_and_46_with_its_last_command():
    assert Layout(A1).size == 3 + 3 + 3 + 1 + 12 + 12
    assert Layout(A1, EVERYTHING).size == 46
    assert Layout(A1, ObservationConfig(velocity=False, height=False)).size == 30


def test_the_channels_follow_each_other_without_a_gap():
    layout = Layout(GO2, EVERYTHING)
    assert list(layout.slices) == [
        "gravity", "gyro", "velocity", "height", "joint_angle", "joint_speed", "last_command"
    ]  # fmt: skip
    covered = [i for columns in layout.slices.values() for i in range(layout.size)[columns]]
    assert covered == list(range(layout.size))


def test_every_column_has_a_name():
    layout = Layout(A1, EVERYTHING)
    called = names(layout)
    assert len(called) == len(set(called)) == layout.size
    assert called[:3] == ("gravity.x", "gravity.y", "gravity.z")
    assert called[layout["height"]] == ("height",)
    assert called[layout["joint_speed"]][4] == "joint_speed.FL.upper"


def test_a_point_has_no_tilt_and_no_height():
    layout = Layout(POINT)
    assert list(layout.slices) == ["velocity", "joint_angle", "joint_speed"]
    body = PointBody(2)
    observation = observe(layout, body.step(np.ones((2, 2))))
    assert observation.shape == (2, 7)
    speed = 1.0 - np.exp(-0.5)  # after 50 ms with a lag of 0.1 s
    np.testing.assert_allclose(observation[0, layout["velocity"]], (2 * speed, 2 * speed, 0.0))


def test_a_channel_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(UserError, match=r"valid are gravity, gyro.*mean joint_angle"):
        Layout(A1)["joint_angel"]
    with pytest.raises(UserError, match="last_command"):
        Layout(A1)["last_command"]


@pytest.mark.parametrize(
    ("axis", "angle", "gravity"),
    [
        ("x", 0.0, (0.0, 0.0, -1.0)),  # upright
        ("x", np.pi, (0.0, 0.0, 1.0)),  # on its back
        ("x", np.pi / 2, (0.0, -1.0, 0.0)),  # rolled onto its right side
        ("y", np.pi / 2, (1.0, 0.0, 0.0)),  # on its nose
        ("z", 2.0, (0.0, 0.0, -1.0)),  # heading does not show
    ],
)
def test_gravity_points_to_the_floor(axis, angle, gravity):
    found = seen("gravity", quaternion=turned(axis, angle))
    np.testing.assert_allclose(found, gravity, atol=1e-6)


def test_nothing_jumps_when_a_robot_rolls_over_its_back():
    before, after = (
        observe(Layout(A1), standing(A1, quaternion=turned("x", np.pi + by)))
        for by in (-1e-4, 1e-4)
    )
    assert np.abs(before - after).max() < 1e-3


def test_velocity_is_in_the_body_frame():
    # Facing left, moving along world x: to its right.
    found = seen("velocity", quaternion=turned("z", np.pi / 2), velocity=(0.5, 0.0, 0.25))
    np.testing.assert_allclose(found, (0.0, -1.0, 0.5), atol=1e-6)


def test_scales_are_these():
    np.testing.assert_allclose(seen("gyro", gyro=(4.0, -2.0, 0.0)), (1.0, -0.5, 0.0))
    np.testing.assert_allclose(seen("height", height=0.27), 0.0, atol=1e-6)
    np.testing.assert_allclose(seen("height", height=0.17), -1.0, atol=1e-6)
    np.testing.assert_allclose(seen("joint_speed", joint_speed=10.5), 1.0)  # half of 21 rad/s
    stance = np.tile([0.0, -0.186770, 0.673234], 4)
    np.testing.assert_allclose(seen("joint_angle"), stance, atol=1e-6)
    np.testing.assert_allclose(seen("last_command"), stance, atol=1e-6)


def test_angle_and_command_are_not_mixed_up():
    command = np.tile([0.0, 1.335177, -2.153562], 4)  # of action 0
    np.testing.assert_allclose(seen("last_command", command=command), 0.0, atol=1e-6)
    assert np.abs(seen("joint_angle", command=command)).max() > 0.5


def test_one_wild_number_reads_ten():
    assert (seen("joint_speed", joint_speed=1e30) == 10.0).all()
    assert (seen("joint_angle", joint_angle=-1e308) == -10.0).all()


def test_it_is_single_precision():
    assert observe(Layout(A1), standing(A1, 5)).dtype == np.float32


@given(readings(A1))
def test_every_finite_reading_gives_a_finite_observation(reading):
    observation = observe(Layout(A1, EVERYTHING), reading)
    assert observation.shape == (3, 46)
    assert np.isfinite(observation).all()
    assert np.abs(observation).max() <= 10.0


@given(readings(A1, n=1, largest=2.0), st.floats(-np.pi, np.pi))
def test_where_north_is_makes_no_difference(reading, heading):
    w, x, y, z = reading.quaternion[0]
    cosine, sine = np.cos(heading / 2), np.sin(heading / 2)
    turn = [
        cosine * w - sine * z,
        cosine * x - sine * y,
        cosine * y + sine * x,
        cosine * z + sine * w,
    ]
    vx, vy, vz = reading.velocity[0]
    cosine, sine = np.cos(heading), np.sin(heading)
    velocity = [cosine * vx - sine * vy, sine * vx + cosine * vy, vz]
    other = replace(reading, quaternion=np.array([turn]), velocity=np.array([velocity]))
    layout = Layout(A1)
    np.testing.assert_allclose(observe(layout, other), observe(layout, reading), atol=1e-5)
