"""A picture shows the robot of the reading: its place, its pose, its damage."""

from dataclasses import replace

import numpy as np
import pytest

from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.damage import parse
from ursa.robot.go2 import GO2
from ursa.robot.point import PointBody
from ursa.robot.registry import body
from ursa.show.render import CAMERAS, Studio, picture

SIZE = {"width": 96, "height": 72}
BACK = np.array([0.0, 1.0, 0.0, 0.0])  # half a turn about x


@pytest.fixture
def studio(drawing):
    with Studio(A1, **SIZE) as open_studio:
        yield open_studio


@pytest.fixture(scope="module")
def standing():
    actor = body(A1, 2, threads=1)
    reading = actor.rest()
    actor.close()
    return reading


def moved(reading, offset):
    truth = replace(reading.truth, position=reading.truth.position + np.array(offset))
    return replace(reading, truth=truth)


def change(one, other):
    """Share of the pixels that differ visibly."""
    return (np.abs(one.astype(int) - other.astype(int)).max(axis=2) > 40).mean()


def red(drawn):
    r, g, b = np.moveaxis(drawn.astype(int), 2, 0)
    return ((r > 60) & (r > 3 * g) & (r > 3 * b)).sum()


def test_a_picture_has_the_size_asked_for_and_the_robot_in_its_middle(studio, standing):
    drawn = studio.picture(standing)
    assert drawn.shape == (72, 96, 3)
    away = studio.picture(moved(standing, (0, 0, 5)))  # the same floor without the robot
    seen = np.abs(drawn.astype(int) - away.astype(int)).max(axis=2) > 40
    rows, columns = np.nonzero(seen)
    assert 0.05 < seen.mean() < 0.4
    assert abs(columns.mean() - 48) < 10
    assert abs(rows.mean() - 36) < 10


def test_the_camera_and_the_shadow_follow_the_robot(studio, standing):
    # 7 m and -3 m are whole numbers of the floor's pattern, which repeats every metre
    assert change(studio.picture(standing), studio.picture(moved(standing, (7, -3, 0)))) < 0.01


def test_a_robot_on_its_back_looks_different(studio, standing):
    turned = replace(standing, quaternion=np.tile(BACK, (2, 1)))
    assert change(studio.picture(standing), studio.picture(turned)) > 0.02


def test_the_robot_asked_for_is_the_one_drawn(studio, standing):
    angles = standing.joint_angle.copy()
    angles[1, 0] = 0.7  # the second robot spreads its front right leg
    mixed = replace(standing, joint_angle=angles)
    first, second = studio.picture(mixed, 0), studio.picture(mixed, 1)
    np.testing.assert_array_equal(first, studio.picture(standing))
    assert change(first, second) > 0.005


def test_damaged_limbs_are_red_until_they_are_whole_again(studio, standing):
    leg, joint = parse("FR", A1), parse("FR.upper", A1)
    assert red(studio.picture(standing)) == 0
    assert red(studio.picture(standing, damages=leg)) > red(studio.picture(standing, damages=joint))
    assert red(studio.picture(standing, damages=joint)) > 10
    assert red(studio.picture(standing)) == 0


def test_where_a_robot_has_been_is_a_line_on_the_floor(studio, standing):
    def at(x):
        place = standing.truth.position + np.array([x, 0.0, 0.0])
        return replace(standing, truth=replace(standing.truth, position=place))

    def blue(path):
        r, g, b = np.moveaxis(studio.picture(at(0.0), path=path).astype(int), 2, 0)
        return ((b > 2 * r) & (b > 1.5 * g)).sum()

    assert blue(()) == 0
    still, went = blue([at(0.0), at(0.0)]), blue([at(-0.5), at(-0.25), at(0.0)])
    assert went > still + 10
    assert blue([at(0.0)] * 2000) == still  # however long it stood there


def test_a_robot_that_knows_no_place_stands_at_the_origin(studio, standing):
    unknown = replace(standing, truth=None, height=np.full(2, A1.rest_height))
    assert change(studio.picture(unknown), studio.picture(standing)) < 0.02


def test_one_picture_without_a_studio_from_any_side(drawing, standing):
    views = [picture(standing, camera=camera, **SIZE) for camera in CAMERAS]
    assert all(view.shape == (72, 96, 3) for view in views)
    assert all(change(views[0], view) > 0.05 for view in views[1:])


def test_a_studio_that_is_closed_says_so(drawing, standing):
    studio = Studio(A1, **SIZE)
    studio.close()
    studio.close()
    with pytest.raises(UserError, match="closed"):
        studio.picture(standing)


def test_a_robot_that_is_not_there_is_refused(studio, standing):
    with pytest.raises(UserError, match="robot = 2: the reading has robots 0 to 1"):
        studio.picture(standing, 2)
    with pytest.raises(UserError, match="reading is of a go2, the studio draws a1"):
        studio.picture(replace(standing, spec=GO2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 8}, "width = 8 pixels, want 16 to 4096"),
        ({"height": 5000}, "height = 5000 pixels, want 16 to 4096"),
        ({"camera": "behind"}, 'unknown camera "behind": valid are above, follow, front, left'),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_gl_is_opened(standing, options, message):
    with pytest.raises(UserError, match=message):
        picture(standing, **options)


def test_a_point_has_no_picture():
    with pytest.raises(UserError, match="point has no legs, so there is nothing to draw"):
        picture(PointBody(1).rest())
