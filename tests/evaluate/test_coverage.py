"""Coverage: filled cells of 18 planes of 20 x 20, by hand."""

import numpy as np
import pytest

from ursa.evaluate.coverage import cells, coverage, filled, planes
from ursa.robot.registry import robot

A1 = robot("a1")


def test_values_fall_into_bins_and_what_lies_outside_into_the_last():
    points = np.array([(-0.9, -0.9), (-0.8, -0.6), (0.1, 0.3), (0.99, 1.0), (1.2, 0.0)])
    found = np.column_stack([cells(points[:, k], -1.0, 1.0, bins=4) for k in (0, 1)])
    assert found.tolist() == [[0, 0], [0, 0], [2, 2], [3, 3], [3, 2]]
    assert len({tuple(cell) for cell in found.tolist()}) / 16 == 0.25


def test_planes_pair_the_same_joint_of_two_legs():
    named = [(A1.joint_names[one], A1.joint_names[other]) for one, other in planes(A1)]
    assert len(named) == len(set(named)) == 18
    for one, other in named:
        (leg, part), (second, same) = one.split("."), other.split(".")
        assert leg != second
        assert part == same


def test_one_behaviour_fills_one_cell_of_every_plane():
    middle = np.array([A1.of_joints("stance")])
    assert filled(middle, A1).sum(axis=(1, 2)).tolist() == [1] * 18
    assert coverage(middle, A1) == pytest.approx(18 / (18 * 400))


def test_cells_lie_over_the_range_that_actions_reach():
    low, high = A1.of_joints("low"), A1.of_joints("high")
    corners = np.stack([low, high, (low + high) / 2 + 1e-9])
    found = filled(corners, A1)
    assert (found.sum(axis=(1, 2)) == 3).all()
    for cell in ((0, 0), (19, 19), (10, 10)):
        assert found[:, cell[0], cell[1]].all()


def test_behaviours_in_the_same_cells_count_once():
    angles = np.repeat([A1.of_joints("stance")], 5, axis=0)
    assert coverage(angles, A1) == coverage(angles[:1], A1)


def test_a_grid_of_behaviours_fills_a_whole_plane():
    low, high = A1.of_joints("low"), A1.of_joints("high")
    middles = (np.arange(20) + 0.5) / 20
    angles = np.repeat([A1.of_joints("stance")], 400, axis=0)
    one, other = planes(A1)[0]
    grid = np.array([(x, y) for x in middles for y in middles])
    angles[:, one] = low[one] + grid[:, 0] * (high[one] - low[one])
    angles[:, other] = low[other] + grid[:, 1] * (high[other] - low[other])
    found = filled(angles, A1)
    assert found[0].all()
    assert found[-1].sum() == 1  # lower joints of other legs never moved


def test_a_robot_without_legs_has_no_planes():
    assert coverage(np.zeros((3, 2)), robot("point")) == 0.0
