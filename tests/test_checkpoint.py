"""A checkpoint: a tree comes back bit for bit, and the newest three stay."""

import json
import os

import jax
import numpy as np
import pytest

from trees import names, same, small, tree
from ursa import checkpoint
from ursa.errors import UserError


def test_a_tree_comes_back_bit_for_bit_and_of_the_same_kind(tmp_path):
    path = checkpoint.save(tmp_path, 123, tree(5), {"seed": 3, "segments": []})
    assert path.name == "step_000000123"
    assert names(path) == ["arrays.safetensors", "manifest.json", "meta.json"]
    loaded, meta = checkpoint.load(tmp_path, tree(0))
    assert same(loaded, tree(5))
    assert meta == {"seed": 3, "segments": []}
    assert jax.random.bits(loaded["key"]) == jax.random.bits(jax.random.key(5))
    loaded["physics"]["columns"][0, 0] = 1.0  # NumPy leaves may be written to


def test_equal_trees_are_equal_bytes(tmp_path):
    paths = [checkpoint.save(tmp_path / str(n), 1, tree(5), {"b": 1, "a": 2}) for n in range(4)]
    contents = [{file.name: file.read_bytes() for file in path.iterdir()} for path in paths]
    assert all(content == contents[0] for content in contents)


def test_shapes_alone_say_what_to_load(tmp_path):
    device = {name: leaf for name, leaf in tree(5).items() if name != "physics"}
    checkpoint.save(tmp_path, 1, device, {})
    loaded, _ = checkpoint.load(tmp_path, jax.eval_shape(lambda: device))
    assert same(loaded, device)


@pytest.mark.parametrize("value", [{}, np.arange(3.0)])
def test_a_tree_may_be_empty_or_a_single_array(tmp_path, value):
    checkpoint.save(tmp_path, 1, value, {})
    assert same(checkpoint.load(tmp_path, value)[0], value)


def test_numpy_alone_can_read_the_arrays(tmp_path):
    path = checkpoint.save(tmp_path, 1, tree(5), {})
    raw = (path / "arrays.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    entry = json.loads(raw[8 : 8 + length])["['weights'][0]"]
    begin, end = entry["data_offsets"]
    values = np.frombuffer(raw[8 + length + begin : 8 + length + end], "<f4").reshape(2, 3)
    np.testing.assert_array_equal(values, [[5, 6, 7], [8, 9, 10]])


def test_a_leaf_that_is_no_array_is_refused_by_name(tmp_path):
    with pytest.raises(TypeError, match=r"\['rate'\] is a float, want an array"):
        checkpoint.save(tmp_path, 1, {"rate": 0.1}, {})
    with pytest.raises(TypeError, match=r"\['name'\] has dtype <U2"):
        checkpoint.save(tmp_path, 1, {"name": np.array("a1")}, {})


def test_the_three_newest_stay_whatever_else_lies_there(tmp_path):
    (tmp_path / "segment-00000000.safetensors").write_bytes(b"rows")
    for step in (9, 10, 999_999_999, 1_000_000_000):
        checkpoint.save(tmp_path, step, small(step), {"step": step})
    wanted = ["step_000000010", "step_1000000000", "step_999999999"]
    assert names(tmp_path) == ["segment-00000000.safetensors", *wanted]
    assert checkpoint.load(tmp_path, small(0))[1] == {"step": 1_000_000_000}


def test_a_step_reached_again_replaces_its_checkpoint_without_a_gap(tmp_path):
    for value in (7, 8, 9):
        checkpoint.save(tmp_path, 5, small(value), {})
    assert names(tmp_path) == ["step_000000005.2"]
    assert same(checkpoint.load(tmp_path, small(0))[0], small(9))
    with pytest.raises(UserError, match=r"checkpoint 4 would be older than .*step_000000005"):
        checkpoint.save(tmp_path, 4, small(4), {})


def test_a_checkpoint_is_synced_before_it_gets_its_name_and_the_name_after(tmp_path, monkeypatch):
    order = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append(os.fstat(fd).st_ino), sync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("renamed"), rename(a, b)))
    path = checkpoint.save(tmp_path, 1, small(1), {})
    written = {file.stat().st_ino for file in path.iterdir()}
    assert len(written) == 3
    assert set(order[:3]) == written
    assert order[3:] == [path.stat().st_ino, "renamed", tmp_path.stat().st_ino]
