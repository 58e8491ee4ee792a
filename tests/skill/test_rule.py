"""The insertion rule: exact, sequential, and never to the harm of the closest pair."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill.brute import Brute, lattice, most_crowded, squares
from ursa.skill.distance import lowest, neighbours
from ursa.skill.repertoire import Repertoire, extend, place, refresh, thin
from ursa.skill.rule import NOWHERE

insert = jax.jit(place)
refreshed = jax.jit(refresh)
jitted_thin = jax.jit(thin, static_argnums=1)


def offered(repertoire, points, commit=None):
    """Offer points that are their own postures; where each went, and the repertoire after."""
    points = np.asarray(points, repertoire.skill.dtype)
    flags = np.ones(len(points), bool) if commit is None else np.asarray(commit)
    repertoire, slots = insert(repertoire, points, points, flags)
    return repertoire, np.asarray(slots).tolist()


def square():
    """Four slots: (0,0), (1,0), (0,2), (3,3); Σ = I."""
    return offered(Repertoire.empty(4, 2, 2), [(0, 0), (1, 0), (0, 2), (3, 3)])[0]


def distances(repertoire):
    return np.sqrt(np.asarray(repertoire.nearest))


def test_rows_are_appended_until_the_repertoire_is_full():
    repertoire = square()
    assert int(repertoire.filled) == 4
    np.testing.assert_allclose(distances(repertoire), [1, 1, 2, 10**0.5], rtol=1e-6)
    assert repertoire.neighbour.tolist() == [1, 0, 0, 2]


@pytest.mark.parametrize(
    ("candidate", "slot"),
    [
        ((0.9, 0.1), NOWHERE),  # pair (1, new): the newcomer's next neighbour, 0, is nearer
        ((2, 2), 0),  # pair (0, 1): next neighbours at 2 and sqrt 5
        ((0.5, 0), NOWHERE),  # 0 and the newcomer tie at 0.5; so does the newcomer with 1
    ],
)
def test_of_the_closest_pair_goes_the_one_with_the_nearer_second_neighbour(candidate, slot):
    assert offered(square(), [candidate])[1] == [slot]


NEW = 4  # the row of a newcomer behind the four that are there


def crowd(repertoire, candidate):
    """Coordinates of all rows and the newcomer, in the table's own measure."""
    points = jnp.concatenate([repertoire.skill, jnp.asarray([candidate], jnp.float32)])
    return (points - repertoire.spread.mean[None]) @ repertoire.ruler.T


def second(rows, one, partner):
    """Distance of a row to its nearest other row, its partner left out."""
    left = jnp.delete(rows, partner, axis=0)
    return float(jnp.sqrt(neighbours(left, jnp.int32(4))[0][one - (partner < one)]))


@pytest.mark.parametrize(
    ("start", "candidate", "pair", "seconds", "slot", "plain"),
    [
        ("square", (0.9, 0.1), (1, NEW), (1.0, 0.9055385138), NOWHERE, 1),
        ("square", (2, 2), (0, 1), (2.0, 2.2360679775), 0, 0),
        ("square", (0.5, 0), (0, NEW), (1.0, 0.5), NOWHERE, 0),
        ("skewed", (1, 2), (0, 2), (1.8257990604, 1.1952660569), 2, 0),
        ("skewed", (-0.5, 1.5), (2, NEW), (0.9759306488, 1.7928990853), 2, 2),
    ],
)
def test_second_neighbours_decide_where_an_argmin_takes_the_first(
    start, candidate, pair, seconds, slot, plain
):
    """`seconds`: how far each of the closest pair is from its next neighbour; `plain`: what the
    argmin that the paper prints would remove, however lonely that is otherwise."""
    repertoire, unit = {"square": (square, 1.0), "skewed": (skewed, 4 ** (-1 / 6))}[start]
    rows = crowd(repertoire(), candidate) / unit  # under the paper's Σ = h² S
    found = (second(rows, *pair), second(rows, *pair[::-1]))
    np.testing.assert_allclose(found, seconds, rtol=1e-5)
    assert int(lowest(neighbours(rows, jnp.int32(5))[0])[1]) == plain
    assert offered(repertoire(), [candidate])[1] == [slot]


def test_a_batch_is_inserted_one_after_the_other():
    repertoire, slots = offered(square(), [(2, 2), (0.9, 0.1), (5, 5), (0.2, -2)])
    assert slots == [0, NOWHERE, 0, 1]
    np.testing.assert_allclose(
        repertoire.skill, [(5, 5), (0.2, -2), (0, 2), (3, 3)], rtol=0, atol=1e-6
    )
    np.testing.assert_array_equal(repertoire.posture, repertoire.skill)
    np.testing.assert_allclose(
        distances(repertoire),
        [2.8284271247, 4.0049968789, 3.1622776602, 2.8284271247],
        rtol=1e-6,
    )


def skewed(metric="whitened"):
    """Four slots with covariance ((4/3, 2/3), (2/3, 2)); rows 0 and 2 are the closest pair."""
    rows = [(0, 0), (2, 0), (0, 1), (2, 3)]
    return refreshed(offered(Repertoire.empty(4, 2, 2, metric=metric), rows)[0])


@pytest.mark.parametrize(
    ("metric", "candidate", "slot"),
    [
        ("whitened", (1, 2), 2),  # under Σ: s0 = 1.8257990604, s2 = 1.1952660569
        ("whitened", (-0.5, 1.5), 2),  # pair (2, new): s2 = 0.9759306488, s_new = 1.7928990853
        ("whitened", (1, 0), 0),  # half way between 0 and 1, farther from both than 2 is from 0
        ("literal", (1, 0), 0),
        ("euclidean", (1, 0), NOWHERE),  # as near to 0 as 2 is: a tie, the newcomer goes
    ],
)
def test_the_metric_decides_which_pair_is_closest(metric, candidate, slot):
    assert offered(skewed(metric), [candidate])[1] == [slot]


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_ten_thousand_insertions_agree_with_brute_force(dimensions):
    points = lattice(np.random.default_rng(dimensions), 10_000, dimensions)
    agrees(Repertoire.empty(128, dimensions, dimensions), points)


def test_insertions_into_4096_rows_agree_with_brute_force():
    points = lattice(np.random.default_rng(0), 4096 + 200, 2)
    agrees(Repertoire.empty(4096, 2, 2), points)


def agrees(repertoire, points):
    """Slot for slot, and at the end row for row and neighbour for neighbour."""
    size, dimensions = repertoire.skill.shape
    brute = Brute(size, dimensions)
    expected = [brute.offer(point) for point in points]
    repertoire, slots = offered(repertoire, points)
    assert slots == expected
    assert len(set(expected[size:])) > 10  # it did replace rows
    np.testing.assert_array_equal(repertoire.skill, brute.points)
    nearest, neighbour = brute.nearest()
    np.testing.assert_array_equal(repertoire.nearest, nearest)
    np.testing.assert_array_equal(repertoire.neighbour, neighbour)


def test_real_numbers_agree_with_brute_force_too():
    points = np.random.default_rng(5).normal(size=(2000, 2))
    brute = Brute(128, 2, np.float64)
    expected = [brute.offer(point) for point in points]
    with jax.enable_x64(True):
        repertoire, slots = offered(Repertoire.empty(128, 2, 2, dtype="float64"), points)
    assert slots == expected
    np.testing.assert_allclose(repertoire.nearest, brute.nearest()[0], rtol=1e-12)
    np.testing.assert_array_equal(repertoire.neighbour, brute.nearest()[1])


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_in_float32_the_same_rows_stay_and_the_table_equals_its_own_recomputation(dimensions):
    """NumPy rounds each square, a compiler may round only their sum: the last bit may differ."""
    points = np.random.default_rng(dimensions).normal(size=(2000, dimensions)).astype(np.float32)
    brute = Brute(128, dimensions, np.float32)
    expected = [brute.offer(point) for point in points]
    repertoire, slots = offered(Repertoire.empty(128, dimensions, dimensions), points)
    assert slots == expected
    nearest, neighbour = brute.nearest()
    np.testing.assert_array_max_ulp(np.asarray(repertoire.nearest), nearest, maxulp=1)
    np.testing.assert_array_equal(repertoire.neighbour, neighbour)
    nearest, neighbour = jax.jit(neighbours)(repertoire.coordinate, repertoire.filled)
    np.testing.assert_array_equal(repertoire.nearest, nearest)
    np.testing.assert_array_equal(repertoire.neighbour, neighbour)


# Few places, so that rows coincide and distances tie.
places = st.tuples(st.integers(-2, 2), st.integers(-2, 2))
offers = st.lists(st.tuples(places, st.booleans()), min_size=12, max_size=12)


@given(offers)
def test_whatever_comes_the_table_equals_a_recomputation(offers):
    points, commit = zip(*offers, strict=True)
    repertoire, slots = offered(Repertoire.empty(5, 2, 2), points, commit)
    brute = Brute(5, 2)
    expected = [brute.offer(np.array(point)) if flag else NOWHERE for point, flag in offers]
    assert slots == expected
    filled = brute.filled
    assert int(repertoire.filled) == filled
    if filled > 1:
        np.testing.assert_array_equal(repertoire.nearest[:filled], brute.nearest()[0])
        np.testing.assert_array_equal(repertoire.neighbour[:filled], brute.nearest()[1])
    assert np.isinf(repertoire.nearest[filled:]).all()


@jax.jit
def smallest_after_each(points):
    """The smallest distance in a repertoire of 16, after each of the points it is offered."""

    def step(repertoire, point):
        repertoire = extend(repertoire, point[None], point[None], jnp.ones(1, bool))
        return repertoire, repertoire.nearest.min()

    return jax.lax.scan(step, Repertoire.empty(16, 2, 2), points)[1]


@given(st.integers(0, 2**31), st.sampled_from([0.1, 1.0, 10.0]))
def test_the_smallest_distance_never_decreases(seed, stretch):
    points = np.random.default_rng(seed).normal(size=(80, 2)) * [1.0, stretch]
    smallest = np.asarray(smallest_after_each(points.astype(np.float32)))[16:]
    assert (np.diff(smallest) >= 0).all()
    assert smallest[-1] > smallest[0]


def test_rows_that_are_not_committed_change_nothing():
    before = square()
    points = np.random.default_rng(0).normal(size=(4, 2))
    after, slots = offered(before, points, [False] * 4)
    assert slots == [NOWHERE] * 4
    same(after, before)


def same(left, right):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    jax.tree.map(np.testing.assert_array_equal, left, right)


def test_a_batch_equals_its_rows_one_by_one():
    rng = np.random.default_rng(1)
    start = offered(Repertoire.empty(32, 2, 2), rng.normal(size=(40, 2)))[0]
    start = refreshed(start)
    points, flags = rng.normal(size=(48, 2)), rng.random(48) < 0.7
    together = offered(start, points, flags)[0]
    alone = start
    for point, flag in zip(points, flags, strict=True):
        alone = offered(alone, [point], [flag])[0]
    for kept in ("posture", "skill", "neighbour", "filled", "rejected"):
        np.testing.assert_array_equal(getattr(together, kept), getattr(alone, kept))
    for computed in ("coordinate", "nearest"):  # two programs: a product may round differently
        pair = getattr(together, computed), getattr(alone, computed)
        np.testing.assert_allclose(*pair, rtol=1e-5, atol=1e-6)


def test_seeds_side_by_side_equal_each_alone():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(3, 60, 2)).astype(np.float32)
    flags = rng.random((3, 60)) < 0.8

    def lived(points, flags):
        repertoire = extend(Repertoire.empty(32, 2, 2), points[:40], points[:40], flags[:40])
        return extend(refresh(repertoire), points[40:], points[40:], flags[40:])

    together, single = jax.jit(jax.vmap(lived))(points, flags), jax.jit(lived)
    for seed in range(3):
        alone = single(points[seed], flags[seed])
        mine = jax.tree.map(lambda leaf, seed=seed: np.asarray(leaf)[seed], together)
        np.testing.assert_array_equal(mine.neighbour, alone.neighbour)
        np.testing.assert_array_equal(mine.skill, alone.skill)
        np.testing.assert_allclose(mine.nearest, alone.nearest, rtol=1e-5)
        np.testing.assert_allclose(mine.delta, alone.delta, rtol=1e-5)


@pytest.mark.parametrize(
    ("posture", "skill"),
    [
        ((np.nan, 0), (0, 0)),
        ((np.inf, 0), (0, 0)),
        ((1.1, 0), (0, 0)),  # beyond its range
        ((0, -2.1), (0, 0)),
        ((0, 0), (np.nan, 0)),  # a feature map gone wrong
        ((0, 0), (3e38, 0)),  # finite, but no distance to it is
    ],
)
def test_what_cannot_be_is_counted_and_kept_out(posture, skill):
    repertoire = Repertoire.empty(3, 2, 2, lower=[-1, -2], upper=[1, 2])
    rows = np.float32([posture, posture, (1, -2)])
    skills = np.float32([skill, skill, (0, 0)])
    repertoire, slots = insert(repertoire, rows, skills, np.array([True, False, True]))
    assert slots.tolist() == [NOWHERE, NOWHERE, 0]
    assert int(repertoire.rejected) == 1  # the second was not even offered
    assert int(repertoire.filled) == 1


def test_a_repertoire_of_one_keeps_its_first_row():
    repertoire, slots = offered(Repertoire.empty(1, 2, 2), [(1, 1), (2, 2), (3, 3)])
    assert slots == [0, NOWHERE, NOWHERE]
    assert np.isinf(repertoire.nearest).all()


def test_equal_rows_fill_a_repertoire_and_then_change_nothing():
    repertoire, slots = offered(Repertoire.empty(4, 2, 2), [(1, 1)] * 6)
    assert slots == [0, 1, 2, 3, NOWHERE, NOWHERE]
    assert refreshed(repertoire).coordinate.tolist() == [[0, 0]] * 4
    assert offered(refreshed(repertoire), [(5, 5)])[1] == [
        1
    ]  # of the pair (0, 1), tied: the higher index


def test_thinning_removes_the_most_crowded_row_again_and_again():
    # The pair (0, 1) has its next neighbours at 10 and 9: 1 goes. Then (18, 21), at 8 and 11: 18
    # goes. Then (0, 10), at 21 and 11: 10 goes.
    repertoire = offered(Repertoire.empty(8, 1, 1), [[0.0], [1.0], [10.0], [18.0], [21.0]])[0]
    two = jitted_thin(repertoire, 2)
    assert two.skill[:, 0].tolist() == [0, 21]
    assert two.nearest.tolist() == [441, 441]
    assert two.neighbour.tolist() == [1, 0]
    assert jitted_thin(repertoire, 3).skill[:, 0].tolist() == [0, 10, 21]


def test_thinning_to_more_rows_than_there_are_keeps_all():
    repertoire = offered(Repertoire.empty(8, 1, 1), [[3.0], [1.0]])[0]
    wide = jitted_thin(repertoire, 4)
    assert wide.skill[:, 0].tolist() == [3, 1, 0, 0]
    assert int(wide.filled) == 2
    assert wide.neighbour.tolist() == [1, 0, 0, 0]


def test_thinning_equals_brute_force_and_keeps_the_measure():
    points = lattice(np.random.default_rng(3), 100, 2)
    repertoire = offered(Repertoire.empty(128, 2, 2), points)[0]
    repertoire = replace(repertoire, delta=jnp.float32(7))
    kept = list(range(100))
    while len(kept) > 20:
        del kept[most_crowded(squares(points[kept]))]
    thinned = jitted_thin(repertoire, 20)
    np.testing.assert_array_equal(thinned.skill, points[kept])
    assert float(thinned.delta) == 7
    same(thinned.spread, repertoire.spread)
