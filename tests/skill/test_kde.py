"""Drawing from R, and the density's own numbers, against two other implementations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from ursa.skill import kde
from ursa.skill.repertoire import Repertoire, extend, refresh

Z = np.array([(0, 0), (2, 0), (0, 1), (2, 3)], float)


@jax.jit
def measured(empty, points, flags):
    return refresh(extend(empty, points, points, flags))


def holding(points, size=512, dtype="float32", **options):
    """A refreshed repertoire with these rows, in their order."""
    rows = np.zeros((512, 2), dtype)  # one shape, one program
    rows[: len(points)] = points
    empty = Repertoire.empty(size, 2, 2, dtype=dtype, **options)
    return measured(empty, rows, np.arange(512) < len(points))


draw = jax.jit(kde.draw, static_argnums=2)
box = jax.jit(kde.box, static_argnums=2)


@pytest.fixture(scope="module")
def cloud():
    """Three hundred rows of 512, skewed and off centre."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2)) @ np.array([[1.0, 0.8], [0.0, 0.3]]) + [3.0, -1.0]
    return points.astype(np.float32), holding(points)


def test_a_draw_is_a_row_plus_noise_shaped_by_sigma():
    with jax.enable_x64(True):
        z = kde.around(holding(Z, 4, "float64"), jnp.array([2]), jnp.array([[1.0, -0.5]]))
    np.testing.assert_allclose(z, [(0.9164864247, 0.9459117258)], atol=2e-6)  # jitter: 5e-7


def test_the_entropy_and_its_bound():
    with jax.enable_x64(True):
        estimate, bound = kde.entropy(holding(Z, 4, "float64"))
    np.testing.assert_allclose(estimate, 2.8575167016, atol=2e-6)
    np.testing.assert_allclose(bound, 2.5558560594, atol=2e-6)


def test_the_density_equals_scipys_and_jaxs(cloud):
    points, repertoire = cloud
    at = np.random.default_rng(1).normal([3, -1], 1, (100, 2)).astype(np.float32)
    ours = jax.jit(kde.log_density)(repertoire, at)
    np.testing.assert_allclose(ours, scipy.stats.gaussian_kde(points.T).logpdf(at.T), rtol=1e-4)
    weights = (np.arange(512) < 300).astype(np.float32)
    with jax.numpy_rank_promotion("allow"):
        theirs = jax.scipy.stats.gaussian_kde(repertoire.skill.T, weights=weights).logpdf(at.T)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    inside = np.abs(ours) < 3
    assert inside.sum() > 30
    np.testing.assert_allclose(
        repertoire.density(at)[inside],
        scipy.stats.gaussian_kde(points.T).pdf(at.T)[inside],
        rtol=1e-4,
    )


def test_the_entropy_estimate_is_scipys_and_above_its_bound(cloud):
    points, repertoire = cloud
    estimate, bound = repertoire.entropy()
    expected = -scipy.stats.gaussian_kde(points.T).logpdf(points.T).mean()
    np.testing.assert_allclose(estimate, expected, rtol=1e-4)
    assert bound <= estimate
    assert bound > estimate - 5


@pytest.mark.parametrize("metric", ["euclidean", "literal"])
def test_density_and_entropy_do_not_depend_on_the_metric(cloud, metric):
    points, repertoire = cloud
    other = holding(points, metric=metric)
    np.testing.assert_allclose(np.array(other.entropy()), np.array(repertoire.entropy()), rtol=1e-4)


def test_draws_have_the_mean_of_the_rows_and_their_covariance_widened(cloud):
    points, repertoire = cloud
    z = np.asarray(draw(repertoire, jax.random.key(0), 40_000))
    h2 = 300 ** (-2 / 6)
    sigma = np.cov(points.T, ddof=0) + h2 * np.cov(points.T)  # which row, and the kernel
    np.testing.assert_allclose(z.mean(0), points.mean(0), atol=0.02)  # four standard errors
    np.testing.assert_allclose(np.cov(z.T), sigma, atol=0.03)
    inner = np.cov(points.T)
    assert np.cov(z.T)[0, 0] > 1.1 * inner[0, 0]  # not merely the rows


def test_until_there_are_enough_rows_draws_are_standard_normal():
    far = np.random.default_rng(2).normal(50, 1, (127, 2))
    z = np.asarray(draw(holding(far), jax.random.key(1), 4000))
    assert abs(z.mean()) < 0.1
    np.testing.assert_allclose(np.cov(z.T), np.eye(2), atol=0.1)
    one_more = holding(np.vstack([far, [(50, 50)]]))
    assert np.asarray(draw(one_more, jax.random.key(1), 100)).min() > 40


def test_a_full_repertoire_is_enough_however_small_and_rows_on_a_line_never_are():
    small = np.random.default_rng(3).normal(50, 1, (12, 2))
    assert np.asarray(draw(holding(small, 12), jax.random.key(0), 50)).min() > 40
    line = np.stack([np.linspace(40, 60, 200), np.full(200, 50.0)], 1)
    assert np.abs(draw(holding(line), jax.random.key(0), 50)).max() < 6


def test_an_empty_repertoire_draws_standard_normal_and_has_no_entropy():
    empty = Repertoire.empty(16, 2, 2)
    assert np.isfinite(draw(empty, jax.random.key(0), 8)).all()
    assert np.isfinite(draw(jax.jit(refresh)(empty), jax.random.key(0), 8)).all()
    assert tuple(map(float, empty.entropy())) == (0, 0)


def test_the_box_is_uniform_between_the_extremes(cloud):
    points, repertoire = cloud
    z = np.asarray(box(repertoire, jax.random.key(0), 20_000))
    low, high = points.min(0), points.max(0)
    assert (z >= low).all()
    assert (z <= high).all()
    np.testing.assert_allclose(z.mean(0), (low + high) / 2, atol=0.06)
    np.testing.assert_allclose(z.std(0), (high - low) / 12**0.5, rtol=0.02)
    early = np.asarray(box(Repertoire.empty(512, 2, 2), jax.random.key(0), 4000))
    np.testing.assert_allclose(np.cov(early.T), np.eye(2), atol=0.1)


def test_the_same_key_draws_the_same_and_another_does_not(cloud):
    _, repertoire = cloud
    one = draw(repertoire, jax.random.key(5), 8)
    np.testing.assert_array_equal(one, draw(repertoire, jax.random.key(5), 8))
    assert not np.isclose(one, draw(repertoire, jax.random.key(6), 8)).any()
    np.testing.assert_array_equal(one, repertoire.sample(jax.random.key(5), 8))
