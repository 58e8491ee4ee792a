"""Statistics: numbers worked out by hand, and NaN that is told, not averaged."""

import numpy as np
import pytest

from ursa.evaluate import statistics
from ursa.evaluate.statistics import NotFinite, Summary

MEDIANS = np.array([100.0, 80, 60, 60, 40, 30, 20, 10, 5])


def test_median_and_quartiles_are_linear_percentiles():
    assert statistics.summary([3, 1, 4, 1, 5], "five") == Summary(5, 3.0, 1.0, 4.0)
    assert statistics.summary([1, 2], "two") == Summary(2, 1.5, 1.25, 1.75)


def test_one_seed_has_no_interval():
    alone = statistics.summary([7.0], "one")
    assert alone == Summary(1, 7.0, None, None)
    assert alone.said() == "7.00 (n = 1)"


def test_a_number_that_is_not_finite_is_told_with_its_place():
    with pytest.raises(NotFinite, match=r"ursa, seed 3: 2 of 6 not finite, the first at \[1, 0\]"):
        statistics.finite([[1, 2, 3], [np.nan, 4, np.inf]], "ursa, seed 3")
    with pytest.raises(NotFinite, match="seeds: nothing was measured"):
        statistics.summary([], "seeds")


@pytest.mark.parametrize(
    "call",
    [
        lambda bad: statistics.summary(bad[0], "x"),
        lambda bad: statistics.interquartile(bad, "x"),
        lambda bad: statistics.ccdf(bad[0], np.zeros(1), "x"),
        lambda bad: statistics.ccdf_area(bad[0], "x"),
        lambda bad: statistics.degradation(bad[0], 1.0, "x"),
        lambda bad: statistics.degradation(np.ones(2), np.nan, "x"),
        lambda bad: statistics.spearman(np.arange(2.0), bad[0], "x"),
        lambda bad: statistics.distance_profile(bad[0], np.zeros(1), "x"),
        lambda bad: statistics.performance_profile(np.ones(2), bad[0], 1.0, np.zeros(1), "x"),
        lambda bad: statistics.probability_of_improvement(np.ones((2, 2)), bad, "x"),
    ],
)
def test_nothing_averages_a_nan_away(call):
    with pytest.raises(NotFinite, match="x: 1 of"):
        call(np.array([[1.0, np.nan]]))


def test_the_interquartile_mean_is_that_of_the_middle_half():
    scores = np.array([[1.0, 8, 3, 6], [5, 4, 7, 200]])  # of 8, two go at either end
    assert statistics.interquartile(scores, "x").middle == (4 + 5 + 6 + 7) / 4


def test_the_bootstrap_draws_seeds_of_each_task_on_its_own():
    # All seeds agree on every task: whatever seeds are drawn, the mean is the same. Drawing from
    # all scores alike would scatter, because tasks differ.
    same = np.tile(np.array([[0.0, 10, 100, 1000]]), (5, 1))
    assert statistics.interquartile(same, "x") == Summary(5, 55.0, 55.0, 55.0)


def test_the_bootstrap_does_not_draw_the_same_seeds_for_all_tasks():
    # Each seed is good at one task. Whole seeds always average to a half; task by task, more than
    # one draw in sixteen takes the bad seed twice on both.
    found = statistics.interquartile(np.array([[0.0, 1.0], [1.0, 0.0]]), "x")
    assert found == Summary(2, 0.5, 0.0, 1.0)


def test_the_bootstrap_interval_of_two_seeds_spans_both():
    # Of two seeds with 0 and 1 the draws are 00, 01, 10, 11: a quarter gives 0, a quarter 1.
    assert statistics.interquartile(np.array([[0.0], [1.0]]), "x") == Summary(2, 0.5, 0.0, 1.0)


def test_the_bootstrap_is_the_same_every_time_and_narrows_with_seeds():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 9))
    few, many = (statistics.interquartile(scores[:n], "x") for n in (5, 40))
    assert statistics.interquartile(scores[:5], "x") == few
    assert statistics.interquartile(scores[:5], "x", seed=1) != few
    assert few.low < few.middle < few.high
    # Its deviation falls with the root of the seeds: 8 ** 0.5 = 2.8, here within a third of that.
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(8**0.5, rel=1 / 3)


def test_one_seed_has_an_interquartile_mean_and_no_interval():
    assert statistics.interquartile(np.array([[1.0, 2, 3, 6]]), "x") == Summary(1, 2.5, None, None)


def test_the_ccdf_counts_scenarios_above_a_threshold():
    thresholds = np.array([0.0, 10, 50, 60, 100])
    found = statistics.ccdf(MEDIANS, thresholds, "x")
    np.testing.assert_allclose(found, [1, 7 / 9, 4 / 9, 2 / 9, 0])


def test_the_area_under_the_ccdf_is_the_mean_above_zero():
    assert statistics.ccdf_area(MEDIANS, "x") == 45.0
    assert statistics.ccdf_area(np.array([-30.0, 60]), "x") == 30.0
    tau = np.arange(0, 100, 0.01) + 0.005
    assert statistics.ccdf(MEDIANS, tau, "x").mean() * 100 == pytest.approx(45.0)


def test_degradation_is_what_is_left_of_the_undamaged():
    assert statistics.degradation(np.array([50.0, -20]), 200.0, "x").tolist() == [0.25, -0.1]
    assert statistics.degradation(np.array([50.0]), 0.0, "x") is None
    assert statistics.degradation(np.array([50.0]), -3.0, "x") is None


def test_spearman_compares_orders():
    one, other = np.array([1.0, 2, 3, 4]), np.array([1.0, 9, 5, 1000])
    assert statistics.spearman(one, other, "x") == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert statistics.spearman(one, -one, "x") == pytest.approx(-1)
    assert statistics.spearman(one, np.ones(4), "x") is None


def test_profiles_are_shares_of_all_skills():
    miss, ret = np.array([0.1, 0.2, 0.2, 0.9]), np.array([5.0, 10, 1, 100])
    distance = statistics.distance_profile(miss, np.array([0.0, 0.1, 0.2, 0.21, 1]), "x")
    assert distance.tolist() == [0, 0, 0.25, 0.75, 1]
    # Achieved within 0.2 are the first three; the best of all, 100, is not among them.
    performance = statistics.performance_profile(miss, ret, 0.2, np.array([0.0, 1, 5, 50]), "x")
    assert performance.tolist() == [0.75, 0.5, 0.25, 0]


def test_probability_of_improvement_counts_pairs_and_halves_ties():
    mine, theirs = np.array([[1.0], [3.0]]), np.array([[2.0], [3.0]])
    assert statistics.probability_of_improvement(mine, theirs, "x") == (0 + 0 + 1 + 0.5) / 4
    two = statistics.probability_of_improvement(
        np.hstack([mine, mine]), np.hstack([theirs, theirs - 10]), "x"
    )
    assert two == (0.375 + 1) / 2


def test_numbers_are_told_with_three_digits_and_no_exponent():
    told = [statistics.short(value) for value in (0, 1234.5, -12.345, 0.00012345, 1.0)]
    assert told == ["0", "1234", "-12.3", "0.000123", "1.00"]
    assert Summary(5, 0.12, 0.1, 0.2).said(2, 100) == "12 [10, 20]"
