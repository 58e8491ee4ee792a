"""Whatever happens to the process or the disk, the newest whole checkpoint loads, bit for bit."""

import errno
import json
import logging
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa import checkpoint, durable
from ursa.errors import UserError

NAN_WITH_A_PAYLOAD = np.array([0x7FC12345, 0x80000000, 0x7F800000], np.uint32).view(np.float32)


def tree(step=1):
    """A little of everything an agent is made of; `step` is in the numbers."""
    return {
        "weights": [jnp.arange(6.0).reshape(2, 3) + step, {"b.c": jnp.int32(step)}],
        "odd": jnp.array(NAN_WITH_A_PAYLOAD),
        "half": (jnp.arange(5.0) + step).astype(jnp.bfloat16),
        "mask": jnp.arange(4) % 2 == 0,
        "nothing": jnp.zeros((0, 3)),
        "key": jax.random.key(step),
        "keys": jax.random.split(jax.random.key(7, impl="rbg"), 3),
        "physics": {
            "time": np.array(0.1 * step),
            "columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
            "every_other": np.arange(10, dtype=np.int64)[::2],
        },
    }


def bits(leaf):
    """dtype, shape and the very bits, of arrays and of random keys."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return str(leaf.dtype), leaf.shape, np.asarray(jax.random.key_data(leaf)).tobytes()
    return str(leaf.dtype), leaf.shape, np.asarray(leaf).tobytes()


def same(left, right):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(type(a) is type(b) and bits(a) == bits(b) for a, b in pairs)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def small(step):
    return {"x": np.full(50, step, np.float32), "y": {"n": np.array(step)}}


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


# Damage


def damage(path, way, rng):
    """Spoil one file in one way and return what puts it right again."""
    whole = path.read_bytes()
    where = rng.randrange(len(whole))
    if way == "flip":
        spoilt = bytearray(whole)
        spoilt[where] ^= 1 << rng.randrange(8)
        path.write_bytes(spoilt)
    elif way == "truncate":
        path.write_bytes(whole[:where])
    elif way == "extend":
        path.write_bytes(whole + bytes(1 + where % 9))
    else:
        path.unlink()
    return lambda: path.write_bytes(whole)


def undetected(folder, rounds):
    """Damages that `load` did not notice, of `rounds` for each file and way."""
    rng = random.Random(0)
    missed = tried = 0
    for file in sorted(checkpoint.stored(folder)[0].iterdir()):
        for way, times in (("flip", rounds), ("truncate", rounds), ("extend", 5), ("delete", 1)):
            for _ in range(times):
                repair = damage(file, way, rng)
                tried += 1
                try:
                    checkpoint.load(folder, small(0))
                    missed += 1
                except UserError:
                    continue
                finally:
                    repair()
    return missed, tried


def test_no_damage_to_any_file_goes_unnoticed(tmp_path):
    checkpoint.save(tmp_path, 1, small(1), {"config": {"a": 1.5}, "note": "x" * 50})
    assert undetected(tmp_path, 100) == (0, 3 * 206)
    assert same(checkpoint.load(tmp_path, small(0))[0], small(1))


def test_without_hashes_most_flips_would_go_unnoticed(tmp_path, monkeypatch):
    monkeypatch.setattr(durable, "sha256", lambda data: "0" * 64)
    checkpoint.save(tmp_path, 1, small(1), {"note": "x" * 50})
    missed, tried = undetected(tmp_path, 100)
    assert missed > 100, tried


@pytest.mark.parametrize("bad", [1, 2])
def test_damaged_ones_are_set_aside_and_the_next_older_is_used(tmp_path, caplog, bad):
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, step, small(step), {})
    for path in checkpoint.stored(tmp_path)[:bad]:
        file = path / "arrays.safetensors"
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    with caplog.at_level(logging.WARNING):
        loaded, _ = checkpoint.load(tmp_path, small(0))
    assert same(loaded, small(3 - bad))
    aside = [f"step_00000000{step}.damaged" for step in (2, 3)][2 - bad :]
    assert [name for name in names(tmp_path) if name.endswith(".damaged")] == aside
    assert len(caplog.records) == bad
    assert "arrays.safetensors has SHA-256" in caplog.text
    assert f"going back to step_00000000{3 - bad}" in caplog.text
    checkpoint.save(tmp_path, 3, small(30), {})  # the run goes on from there
    assert same(checkpoint.load(tmp_path, small(0))[0], small(30))


def test_with_none_left_nothing_is_touched_and_each_reason_is_given(tmp_path):
    for step in (1, 2):
        checkpoint.save(tmp_path, step, small(step), {})
    (tmp_path / "step_000000001" / "meta.json").unlink()
    (tmp_path / "step_000000002" / "manifest.json").write_text("{")
    with pytest.raises(UserError) as caught:
        checkpoint.load(tmp_path, small(0))
    assert "step_000000001: meta.json is missing" in str(caught.value)
    assert "step_000000002: manifest.json does not agree" in str(caught.value)
    assert names(tmp_path) == ["step_000000001", "step_000000002"]
    with pytest.raises(UserError, match="is this the folder of a run"):
        checkpoint.load(tmp_path / "nowhere", small(0))


def test_a_checkpoint_whose_rows_are_gone_is_passed_over(tmp_path, caplog):
    for step in (1, 2):
        checkpoint.save(tmp_path, step, small(step), {"needs": step})

    def check(meta):
        if meta["needs"] == 2:
            raise UserError("segment 2 is missing")

    assert same(checkpoint.load(tmp_path, small(0), check)[0], small(1))
    assert "segment 2 is missing" in caplog.text
    assert names(tmp_path) == ["step_000000001", "step_000000002.damaged"]


def test_a_checkpoint_under_a_wrong_name_is_not_used(tmp_path):
    checkpoint.save(tmp_path, 1, small(1), {}).rename(tmp_path / "step_000000002")
    with pytest.raises(UserError, match=r"manifest.json is that of step_000000001"):
        checkpoint.load(tmp_path, small(0))


# Other trees, other versions, hostile files


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


# The disk refuses


def half_write(path, data):
    path.write_bytes(data[: len(data) // 2])
    raise OSError(errno.ENOSPC, "No space left on device")


def refuse(number, text):
    def act(*_, **__):
        raise OSError(number, text)

    return act


FULL = r"checkpoint 2 .*No space left on device.*earlier is intact; free some space"


@pytest.mark.parametrize(
    ("module", "name", "action", "message"),
    [
        (durable, "write", half_write, FULL),
        (
            os,
            "fsync",
            refuse(errno.EIO, "Input/output error"),
            "Input/output error.*check the disk",
        ),
        (os, "replace", refuse(errno.EROFS, "Read-only file system"), "Read-only file system"),
        (Path, "mkdir", refuse(errno.ENOSPC, "No space left on device"), FULL),
        (shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 0), "only 0 MB are free"),
        (
            Path,
            "read_bytes",
            lambda _: b"another disk's",
            "read back wrong: arrays.safetensors has",
        ),
    ],
)
def test_a_disk_that_refuses_costs_the_new_checkpoint_only(
    tmp_path, monkeypatch, module, name, action, message
):
    checkpoint.save(tmp_path, 1, small(1), {})
    with monkeypatch.context() as patch:
        patch.setattr(module, name, action)
        with pytest.raises(UserError, match=message):
            checkpoint.save(tmp_path, 2, small(2), {})
    assert names(tmp_path) == ["step_000000001"]
    assert same(checkpoint.load(tmp_path, small(0))[0], small(1))
    checkpoint.save(tmp_path, 2, small(2), {})
    assert same(checkpoint.load(tmp_path, small(0))[0], small(2))


def test_an_old_checkpoint_that_cannot_be_removed_is_only_mentioned(tmp_path, monkeypatch, caplog):
    checkpoint.save(tmp_path, 1, small(1), {}, keep=1)
    monkeypatch.setattr(Path, "rename", refuse(errno.EACCES, "Permission denied"))
    checkpoint.save(tmp_path, 2, small(2), {}, keep=1)
    assert "could not remove the old checkpoint" in caplog.text
    assert same(checkpoint.load(tmp_path, small(0))[0], small(2))


# Kills

KILLER = """
import json, os, random, signal, sys, time
from pathlib import Path
import numpy as np
from ursa import checkpoint, durable

folder, rng = Path(sys.argv[1]), random.Random(0)

def tree(step):
    return {"x": np.full(20_000, step, np.float32), "n": np.array(step)}

def newest():
    if not checkpoint.stored(folder):
        return 0
    loaded, meta = checkpoint.load(folder, tree(0))
    step = int(loaded["n"])
    assert (loaded["x"] == step).all() and meta == {"step": step}
    return step

def forked(begin, act):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act(begin, write)
        finally:
            os._exit(9)  # a child that was not killed has failed
    os.close(write)
    return child, read

def saves(begin, write):
    for step in range(begin + 1, begin + 10_000):
        checkpoint.save(folder, step, tree(step), {"step": step})
        os.write(write, f"{step} ".encode())

def judged(child, read, begin):
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    acknowledged = [int(word) for word in os.fdopen(read).read().split()]
    last, found = max(acknowledged, default=begin), newest()
    # saved and not yet acknowledged is possible, once
    assert last <= found <= last + 1, (last, found)
    assert not list(folder.glob("*.damaged")), os.listdir(folder)
    return found

begin = kills = saved = 0
for _ in range(10):  # at any instant
    child, read = forked(begin, saves)
    time.sleep(rng.uniform(0.02, 0.2))
    os.kill(child, signal.SIGKILL)
    end = judged(child, read, begin)
    kills, saved, begin = kills + 1, saved + end - begin, end

points = [(durable, "write"), (durable, "sync_folder"), (durable, "rename"), (os, "replace"),
          (Path, "mkdir"), (Path, "rename"), (checkpoint.shutil, "rmtree"),
          (durable, "read_verified")]
reached = 0
for module, name in points:  # before each step of a save, and in the middle of each file
    for call in (1, 2, 3):
        def saves_until(begin, write, module=module, name=name, call=call):
            act, left = getattr(module, name), [call]
            def deadly(*arguments, **options):
                left[0] -= 1
                if left[0] == 0:
                    if name == "write":
                        with open(arguments[0], "wb") as file:
                            file.write(arguments[1][: len(arguments[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
                return act(*arguments, **options)
            setattr(module, name, deadly)
            saves(begin, write)
        child, read = forked(begin, saves_until)
        begin = judged(child, read, begin)
        reached += 1

checkpoint.save(folder, begin + 1, tree(begin + 1), {"step": begin + 1})
left = sorted(os.listdir(folder))
print(json.dumps({"kills": kills, "saved": saved, "points": reached, "left": left}))
"""


def test_a_kill_at_any_instant_leaves_the_newest_acknowledged_checkpoint(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kills"] == 10
    assert told["points"] == 24
    assert told["saved"] >= 10
    end = int(told["left"][-1].removeprefix("step_"))
    assert told["left"] == [f"step_{step:09d}" for step in (end - 2, end - 1, end)]


def test_reading_leaves_a_save_in_progress_alone_and_the_next_save_clears_leftovers(tmp_path):
    checkpoint.save(tmp_path, 1, small(1), {})
    leftover = tmp_path / "tmp.step_000000002.4711"
    leftover.mkdir()
    (leftover / "arrays.safetensors").write_bytes(b"half")
    checkpoint.load(tmp_path, small(0))
    assert leftover.exists()
    checkpoint.save(tmp_path, 2, small(2), {})
    assert names(tmp_path) == ["step_000000001", "step_000000002"]
