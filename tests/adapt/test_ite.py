"""Intelligent Trial and Error: the reference's example, the units, and what is never done."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ursa.adapt.ite import (
    KAPPA,
    Attempt,
    Chart,
    Trial,
    believe,
    best,
    choose,
    normalised,
    promise,
    search,
)
from ursa.errors import UserError

# The reference's example (5.8).
PLACE = np.array([[0.2, 0.2], [0.25, 0.2], [0.8, 0.8], [0.5, 0.5]])
PRIOR = np.array([1.0, 0.95, 0.8, 0.6])
TRUTH = np.array([0.1, 0.12, 0.75, 0.5])
EXAMPLE = Chart(PLACE, PRIOR)


def told_by(truth):
    return lambda row: Trial(float(truth[row]))


def tried(found):
    return [it.skill for it in found.attempts]


def test_a_twentieth_of_a_deviation_counts_as_promise():
    assert KAPPA == 0.05


def test_the_example_of_the_reference_trial_by_trial():
    found = search(EXAMPLE, told_by(TRUTH), 1)
    assert tried(found) == [0]
    wanted = [0.1008991009, 0.2049608110, 0.7999992761, 0.5972391487]
    np.testing.assert_allclose(found.belief.mean, wanted, atol=1e-10)
    wanted = [0.0316069771, 0.5603807386, 1.0, 0.9999952902]
    np.testing.assert_allclose(found.belief.deviation, wanted, atol=1e-9)
    bound = promise(found.belief)
    wanted = [0.1024794498, 0.2329798479, 0.8499992761, 0.6472389132]
    np.testing.assert_allclose(bound, wanted, atol=1e-9)
    found = search(EXAMPLE, told_by(TRUTH), 2)
    assert tried(found) == [0, 2]
    wanted = [0.1008991009, 0.2049607636, 0.7500499493, 0.5970857704]
    np.testing.assert_allclose(found.belief.mean, wanted, atol=1e-10)
    assert choose(found.belief, [0, 2]) == 3
    assert promise(found.belief)[3] == pytest.approx(0.6470852994, abs=1e-9)
    assert tried(search(EXAMPLE, told_by(TRUTH), 3)) == [0, 2, 3]


def test_the_stop_rule_of_the_reference_ends_the_example_after_two_trials():
    # 0.75 >= 0.9 * 0.75005, but 0.1 < 0.9 * 0.8
    assert tried(search(EXAMPLE, told_by(TRUTH), 4, stop=0.9)) == [0, 2]
    assert len(search(EXAMPLE, told_by(TRUTH), 4, stop=1.0).attempts) > 2  # 0.75 < 0.75005


def test_an_attempt_says_what_was_expected_and_who_leads():
    heard = []
    found = search(EXAMPLE, told_by(TRUTH), 3, told=heard.append)
    assert tuple(heard) == found.attempts
    assert [it.number for it in heard] == [1, 2, 3]
    np.testing.assert_allclose([it.mean for it in heard], [1, 0.7999992761, 0.5970857704])
    assert [it.trial.ret for it in heard] == [0.1, 0.75, 0.5]
    assert [it.best for it in heard] == [0, 2, 2]
    assert found.best == heard[1]
    assert found.aborted == 0


def test_each_trial_is_told_before_the_next_is_made():
    order = []

    def trial(row):
        order.append(f"trial {row}")
        return Trial(float(TRUTH[row]))

    search(EXAMPLE, trial, 2, told=lambda it: order.append(f"told {it.skill}"))
    assert order == ["trial 0", "told 0", "trial 2", "told 2"]


def test_skills_fill_the_unit_box_and_returns_go_from_nought_to_one():
    skills = np.array([[-2.0, 5.0, 3.0], [0.0, 5.0, 7.0], [2.0, 5.0, 4.0]])
    chart = normalised(skills, np.array([100.0, 300.0, 150.0]))
    np.testing.assert_array_equal(chart.place, [[0, 0, 0], [0.5, 0, 1], [1, 0, 0.25]])
    np.testing.assert_array_equal(chart.prior, [0, 1, 0.25])
    assert (chart.low, chart.span) == (100.0, 200.0)


def test_a_prior_that_says_nothing_has_a_span_of_one():
    chart = normalised(np.array([[1.0], [2.0]]), np.array([7.0, 7.0]))
    np.testing.assert_array_equal(chart.prior, [0, 0])
    assert (chart.low, chart.span) == (7.0, 1.0)
    assert tried(search(chart, told_by(np.array([5.0, 9.0])), 2)) == [0, 1]


@pytest.mark.parametrize(
    ("skills", "expected"),
    [
        (np.zeros((0, 2)), np.zeros(0)),
        (np.array([[0.0], [np.inf]]), np.zeros(2)),
        (np.zeros((2, 1)), np.array([1.0, np.nan])),
    ],
)
def test_a_map_without_skills_or_with_numbers_that_are_none_is_refused(skills, expected):
    with pytest.raises(UserError, match="finite skills and expected returns"):
        normalised(skills, expected)


@pytest.mark.parametrize("trials", [0, -3])
def test_no_trial_is_refused(trials):
    with pytest.raises(UserError, match=f"trials = {trials}, want at least 1"):
        search(EXAMPLE, told_by(TRUTH), trials)


def test_units_of_returns_come_back_in_what_is_told():
    """The example again, in returns of 0 .. 200 shifted by -50 and with another box."""
    low, high = PRIOR.min(), np.ptp(PRIOR)
    unit = Chart(PLACE, (PRIOR - low) / high, low=-50 + 200 * low, span=200 * high)
    found = search(unit, told_by(-50 + 200 * TRUTH), 2)
    small = search(Chart(PLACE, (PRIOR - low) / high, low=low, span=high), told_by(TRUTH), 2)
    for mine, theirs in zip(found.attempts, small.attempts, strict=True):
        assert mine.skill == theirs.skill
        assert mine.mean == pytest.approx(-50 + 200 * theirs.mean)
        assert mine.deviation == pytest.approx(200 * theirs.deviation)


def test_a_trial_that_returns_no_number_says_nothing_and_is_not_repeated():
    truth = np.array([math.nan, 0.3, 0.75, 0.5])
    found = search(EXAMPLE, told_by(truth), 4)
    assert sorted(tried(found)) == [0, 1, 2, 3]
    assert tried(found)[:2] == [0, 1]  # its neighbour is still believed to be good
    assert math.isnan(found.attempts[0].trial.ret)
    assert found.attempts[0].best is None
    assert found.best is not None
    assert found.best.skill == 2
    assert np.isfinite(found.belief.mean).all()


def test_no_number_at_all_leaves_no_best():
    found = search(EXAMPLE, told_by(np.full(4, math.inf)), 4)
    assert found.best is None
    np.testing.assert_array_equal(found.belief.mean, PRIOR)


def test_an_aborted_trial_counts_and_teaches_but_is_not_chosen():
    outcomes = {0: Trial(0.9, 0.3, True), 1: Trial(0.2), 2: Trial(0.1), 3: Trial(0.5)}
    found = search(EXAMPLE, outcomes.__getitem__, 4)
    assert found.aborted == 1
    assert found.best is not None
    assert found.best.skill == 3
    assert abs(found.belief.mean[0] - 0.9) < 0.01
    alone = search(EXAMPLE, lambda row: Trial(float(TRUTH[row]), 1.0, True), 4)
    assert alone.aborted == 4
    assert alone.best is not None
    assert alone.best.skill == 2  # all were: the least bad


def test_of_equal_trials_the_earlier_is_best():
    twice = [Attempt(i + 1, 3 - i, 0.0, 1.0, Trial(0.5), None) for i in range(2)]
    leader = best(twice)
    assert leader is not None
    assert leader.number == 1


seeds = st.integers(0, 2**32 - 1)


def world(seed, count=20):
    """Skills, what was expected, what is true."""
    rng = np.random.default_rng(seed)
    skills, expected = rng.standard_normal((count, 2)), rng.standard_normal(count)
    return skills, expected, expected + rng.standard_normal(count)


@given(seeds, st.integers(1, 30))
def test_no_skill_is_tried_twice(seed, trials):
    skills, expected, truth = world(seed)
    found = tried(search(normalised(skills, expected), told_by(truth), trials))
    assert len(found) == len(set(found)) == min(trials, 20)


@given(seeds)
def test_the_first_trial_is_the_prior_s_best_and_the_chosen_one_the_best_of_all(seed):
    skills, expected, truth = world(seed)
    found = search(normalised(skills, expected), told_by(truth), 8)
    assert tried(found)[0] == expected.argmax()
    assert found.best is not None
    assert found.best.trial.ret == truth[tried(found)].max()


@given(seeds)
def test_how_skills_are_numbered_does_not_matter(seed):
    skills, expected, truth = world(seed)
    order = np.random.default_rng(seed).permutation(len(skills))
    found = tried(search(normalised(skills, expected), told_by(truth), 8))
    moved = tried(search(normalised(skills[order], expected[order]), told_by(truth[order]), 8))
    assert [order[row] for row in moved] == found


@given(seeds, st.floats(0.01, 100), st.floats(-100, 100))
def test_units_and_origin_of_skills_and_returns_do_not_matter(seed, scale, shift):
    skills, expected, truth = world(seed)
    found = tried(search(normalised(skills, expected), told_by(truth), 8))
    other = normalised(shift + skills * [scale, 1 / scale], shift + scale * expected)
    assert tried(search(other, told_by(shift + scale * truth), 8)) == found


@given(seeds)
def test_the_same_trials_twice_are_the_same_search(seed):
    skills, expected, truth = world(seed)
    chart = normalised(skills, expected)
    first, second = (search(chart, told_by(truth), 8) for _ in range(2))
    assert first.attempts == second.attempts
    np.testing.assert_array_equal(first.belief.mean, second.belief.mean)


@given(seeds)
def test_a_bad_skill_takes_its_neighbours_down_and_leaves_the_far_ones(seed):
    rng = np.random.default_rng(seed)
    place = np.concatenate([[[0.5, 0.5]], rng.random((30, 2))])
    attempt = Attempt(1, 0, 1.0, 1.0, Trial(0.0), None)
    belief = believe(Chart(place, np.ones(31)), [attempt])
    distance = np.linalg.norm(place - place[0], axis=1)
    near = np.argsort(distance)
    assert (np.diff(belief.mean[near]) >= -1e-12).all()
    assert (belief.mean[distance > 0.3] > 0.97).all()
