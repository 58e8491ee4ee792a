"""Which postures are offered: every safe one, or means of safe windows that nothing interrupts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ursa.errors import UserError
from ursa.skill.commit import instant, window


def folded(rule, postures, safe, first):
    """Offers over time of n robots: candidates (T, n, P) and flags (T, n)."""

    def step(state, row):
        state, candidate, flag = rule.advance(state, *row)
        return state, (candidate, flag)

    rows = tuple(map(jnp.asarray, (postures, safe, first)))
    return jax.lax.scan(step, rule.begin(*postures.shape[1:]), rows)[1]


three = jax.jit(lambda *rows: folded(window(3), *rows))


def one(values, safe, first):
    """Offers of one robot with a one-dimensional posture, by a window of 3."""
    shape = (len(values), 1)
    candidate, flag = three(
        np.float32(values).reshape(*shape, 1),
        np.array(safe, bool).reshape(shape),
        np.array(first, bool).reshape(shape),
    )
    return [
        round(float(c), 4) if f else None
        for c, f in zip(candidate[:, 0, 0], flag[:, 0], strict=True)
    ]


def test_an_instant_is_offered_exactly_when_it_is_safe():
    postures = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    safe = np.array([[True, False, True], [False, False, True]])
    candidate, flag = folded(instant(), postures, safe, np.ones((2, 3), bool))
    np.testing.assert_array_equal(candidate, postures)
    np.testing.assert_array_equal(flag, safe)


def test_a_window_offers_its_mean_once_it_is_full_and_then_at_every_step():
    assert one([1, 2, 6, 4, 8], [1] * 5, [1, 0, 0, 0, 0]) == [None, None, 3, 4, 6]


def test_one_unsafe_row_keeps_every_window_that_holds_it_out():
    assert one([1, 2, 6, 4, 8, 9], [1, 1, 0, 1, 1, 1], [1, 0, 0, 0, 0, 0]) == [None] * 5 + [7]


def test_a_window_never_reaches_over_an_intervention():
    assert one([1, 2, 6, 4, 8, 9], [1] * 6, [1, 0, 0, 1, 0, 0]) == [None, None, 3, None, None, 7]


def test_a_row_that_is_not_finite_leaves_with_its_window():
    offers = one([np.nan, 2, 6, 4, 8, 9], [1] * 6, [1, 0, 0, 0, 0, 0])
    assert np.isnan(offers[2])  # offered, and refused by the repertoire
    assert offers[3:] == [4, 6, 7]


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.booleans()), min_size=8, max_size=8))
def test_a_window_equals_its_definition(rows):
    values, safe, first = zip(*rows, strict=True)
    expected = []
    for t in range(8):
        whole = t >= 2 and all(safe[t - 2 : t + 1]) and not any(first[t - 1 : t + 1])
        expected.append(round(float(np.mean(values[t - 2 : t + 1])), 4) if whole else None)
    assert one(values, safe, first) == pytest.approx(expected, abs=2e-4)


def test_robots_do_not_share_their_windows():
    postures = np.stack([np.full((3, 2), 1), np.full((3, 2), 5)], 1).astype(np.float32)
    safe = np.array([[True, True], [True, False], [True, True]])
    candidate, flag = folded(window(3), postures, safe, np.zeros((3, 2), bool))
    assert flag[-1].tolist() == [True, False]
    np.testing.assert_array_equal(candidate[-1, 0], [1, 1])


def test_a_window_of_one_is_an_instant():
    postures = np.random.default_rng(0).normal(size=(5, 4, 3)).astype(np.float32)
    safe = np.random.default_rng(1).random((5, 4)) < 0.5
    first = np.random.default_rng(2).random((5, 4)) < 0.5
    candidate, flag = folded(window(1), postures, safe, first)
    np.testing.assert_array_equal(flag, safe)
    np.testing.assert_allclose(candidate, postures)


def test_an_empty_window_is_refused():
    with pytest.raises(UserError, match="window = 0 rows, want at least 1"):
        window(0)
