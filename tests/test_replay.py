"""The ring gives back what was put in: contiguous, aligned, in the same robot, for ever."""

from dataclasses import fields
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ursa import replay
from ursa.errors import UserError
from ursa.types import Batch, Row, Sizes

SIZES = Sizes(observation=3, action=2, posture=1)
ROBOTS, CAPACITY = 3, 7

add = jax.jit(replay.add)
sample = jax.jit(replay.sample, static_argnums=(2, 3))


def code(step, robot):
    """The number that every field of a row carries: who, and when."""
    return 100.0 * step + robot


def coded(step, seeds=()):
    """The row of one step; a seed adds 10 to the step, flags tell parity."""
    lead = (*seeds, ROBOTS)
    seed = np.arange(np.prod(seeds, dtype=int)).reshape(seeds)[..., None] if seeds else 0
    number = np.broadcast_to(code(step + 10 * seed, np.arange(ROBOTS)), lead).astype(np.float32)
    one = number[..., None]
    return Row(
        observation=np.concatenate([one, one + 0.25, -one], axis=-1),
        action=np.concatenate([one, one + 0.5], axis=-1),
        reward=number,
        cost=-number,
        posture=one,
        safe=number % 200 < 100,
        first=number % 300 < 100,
    )


def filled_with(count):
    ring = replay.empty(ROBOTS, CAPACITY, SIZES)
    for step in range(count):
        ring = add(ring, coded(step))
    return ring


def same(left, right):
    """Trees equal to the last bit, dtypes included."""
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def check_coded(batch):
    """Every field agrees with the reward, and rewards of a window are consecutive steps."""
    number = np.asarray(batch.reward)
    np.testing.assert_array_equal(np.diff(number, axis=1), 100.0)  # same robot, next step
    one = number[..., None]
    np.testing.assert_array_equal(batch.observation, np.concatenate([one, one + 0.25, -one], -1))
    np.testing.assert_array_equal(batch.action, np.concatenate([one, one + 0.5], -1))
    np.testing.assert_array_equal(batch.cost, -number)
    np.testing.assert_array_equal(batch.posture, one)
    np.testing.assert_array_equal(batch.safe, number % 200 < 100)
    np.testing.assert_array_equal(batch.first, number % 300 < 100)


def test_a_row_of_the_a1_has_246_bytes_and_a_million_fit_in_400_megabytes():
    a1 = Sizes(observation=34, action=12, posture=13)
    assert a1.bytes == 4 * (34 + 12 + 13 + 1 + 1) + 1 + 1 == 246
    assert replay.nbytes(32, 31_250, a1) == 246_000_000 <= 400e6


def test_the_budget_is_what_the_arrays_take():
    ring = replay.empty(ROBOTS, CAPACITY, SIZES)
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(ring)) == 4 + replay.nbytes(
        ROBOTS, CAPACITY, SIZES
    )


def test_the_head_moves_one_column_per_row_and_comes_round():
    for count, position, filled in [(0, 0, 0), (5, 5, 5), (7, 0, 7), (9, 2, 7)]:
        ring = filled_with(count)
        assert (int(ring.position), int(ring.filled)) == (position, filled)
    np.testing.assert_array_equal(ring.reward[1], [701, 801, 201, 301, 401, 501, 601])


def test_a_window_reads_across_the_physical_end_of_the_array():
    ring = filled_with(9)  # steps 2 to 8; 7 and 8 lie in columns 0 and 1
    robot, start = jnp.array([[2]], jnp.int32), jnp.array([[3]], jnp.int32)
    batch = replay.window(ring, robot, start, 4)
    np.testing.assert_array_equal(batch.reward, [[502, 602, 702, 802]])
    check_coded(batch)


@given(count=st.integers(1, 25), length=st.sampled_from([1, 3, 7]), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_windows_are_contiguous_aligned_and_inside_what_was_written(count, length, seed):
    ring = filled_with(count)
    assert bool(replay.ready(ring, length)) == (min(count, CAPACITY) >= length)
    if not bool(replay.ready(ring, length)):
        return
    batch = sample(ring, jax.random.key(seed), 16, length)
    assert batch.reward.shape == (16, length)
    check_coded(batch)
    steps = np.asarray(batch.reward) // 100
    assert steps.min() >= max(0, count - CAPACITY)
    assert steps.max() < count


@pytest.mark.parametrize("count", [4, 7, 10])
def test_every_robot_and_start_is_drawn_equally_often(count):
    length, draws = 3, 6000
    batch = sample(filled_with(count), jax.random.key(1), draws, length)
    found, often = np.unique(np.asarray(batch.reward)[:, 0], return_counts=True)
    oldest, starts = max(0, count - CAPACITY), min(count, CAPACITY) - length + 1
    wanted = [code(oldest + s, r) for s in range(starts) for r in range(ROBOTS)]
    assert sorted(found) == sorted(wanted)
    expected = draws / len(wanted)
    assert abs(often - expected).max() < 5 * np.sqrt(expected)  # five standard deviations


def test_the_same_key_draws_the_same_windows_and_another_others():
    ring = filled_with(9)
    first, again = (sample(ring, jax.random.key(3), 16, 3) for _ in range(2))
    other = sample(ring, jax.random.key(4), 16, 3)
    assert same(first, again)
    assert not same(first, other)


@pytest.mark.parametrize("length", [0, CAPACITY + 1])
def test_a_window_longer_than_the_ring_is_refused(length):
    with pytest.raises(UserError, match=f"windows of {length} steps from a ring of 7"):
        replay.sample(filled_with(1), jax.random.key(0), 4, length)


def test_a_ring_of_nothing_is_refused():
    with pytest.raises(UserError, match="capacity = 0, want at least 1"):
        replay.empty(ROBOTS, 0, SIZES)


def stacked(rows):
    return Row(**{f.name: np.stack([getattr(row, f.name) for row in rows]) for f in fields(Row)})


@given(data=st.data(), count=st.integers(0, 25))
@settings(max_examples=40)
def test_a_ring_rebuilt_from_chunks_is_the_one_that_was_alive(data, count):
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, count - 1)), max_size=5)))
    edges = [0, *[cut for cut in cuts if cut < count], count]
    chunks = [
        (begin, stacked([coded(step) for step in range(begin, end)]))
        for begin, end in pairwise(edges)
        if begin < end
    ]
    # What the ring has forgotten may be left out: here every chunk that ends too early.
    needed = [c for c in chunks if c[0] + len(c[1].reward) > count - CAPACITY]
    empty = replay.empty(ROBOTS, CAPACITY, SIZES)
    assert same(replay.rebuild(empty, chunks), filled_with(count))
    assert same(replay.rebuild(empty, needed), filled_with(count))


def test_a_hole_or_a_late_beginning_is_refused():
    chunk = {n: (n, stacked([coded(n), coded(n + 1)])) for n in (0, 2, 4, 12)}
    empty = replay.empty(ROBOTS, CAPACITY, SIZES)
    with pytest.raises(UserError, match="rows 2 to 4 are missing"):
        replay.rebuild(empty, [chunk[0], chunk[4]])
    with pytest.raises(UserError, match=r"begin at 12, .* seen 14 needs them from 7 on"):
        replay.rebuild(empty, [chunk[12]])


def test_rows_of_another_number_of_robots_are_refused():
    one = jax.tree.map(lambda leaf: leaf[:, :1], stacked([coded(0), coded(1)]))
    with pytest.raises(
        UserError, match=r"observation .* \(1, 3\) per step, the ring wants \(3, 3\)"
    ):
        replay.rebuild(replay.empty(ROBOTS, CAPACITY, SIZES), [(0, one)])


def test_seeds_side_by_side_are_rings_of_their_own():
    rings = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), filled_with(0))
    rows = [coded(step, seeds=(2,)) for step in range(9)]
    adding = jax.jit(jax.vmap(replay.add), donate_argnums=0)
    for row in rows:
        rings = adding(rings, row)
    keys = jax.random.split(jax.random.key(0))
    batch = jax.vmap(partial(replay.sample, batch=16, length=3))(rings, keys)
    for seed in range(2):
        one = jax.tree.map(lambda leaf, seed=seed: leaf[seed], batch)
        check_coded(one)
        steps = np.asarray(one.reward) // 100 - 10 * seed
        assert (steps.min(), steps.max()) == (2, 8)
        alone = jax.tree.map(lambda leaf, seed=seed: leaf[seed], rings)
        assert same(one, sample(alone, keys[seed], 16, 3))
    empty = jax.tree.map(jnp.zeros_like, rings)
    assert same(replay.rebuild(empty, [(0, stacked(rows[:5])), (5, stacked(rows[5:]))]), rings)


def test_a_donated_ring_is_written_in_place():
    ring = replay.empty(ROBOTS, CAPACITY, SIZES)
    before = {leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(ring) if leaf.ndim}
    after = jax.jit(replay.add, donate_argnums=0)(ring, coded(0))
    assert {leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(after) if leaf.ndim} == before


@pytest.mark.parametrize("kind", [Row, Batch, replay.Ring])
def test_jax_takes_them_apart_by_name_and_puts_placeholders_in(kind):
    names = [field.name for field in fields(kind)]
    axes = jax.tree.map(lambda _: 0, {Row: coded(0), replay.Ring: filled_with(0)}.get(kind, 1))
    if kind is Batch:
        axes = jax.tree.map(lambda _: 0, sample(filled_with(3), jax.random.key(0), 2, 3))
    assert isinstance(axes, kind)
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(axes)]
    assert paths == [f".{name}" for name in names]
