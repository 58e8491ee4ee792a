"""The words of the reports, against numbers worked out by hand."""

import numpy as np
import pytest

from ursa.evaluate import definitions, rollout
from ursa.evaluate.definitions import (
    PROTOCOLS,
    achieved,
    distinct,
    leaps,
    moving,
    safe,
    separation,
    span,
    unearned,
    winner,
)


def test_one_unsafe_step_or_one_hand_and_a_rollout_is_not_safe():
    unsafe, hand = np.array([0.0, 1 / 250, 0.0]), np.array([False, False, True])
    assert safe(unsafe, hand).tolist() == [True, False, False]


def test_a_moving_skill_is_safe_and_makes_a_tenth_of_a_metre_per_second_forward():
    speed = np.array([0.1, 0.0999, 0.5, 0.5, -0.3])
    unsafe = np.array([0.0, 0.0, 0.004, 0.0, 0.0])
    hand = np.array([False, False, False, True, False])
    assert moving(speed, unsafe, hand).tolist() == [True, False, False, False, False]


def test_more_than_a_fifth_of_the_steps_in_the_air_is_a_leap():
    assert leaps(np.array([0.2, 0.205, 0.0])).tolist() == [False, True, False]


def test_who_stands_still_can_earn_one_a_step_and_who_goes_as_asked_six():
    speed = np.array([0.0, 0.0, 0.15, 0.3, 0.9, -0.3])
    ret = np.array([250.0, 1300.0, 900.0, 1500.0, 1500.0, 260.0])
    # 250, 250, 250 + 625, 1500, 1500 and, backwards, 250 at most
    np.testing.assert_allclose(unearned(ret, speed, 0.3), [0, 1050, 25, 0, 0, 10])


# The first column counts double: its deviation is 1/2, so (0.3, 0.4) is sqrt(0.36 + 0.16) away.
RULER = np.array([[2.0, 0.0], [0.0, 1.0]])


def test_distance_is_measured_by_the_ruler_on_the_side_of_the_offset():
    leaning = np.array([[1.0, 1.0], [0.0, 1.0]])  # (x, y) -> (x + y, y)
    one, other = np.array([[0.3, 0.4]]), np.zeros((1, 2))
    np.testing.assert_allclose(separation(one, other, RULER), [0.7211102551])
    np.testing.assert_allclose(separation(one, other, leaning), [0.8062257748])  # (0.7, 0.4)


def test_a_skill_is_achieved_within_the_threshold_and_on_its_edge():
    z = np.zeros((3, 2))
    feature = np.array([[0.25, 0.0], [0.2500001, 0.0], [0.0, 0.5]])  # 0.5, just beyond, 0.5
    assert achieved(feature, z, RULER, 0.5).tolist() == [True, False, True]


def test_distinct_are_those_more_than_two_thresholds_from_all_counted_before():
    feature = np.array([[0.0, 0.0], [0.0, 0.2], [0.0, 0.21], [0.0, 0.45], [0.2, 0.0]])
    # 0.2 away: not more; 0.21: counted; 0.45: 0.24 from that; (0.2, 0): 0.4 and 0.45 away
    assert distinct(feature, RULER, 0.1).tolist() == [True, False, True, True, True]


def test_a_span_is_the_range_of_nine_tenths():
    feature = np.column_stack([np.arange(101.0), np.full(101, 3.0)])
    np.testing.assert_allclose(span(feature), [90.0, 0.0])


def test_the_winner_has_the_highest_median_over_seeds_of_its_means():
    again = {
        "ursa": np.array([[10.0, 20.0], [90.0, 90.0], [30.0, 30.0]]),  # 15, 90, 30 -> 30
        "dominic": np.array([[31.0, 31.0], [0.0, 0.0], [40.0, 40.0]]),  # 31, 0, 40 -> 31
    }
    assert winner(again) == "dominic"
    assert winner({"ursa": again["ursa"], "daydreamer": np.full((3, 2), 30.0)}) is None
    assert winner(again | {"daydreamer": np.full((3, 2), np.nan)}) is None
    assert winner({}) is None


@pytest.mark.parametrize("protocol", ["equal", "few"])
def test_methods_are_compared_by_the_same_number_of_rollouts(protocol):
    assert len(set(PROTOCOLS[protocol].values())) == 1


def test_the_paper_compares_as_many_as_each_method_has():
    assert PROTOCOLS["paper"] == {"ursa": 512, "dominic": 8, "daydreamer": 1}


def test_rollouts_are_as_long_as_the_definitions_say():
    assert (definitions.STEPS, definitions.SETTLE) == (250, 50)
    assert (rollout.STEPS, rollout.SETTLE) == (definitions.STEPS, definitions.SETTLE)
