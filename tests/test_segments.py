"""Every row of a run can be read back in order, or the reader says which file is wrong."""

import errno
import json
import os
import random
from dataclasses import asdict, fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ursa import checkpoint, durable, replay, segments
from ursa.errors import UserError
from ursa.segments import Segments
from ursa.types import Row, Sizes

SIZES = Sizes(observation=3, action=2, posture=1)
ROBOTS, CAPACITY = 2, 6
add = jax.jit(replay.add)


def row(step, lead=(ROBOTS,)):
    """Random but repeatable: the row of a step."""
    rng = np.random.default_rng(step)

    def floats(*shape):
        return rng.standard_normal((*lead, *shape)).astype(np.float32)

    return Row(
        observation=floats(SIZES.observation),
        action=floats(SIZES.action),
        reward=floats(),
        cost=floats(),
        posture=floats(SIZES.posture),
        safe=floats() > 0,
        first=floats() > 0,
    )


def recorded(folder, counts):
    """A run that sealed after so many rows each time."""
    store, step = Segments(folder), 0
    for count in counts:
        for _ in range(count):
            store.append(row(step))
            step += 1
        store.seal()
    return store


def alive(count):
    ring = replay.empty(ROBOTS, CAPACITY, SIZES)
    for step in range(count):
        ring = add(ring, row(step))
    return ring


def same(left, right):
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def test_a_sealed_segment_is_named_counted_and_hashed(tmp_path):
    store = recorded(tmp_path, [3, 0, 2])
    assert [entry["name"] for entry in store.manifest] == [
        "segment-00000000.safetensors",
        "segment-00000001.safetensors",
    ]
    assert [(entry["first"], entry["columns"]) for entry in store.manifest] == [(0, 3), (3, 2)]
    assert store.columns == 5
    for entry in store.manifest:
        data = (tmp_path / entry["name"]).read_bytes()
        assert (entry["bytes"], entry["sha256"]) == (len(data), durable.sha256(data))
    assert json.loads(json.dumps(store.manifest)) == store.manifest
    assert sorted(os.listdir(tmp_path)) == [entry["name"] for entry in store.manifest]


def test_equal_rows_are_equal_bytes(tmp_path):
    manifests = [recorded(tmp_path / str(n), [3, 2]).manifest for n in range(8)]
    assert all(manifest == manifests[0] for manifest in manifests)


def test_nothing_new_seals_nothing(tmp_path):
    assert Segments(tmp_path).seal() is None
    assert os.listdir(tmp_path) == []


def test_rows_come_back_in_order_with_the_number_of_the_first(tmp_path):
    store = recorded(tmp_path, [3, 2])
    (first, early), (second, late) = segments.load(tmp_path, store.manifest)
    assert (first, second) == (0, 3)
    for step in range(5):
        chunk, index = (early, step) if step < 3 else (late, step - 3)
        for field in fields(Row):
            np.testing.assert_array_equal(
                getattr(chunk, field.name)[index], getattr(row(step), field.name)
            )


@given(counts=st.lists(st.integers(1, 5), max_size=7))
@settings(max_examples=25)
def test_a_ring_rebuilt_from_disk_is_bit_identical_to_the_one_that_was_alive(
    tmp_path_factory, counts
):
    folder = tmp_path_factory.mktemp("run")
    store = recorded(folder, counts)
    chunks = list(segments.load(folder, store.manifest, CAPACITY))
    rebuilt = replay.rebuild(replay.empty(ROBOTS, CAPACITY, SIZES), chunks)
    assert same(rebuilt, alive(sum(counts)))
    # no more than needed: without the oldest of these a row of the ring would be missing
    assert sum(len(rows.reward) for _, rows in chunks[1:]) < CAPACITY


def test_seeds_side_by_side_are_stored_and_rebuilt_together(tmp_path):
    store = Segments(tmp_path)
    one = replay.empty(ROBOTS, CAPACITY, SIZES)
    empty = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), one)
    rings, adding = empty, jax.jit(jax.vmap(replay.add))
    for step in range(8):
        rows = jax.tree.map(jnp.asarray, row(step, lead=(3, ROBOTS)))
        rings = adding(rings, rows)
        store.append(rows)
        if step == 4:
            store.seal()
    store.seal()
    assert same(
        replay.rebuild(empty, segments.load(tmp_path, store.manifest, CAPACITY)),
        rings,
    )


def test_segments_the_ring_has_forgotten_are_kept_but_not_opened(tmp_path):
    store = recorded(tmp_path, [4, 4, 4])
    (tmp_path / store.manifest[0]["name"]).unlink()
    chunks = list(segments.load(tmp_path, store.manifest, CAPACITY))
    assert [first for first, _ in chunks] == [4, 8]
    with pytest.raises(UserError, match=r"segment-00000000.safetensors is missing"):
        segments.verify(tmp_path, store.manifest)


def test_a_run_continues_where_its_checkpoint_was_and_overwrites_what_came_after(tmp_path):
    manifest = recorded(tmp_path, [3]).manifest
    recorded(tmp_path, [3, 2])  # its second segment was sealed, its checkpoint never written
    store = Segments(tmp_path, manifest)
    assert store.columns == 3
    store.append(row(3))
    store.seal()
    assert [entry["columns"] for entry in store.manifest] == [3, 1]
    chunks = segments.load(tmp_path, store.manifest)
    assert same(replay.rebuild(replay.empty(ROBOTS, CAPACITY, SIZES), chunks), alive(4))


def test_the_buffer_does_not_change_when_the_caller_reuses_its_arrays(tmp_path):
    store, mine = Segments(tmp_path), row(0)
    store.append(mine)
    mine.reward[:] = 99.0
    store.seal()
    ((_, rows),) = segments.load(tmp_path, store.manifest)
    np.testing.assert_array_equal(rows.reward[0], row(0).reward)


def test_no_damage_to_a_segment_goes_unnoticed(tmp_path):
    store, rng = recorded(tmp_path, [3, 2]), random.Random(0)
    file = tmp_path / store.manifest[1]["name"]
    whole = file.read_bytes()
    for attempt in range(100):
        where = rng.randrange(len(whole))
        flipped = bytearray(whole)
        flipped[where] ^= 1 << rng.randrange(8)
        file.write_bytes(flipped if attempt % 2 else whole[:where])
        with pytest.raises(UserError, match=r"cannot be read back from .*segment-00000001"):
            segments.verify(tmp_path, store.manifest)
    file.write_bytes(whole)
    segments.verify(tmp_path, store.manifest)


def test_exchanged_files_are_noticed(tmp_path):
    store = recorded(tmp_path, [2, 2])
    one, two = (tmp_path / entry["name"] for entry in store.manifest)
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)
    with pytest.raises(UserError, match=r"segment-00000000.safetensors has SHA-256"):
        segments.verify(tmp_path, store.manifest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m[::-1], "segment 0 is called segment-00000002"),
        (lambda m: [m[0], m[2]], "segment 1 is called segment-00000002"),
        (lambda m: [m[0], {**m[1], "first": 5}, m[2]], "2 columns from 5, want them from 2"),
        (lambda m: [{**m[0], "columns": 0}], "covers 0 columns"),
        (lambda m: [{**m[0], "name": "../secret"}], "segment 0 is called ../secret"),
        (lambda m: [{"name": m[0]["name"]}], "segment 0 of the manifest is malformed"),
        (lambda m: [{**m[0], "columns": "2"}], "segment 0 of the manifest is malformed"),
    ],
)
def test_a_manifest_out_of_order_is_refused(tmp_path, change, message):
    manifest = change(recorded(tmp_path, [2, 2, 2]).manifest)
    with pytest.raises(UserError, match=message):
        segments.verify(tmp_path, manifest)
    with pytest.raises(UserError, match=message):
        Segments(tmp_path, manifest)


def test_a_segment_that_lacks_a_field_is_refused(tmp_path):
    manifest = recorded(tmp_path, [2]).manifest
    data = segments.safetensors.numpy.save({"reward": np.zeros(2, np.float32)})
    (tmp_path / manifest[0]["name"]).write_bytes(data)
    with pytest.raises(UserError, match=r"holds \{'reward': 2\}"):
        segments.verify(tmp_path, [{**manifest[0], **durable.describe(data)}])


def test_a_value_that_is_not_finite_is_refused_with_its_place(tmp_path):
    store = Segments(tmp_path)
    store.append(row(0))
    observation = row(1).observation.copy()
    observation[1, 2] = np.nan
    with pytest.raises(UserError, match=r"step 1: observation is nan at \(1, 2\)"):
        store.append(replace(row(1), observation=observation))
    with pytest.raises(UserError, match="step 1: row of shapes"):
        store.append(row(1, lead=(5,)))
    assert store.columns == 1


def test_a_full_disk_loses_neither_rows_nor_segments(tmp_path, monkeypatch):
    store = recorded(tmp_path, [3])
    store.append(row(3))

    def half(path, data):
        path.write_bytes(data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(durable, "write", half)
        with pytest.raises(UserError, match=r"segment-00000001.*No space left"):
            store.seal()
    assert os.listdir(tmp_path) == ["segment-00000000.safetensors"]
    segment = store.seal()  # space has come back
    assert segment is not None
    assert asdict(segment) == store.manifest[1]
    chunks = segments.load(tmp_path, store.manifest)
    assert same(replay.rebuild(replay.empty(ROBOTS, CAPACITY, SIZES), chunks), alive(4))


def test_a_checkpoint_whose_newest_segment_is_damaged_gives_way_to_the_one_before(tmp_path):
    store = Segments(tmp_path)
    for step in (1, 2):
        store.append(row(step - 1))
        store.seal()
        meta = {"segments": store.manifest}
        checkpoint.save(tmp_path / "checkpoints", step, {"n": np.array(step)}, meta)
    (tmp_path / store.manifest[1]["name"]).write_bytes(b"")
    tree, meta = checkpoint.load(
        tmp_path / "checkpoints",
        {"n": np.array(0)},
        lambda meta: segments.verify(tmp_path, meta["segments"], CAPACITY),
    )
    assert int(tree["n"]) == 1
    chunks = segments.load(tmp_path, meta["segments"], CAPACITY)
    assert same(replay.rebuild(replay.empty(ROBOTS, CAPACITY, SIZES), chunks), alive(1))
