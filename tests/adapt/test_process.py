"""The Gaussian process: hand numbers, brute force, and what must hold whatever was seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from ursa.adapt.process import LENGTH, NOISE, matern, posterior

NOTHING = np.array([], int), np.array([])


def test_the_paper_numbers_are_the_defaults():
    assert LENGTH == 0.1
    assert NOISE == 1e-3


def test_the_kernel_has_the_values_of_the_reference():
    seen = matern(np.array([0.0, 0.05, 0.1, 0.2, 0.3]))
    np.testing.assert_allclose(seen, [1, 0.8286, 0.5240, 0.1387, 0.0277], atol=5e-5)
    # (1 + sqrt 5 + 5 / 3) exp(-sqrt 5), one length away
    assert seen[2] == pytest.approx((1 + 5**0.5 + 5 / 3) * np.exp(-(5**0.5)))


@pytest.mark.parametrize(("level", "radius"), [(0.5, 0.104), (0.1, 0.221)])
def test_a_trial_reaches_as_far_as_the_reference_says(level, radius):
    reach = brentq(lambda d: matern(np.array([d]))[0] - level, 0.0, 1.0)
    assert reach == pytest.approx(radius, abs=5e-4)


def test_one_length_is_the_unit_of_distance():
    far = np.linspace(0, 3, 7)
    np.testing.assert_allclose(matern(far * 0.7, 0.7), matern(far, 1.0))


def test_without_a_trial_the_prior_is_believed_and_nothing_is_sure():
    prior = np.array([0.3, -1.0])
    belief = posterior(np.zeros((2, 3)), prior, *NOTHING)
    np.testing.assert_array_equal(belief.mean, prior)
    np.testing.assert_array_equal(belief.deviation, [1, 1])


def test_one_trial_moves_its_neighbour_by_their_covariance():
    # A length away: covariance c = 0.5240. Seen 0.6 less than expected, noise 0.001.
    place, prior = np.array([[0.0], [0.1]]), np.array([1.0, 0.9])
    belief = posterior(place, prior, np.array([0]), np.array([0.4]))
    c = 0.5239941088318203
    np.testing.assert_allclose(belief.mean, [1 - 0.6 / 1.001, 0.9 - 0.6 * c / 1.001], rtol=1e-12)
    wanted = [np.sqrt(1 - 1 / 1.001), np.sqrt(1 - c * c / 1.001)]
    np.testing.assert_allclose(belief.deviation, wanted, rtol=1e-9)


def test_two_trials_at_the_same_place_are_worth_one_with_half_the_noise():
    place, prior = np.array([[0.2, 0.2], [0.25, 0.2], [0.2, 0.2]]), np.zeros(3)
    twice = posterior(place, prior, np.array([0, 2]), np.array([0.3, 0.5]))
    once = posterior(place, prior, np.array([0]), np.array([0.4]), noise=NOISE / 2)
    np.testing.assert_allclose(twice.mean, once.mean, rtol=1e-9)
    np.testing.assert_allclose(twice.deviation, once.deviation, rtol=1e-9)


def surveyed(seed, count=12, tried=4):
    """A random map in the plane, and what was seen at some of its places."""
    rng = np.random.default_rng(seed)
    place, prior = rng.random((count, 2)), rng.standard_normal(count)
    rows = rng.permutation(count)[:tried]
    return place, prior, rows, prior[rows] + rng.standard_normal(tried)


seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_it_agrees_with_the_whole_joint_distribution(seed):
    """Bayes' rule with precision matrices over all places: nothing in common with our route."""
    place, prior, rows, seen = surveyed(seed)
    gaps = np.linalg.norm(place[:, None] - place[None], axis=-1)
    precision = np.linalg.inv(matern(gaps))
    seeing = np.zeros((len(rows), len(place)))
    seeing[np.arange(len(rows)), rows] = 1
    spread = np.linalg.inv(precision + seeing.T @ seeing / NOISE)
    mean = spread @ (precision @ prior + seeing.T @ seen / NOISE)
    belief = posterior(place, prior, rows, seen)
    np.testing.assert_allclose(belief.mean, mean, atol=1e-6)
    np.testing.assert_allclose(belief.deviation**2, np.diag(spread), atol=1e-6)


@given(seeds)
def test_what_was_seen_is_believed_up_to_its_noise(seed):
    place, prior, rows, seen = surveyed(seed)
    belief = posterior(place, prior, rows, seen)
    # What is left of a surprise u is noise (K + noise)^-1 u.
    gap = np.linalg.norm(place[rows][:, None] - place[rows][None], axis=-1)
    covariance = matern(gap) + NOISE * np.eye(len(rows))
    left = NOISE * np.linalg.solve(covariance, seen - prior[rows])
    np.testing.assert_allclose(seen - belief.mean[rows], left, atol=1e-9)
    assert (belief.deviation[rows] <= np.sqrt(NOISE)).all()


@given(seeds)
def test_another_trial_makes_no_place_less_sure(seed):
    place, prior, rows, seen = surveyed(seed)
    fewer = posterior(place, prior, rows[:-1], seen[:-1]).deviation
    more = posterior(place, prior, rows, seen).deviation
    assert (more <= fewer + 1e-7).all()
    assert more[rows[-1]] < fewer[rows[-1]]


@given(seeds)
def test_the_order_of_trials_and_of_places_does_not_matter(seed):
    place, prior, rows, seen = surveyed(seed)
    belief = posterior(place, prior, rows, seen)
    back = posterior(place, prior, rows[::-1], seen[::-1])
    np.testing.assert_allclose(back.mean, belief.mean, atol=1e-9)
    order = np.random.default_rng(seed).permutation(len(place))
    new = np.argsort(order)[rows]  # where the tried places are now
    moved = posterior(place[order], prior[order], new, seen)
    np.testing.assert_allclose(moved.mean, belief.mean[order], atol=1e-9)
    np.testing.assert_allclose(moved.deviation, belief.deviation[order], atol=1e-7)


@given(seeds)
def test_a_trial_as_expected_changes_no_mean(seed):
    place, prior, rows, _ = surveyed(seed)
    np.testing.assert_array_equal(posterior(place, prior, rows, prior[rows]).mean, prior)
