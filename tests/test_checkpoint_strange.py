"""Checkpoints of other trees and versions, and forged ones, are refused in words."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from trees import names, small
from ursa import checkpoint, durable
from ursa.errors import UserError


def test_a_file_of_another_tree_is_refused_with_the_differences(tmp_path):
    checkpoint.save(tmp_path, 1, {"a": jnp.zeros((2, 3)), "b": jnp.int32(0), "d": jnp.zeros(1)}, {})
    like = {"a": jnp.zeros((2, 4)), "b": jnp.float32(0), "c": jnp.zeros(2, bool)}
    with pytest.raises(UserError, match="4 differences") as caught:
        checkpoint.load(tmp_path, like)
    assert str(caught.value).splitlines()[1:] == [
        "  ['a']: float32[2,3] in the file, wanted float32[2,4]",
        "  ['b']: int32[] in the file, wanted float32[]",
        "  ['c']: not in the file, wanted bool[2]",
        "  ['d']: float32[1] in the file, not wanted",
    ]
    assert names(tmp_path) == ["step_000000001"]


def test_of_many_differences_twenty_are_shown(tmp_path):
    checkpoint.save(tmp_path, 1, {}, {})
    with pytest.raises(UserError) as caught:
        checkpoint.load(tmp_path, {f"{n:02}": np.zeros(1) for n in range(25)})
    lines = str(caught.value).splitlines()
    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == "  and 5 more"


def test_a_key_of_another_generator_is_another_tree(tmp_path):
    checkpoint.save(tmp_path, 1, {"key": jax.random.key(0)}, {})
    with pytest.raises(UserError, match=r"key<fry>\[\] in the file, wanted key<rbg>\[\]"):
        checkpoint.load(tmp_path, {"key": jax.random.key(0, impl="rbg")})


def forge(folder, change):
    """Rewrite a manifest so that its own hash is right."""
    file = checkpoint.stored(folder)[0] / "manifest.json"
    manifest = json.loads(file.read_bytes())
    del manifest["self"]
    change(manifest)
    text = json.dumps(manifest, sort_keys=True, indent=1).encode() + b"\n"
    manifest["self"] = durable.sha256(text)
    file.write_bytes(json.dumps(manifest, sort_keys=True, indent=1).encode() + b"\n")


def test_another_format_version_is_refused_and_left_alone(tmp_path):
    checkpoint.save(tmp_path, 1, small(1), {})
    forge(tmp_path, lambda manifest: manifest["format"].update(version=2))
    with pytest.raises(UserError, match=r"'version': 2.*use the version that wrote it"):
        checkpoint.load(tmp_path, small(0))
    assert names(tmp_path) == ["step_000000001"]


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.pop("files"),
        lambda manifest: manifest.update(files={}),
        lambda manifest: manifest.update(files=7),
        lambda manifest: manifest["files"].update({"meta.json": 7}),
        lambda manifest: manifest.update(step="one"),
        lambda manifest: manifest.update(keys=None),
        lambda manifest: manifest.update(keys={"['x']": "dice"}),
        lambda manifest: manifest.update(tree={"['x']": 1}),
        lambda manifest: manifest.pop("tree"),
        lambda manifest: manifest["files"]["meta.json"].update(bytes=1 << 60),
        lambda manifest: manifest.update(files={name: {} for name in manifest["files"]}),
    ],
)
def test_a_forged_manifest_is_an_error_in_words(tmp_path, change):
    checkpoint.save(tmp_path, 1, small(1), {})
    forge(tmp_path, change)
    with pytest.raises(UserError, match="each one is damaged"):
        checkpoint.load(tmp_path, small(0))


def test_arrays_that_contradict_the_manifest_are_damage(tmp_path):
    one, two = (checkpoint.save(tmp_path / name, 1, small(1), {}) for name in ("one", "two"))
    data = (
        checkpoint.save(tmp_path / "x", 1, {"x": np.zeros(9)}, {}) / checkpoint.ARRAYS
    ).read_bytes()
    for path, content in ((one, data), (two, b"no safetensors at all")):
        (path / checkpoint.ARRAYS).write_bytes(content)
        described = durable.describe(content)
        forge(path.parent, lambda m, d=described: m["files"].update({checkpoint.ARRAYS: d}))
    with pytest.raises(UserError, match="holds other arrays than manifest"):
        checkpoint.load(tmp_path / "one", small(0))
    with pytest.raises(UserError, match="no safetensors file"):
        checkpoint.load(tmp_path / "two", small(0))
