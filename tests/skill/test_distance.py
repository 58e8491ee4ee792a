"""Whitening, neighbours, metrics and δ, against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from skill.brute import squares
from ursa.skill.distance import (
    METRICS,
    covariance,
    first,
    lowest,
    measured,
    neighbours,
    scott,
    separation,
    spread,
    squared,
    threshold,
)

Z = np.array([(0, 0), (2, 0), (0, 1), (2, 3)], float)
H = 0.7937005260  # 4^(-1/6)


@pytest.fixture
def wide():
    """Sixty-four bits, as in the hand calculations."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def plain(wide):
    """The spread of Z without jitter."""
    return spread(jnp.asarray(Z), jnp.int32(4), jitter=0.0)


def test_covariance_divides_by_one_less_and_ignores_unused_rows(wide):
    rows = jnp.asarray(np.vstack([Z, [(1e6, -1e6)]]))
    mean, sigma = covariance(rows, jnp.int32(4))
    np.testing.assert_allclose(mean, [1, 1], rtol=1e-12)
    np.testing.assert_allclose(sigma, [[4 / 3, 2 / 3], [2 / 3, 2]], rtol=1e-12)


def test_scott_and_the_factor_of_sigma(plain):
    h = scott(jnp.int32(4), 2, jnp.dtype("float64"))
    np.testing.assert_allclose(h, H, rtol=1e-9)
    factor = [[0.9164864247, 0], [0.4582432123, 1.0246629730]]
    np.testing.assert_allclose(h * plain.factor, factor, atol=1e-9)
    sigma = [[0.8399473666, 0.4199736833], [0.4199736833, 1.2599210499]]
    np.testing.assert_allclose(h**2 * plain.factor @ plain.factor.T, sigma, atol=1e-9)
    assert plain.regular


def test_scott_is_a_quarter_for_4096_skills_in_a_plane():
    h = scott(jnp.int32(4096), 2, jnp.dtype("float32"))
    np.testing.assert_allclose(h, 0.25, rtol=1e-6)


def test_whitened_coordinates_and_distances(plain):
    y = measured(plain.whitener, jnp.asarray(Z) - plain.mean[None]) / H
    expected = [
        (-1.0911236360, -0.4879653244),
        (1.0911236360, -1.4638959731),
        (-1.0911236360, 0.4879653244),
        (1.0911236360, 1.4638959731),
    ]
    np.testing.assert_allclose(y, expected, atol=1e-9)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    apart = separation(
        plain.whitener / H, *(jnp.asarray(Z[list(side)]) for side in zip(*pairs, strict=True))
    )
    expected = [2.3905321138, 0.9759306488, 2.9277919463, 2.9277919463, 2.9277919463, 2.3905321138]
    np.testing.assert_allclose(apart, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("newcomer", "expected"),
    [
        ((0.9, 0.1), [0.9055385138, 0.1414213562, 2, 3.1622776602, 0.1414213562]),
        ((2, 2), [1, 1, 2, 1.4142135624, 1.4142135624]),
        ((0.5, 0), [0.5, 0.5, 2, 3.1622776602, 0.5]),
    ],
)
def test_nearest_distances_with_a_newcomer(wide, newcomer, expected):
    rows = jnp.asarray([(0, 0), (1, 0), (0, 2), (3, 3), newcomer], float)
    np.testing.assert_allclose(jnp.sqrt(neighbours(rows, jnp.int32(5))[0]), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("newcomer", "expected"),
    [
        ((1, 2), [0.9759306488, 2.3905321138, 0.9759306488, 1.1952660569, 1.1952660569]),
        ((-0.5, 1.5), [0.9759306488, 2.3905321138, 0.9128995302, 2.3905321138, 0.9128995302]),
    ],
)
def test_nearest_distances_with_a_newcomer_under_sigma(plain, newcomer, expected):
    rows = measured(plain.whitener / H, jnp.asarray(np.vstack([Z, newcomer])))
    np.testing.assert_allclose(jnp.sqrt(neighbours(rows, jnp.int32(5))[0]), expected, atol=1e-8)


@pytest.mark.parametrize(
    ("distinct", "delta"),
    [(1, 1.6832313813), (2, 1.1902243240), (4, 0.8416156906), (8, 0.5951121620)],
)
def test_the_threshold_under_sigma(plain, distinct, delta):
    y = measured(plain.whitener, jnp.asarray(Z) - plain.mean[None])
    nearest, index = neighbours(y, jnp.int32(4))
    expected = [0.9759306488, 2.3905321138, 0.9759306488, 2.3905321138]
    np.testing.assert_allclose(jnp.sqrt(nearest) / H, expected, atol=1e-8)
    assert index[0] == 2
    assert index[2] == 0
    scale = METRICS["literal"].scale(jnp.asarray(H))
    value = threshold(nearest, jnp.int32(4), 2, distinct, scale)
    np.testing.assert_allclose(value, delta, atol=1e-8)


def test_for_an_eighth_of_4096_skills_the_threshold_is_the_root_of_two_times_their_spacing():
    """(4096 / 512)^(1/2) / 2."""
    delta = threshold(jnp.full(4096, 0.25), jnp.int32(4096), 2, 512)  # all half a unit apart
    np.testing.assert_allclose(delta / 0.5, 1.414214, rtol=1e-6)


def test_nearest_distances_as_the_crow_flies(wide):
    nearest, index = neighbours(jnp.asarray(Z), jnp.int32(4))
    np.testing.assert_allclose(jnp.sqrt(nearest), [1, 2, 1, 2.8284271247], atol=1e-9)
    assert index.tolist() == [2, 0, 0, 2]


def test_the_other_metrics_change_the_ruler_and_the_unit(plain):
    whitened, euclidean, literal = (METRICS[k] for k in ("whitened", "euclidean", "literal"))
    h = jnp.asarray(H)

    def delta(metric):
        y = measured(metric.spacing(plain.whitener), jnp.asarray(Z) - plain.mean[None])
        return threshold(neighbours(y, jnp.int32(4))[0], jnp.int32(4), 2, 2, metric.scale(h))

    np.testing.assert_allclose(delta(whitened), 0.9446816720, atol=1e-8)
    np.testing.assert_allclose(delta(euclidean), 1.2071067812, atol=1e-8)
    np.testing.assert_allclose(delta(literal), 1.1902243240, atol=1e-8)

    achieved, z = jnp.asarray([0.75, 1.30]), jnp.asarray([1.0, 1.0])  # psi / 200, and the skill

    def miss(metric):
        return separation(metric.miss(plain.whitener), achieved, z)

    np.testing.assert_allclose(miss(whitened), 0.3940177661, atol=1e-9)
    np.testing.assert_allclose(miss(whitened) / H, 0.4964312775, atol=1e-8)
    np.testing.assert_allclose(miss(euclidean), 0.3905124838, atol=1e-9)
    np.testing.assert_allclose(miss(literal), 0.3905124838, atol=1e-9)


def test_jitter_adds_a_millionth_of_the_mean_variance(wide):
    factor = spread(jnp.asarray(Z), jnp.int32(4)).factor
    extra = factor @ factor.T - np.array([[4 / 3, 2 / 3], [2 / 3, 2]])
    np.testing.assert_allclose(extra, 1e-6 * (5 / 3) * np.eye(2), atol=1e-12)


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((0, 2)),
        [(3.0, 4.0)],
        [(3.0, 4.0), (3.0, 4.0)],
    ],
)
def test_rows_without_extent_leave_the_identity(rows):
    skill = np.zeros((5, 2), np.float32)
    skill[: len(rows)] = rows
    found = spread(jnp.asarray(skill), jnp.int32(len(rows)))
    np.testing.assert_array_equal(found.factor, np.eye(2))
    np.testing.assert_array_equal(found.whitener, np.eye(2))
    assert not found.regular


@pytest.mark.parametrize(("slope", "regular"), [(0.0, False), (1e-4, False), (1e-2, True)])
def test_rows_on_a_line_are_measured_but_not_regular(slope, regular):
    x = np.linspace(-1, 1, 64)
    skill = np.stack([x, slope * np.sign(np.sin(40 * x))], 1).astype(np.float32)
    found = spread(jnp.asarray(skill), jnp.int32(64))
    assert bool(found.regular) is regular
    assert np.isfinite(found.whitener).all()
    np.testing.assert_allclose(found.factor[0, 0], x.std(ddof=1), rtol=1e-4)


def test_neighbours_equal_brute_force_in_blocks_and_remainders():
    points = np.random.default_rng(0).integers(-900, 900, (150, 3))  # 64 + 64 + 22
    square = squares(points)
    nearest, index = jax.jit(neighbours)(jnp.asarray(points, jnp.float32), jnp.int32(150))
    np.testing.assert_array_equal(nearest, square.min(1))
    np.testing.assert_array_equal(index, square.argmin(1))
    nearest, index = jax.jit(neighbours)(jnp.asarray(points, jnp.float32), jnp.int32(100))
    np.testing.assert_array_equal(nearest[:100], square[:100, :100].min(1))
    assert np.isinf(nearest[100:]).all()
    assert not index[100:].any()


def test_small_distances_far_from_the_origin_are_exact():
    columns = jnp.asarray([[1000.0, 1000.25], [2000.0, 2000.0]])
    assert squared(columns, columns[:, 0]).tolist() == [0, 0.0625]


def test_the_lowest_index_wins_a_tie():
    value, index = lowest(jnp.asarray([3.0, 1.0, 2.0, 1.0]))
    assert (float(value), int(index)) == (1.0, 1)
    assert int(first(jnp.asarray([False, True, True]))) == 1
    assert int(first(jnp.zeros(3, bool))) == 3
    assert int(lowest(jnp.full(3, jnp.inf))[1]) == 0


def test_fewer_than_two_rows_have_no_threshold():
    assert threshold(jnp.full(4, jnp.inf), jnp.int32(1), 2, 8) == 0
