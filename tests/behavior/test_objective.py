"""J at its corners, and the distance its skill constraint is about, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.behavior.objective import distance, objective, smooth_distance

HUBER = 1e-3
# Of the skills (0,0), (2,0), (0,1), (2,3): covariance [[4/3, 2/3], [2/3, 2]], whitened by the
# inverse of its Cholesky factor.
WHITEN = np.linalg.inv(np.linalg.cholesky([[4 / 3, 2 / 3], [2 / 3, 2]]))


@pytest.fixture
def wide():
    """Sixty-four bits, as in the hand calculations."""
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(
    ("lambda_skill", "lambda_safe", "wanted"),
    [(0, 0, 2.0), (1, 0, -0.3), (0, 1, 0.3), (1, 1, 0.3), (0.5, 0.5, 0.575), (0.25, 0.1, 1.3125)],
)
def test_objective_between_reward_skill_and_safety(lambda_skill, lambda_safe, wanted):
    """Value 2, distance 0.5 with threshold 0.2, cost -0.3."""
    given = {"value": 2, "miss": 0.5 - 0.2, "cost": -0.3}
    given |= {"lambda_skill": lambda_skill, "lambda_safe": lambda_safe}
    found = objective(**{name: jnp.array([float(value)]) for name, value in given.items()})
    np.testing.assert_allclose(found, [wanted], rtol=1e-6)


def test_an_unsafe_robot_ignores_reward_and_skill():
    ones = jnp.ones(3)
    j = objective(
        value=7 * ones, miss=9 * ones, cost=2 * ones, lambda_skill=0.5 * ones, lambda_safe=ones
    )
    assert (j == -2).all()


def test_distance_is_measured_in_deviations_of_the_repertoire(wide):
    average, z = jnp.array([[0.75, 1.30]]), jnp.array([[1.0, 1.0]])
    found = distance(average, z, jnp.asarray(WHITEN))
    np.testing.assert_allclose(found, [0.3940177661], rtol=1e-9)
    plain = distance(average, z, jnp.eye(2))
    np.testing.assert_allclose(plain, [0.3905124838], rtol=1e-9)


@pytest.mark.parametrize(
    ("gap", "wanted"), [(0.0, 0.0), (1e-3, 4.1421356237e-4), (1e-2, 9.0498756211e-3)]
)
def test_smooth_distance_is_square_when_near_and_straight_when_far(wide, gap, wanted):
    found = smooth_distance(jnp.array([[gap, 0.0]]), jnp.zeros((1, 2)), jnp.eye(2), HUBER)
    np.testing.assert_allclose(found, [wanted], rtol=1e-9)


@pytest.mark.parametrize(("gap", "slope"), [(0.0, 0.0), (1e-3, 0.7071067812), (0.39, 0.9999967)])
def test_its_slope_is_finite_everywhere_and_one_far_away(wide, gap, slope):
    def far(gap):
        return smooth_distance(
            jnp.stack([gap, 0 * gap])[None], jnp.zeros((1, 2)), jnp.eye(2), HUBER
        )[0]

    np.testing.assert_allclose(jax.grad(far)(jnp.asarray(gap)), slope, atol=1e-7)


def test_smooth_distance_is_whitened_too(wide):
    average, z = jnp.array([[0.75, 1.30]]), jnp.array([[1.0, 1.0]])
    found = smooth_distance(average, z, jnp.asarray(WHITEN), HUBER)
    np.testing.assert_allclose(found, [np.hypot(0.3940177661, HUBER) - HUBER], rtol=1e-8)


def test_a_single_float32_is_enough_for_it():
    found = smooth_distance(jnp.array([[5.0, 0.0]]), jnp.zeros((1, 2)), jnp.eye(2), HUBER)
    np.testing.assert_allclose(found, [4.999], rtol=1e-5)
