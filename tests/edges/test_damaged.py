"""Damaged checkpoints: 3,000 damages to any byte of one or of its rows, and none goes unnoticed."""

import logging
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

import sizes
from edges.hostile import row
from log.logs import quick
from sizes import patience, size
from trees import damage, names, same, small
from ursa import checkpoint, durable, segments
from ursa.errors import UserError
from ursa.segments import Segments

SEED, TIMES = sizes.SEED + 11, size("URSA_DAMAGES")
WAYS = ("flip", "flip", "flip", "truncate", "truncate", "extend", "delete")


@pytest.fixture
def folder(tmp_path):
    root = quick(tmp_path)
    yield root / "run"
    shutil.rmtree(root, ignore_errors=True)


def recorded(folder: Path, steps: int = 1) -> None:
    """Checkpoints 1, 2, ... of two columns of rows each, as a run leaves them."""
    store = Segments(folder / "rows")
    for step in range(1, steps + 1):
        for _ in range(2):
            store.append(row())
        store.seal()
        meta = {"config": {"a": 1.5}, "segments": store.manifest}
        checkpoint.save(folder / "checkpoints", step, small(step), meta)


def loaded(folder: Path) -> tuple[dict, dict]:
    """What a resumed run would go on from."""

    def there(meta: dict) -> None:
        segments.verify(folder / "rows", meta.get("segments", [{}]))

    return checkpoint.load(folder / "checkpoints", small(0), there)


def files(folder: Path) -> list[Path]:
    newest = checkpoint.stored(folder / "checkpoints")[0]
    return [*sorted(newest.iterdir()), *sorted((folder / "rows").iterdir())]


def unnoticed(folder: Path, times: int) -> list[str]:
    """Damages after which the checkpoint was used, or whose error does not name the file."""
    rng, missed = random.Random(SEED), []
    print(f"seed {SEED}")
    for index in range(times):
        file, way = rng.choice(files(folder)), rng.choice(WAYS)
        repair = damage(file, way, rng)
        try:
            loaded(folder)
            missed.append(f"{index}: {way} of {file.name} was not noticed")
        except UserError as error:
            if file.name not in str(error):
                missed.append(f"{index}: {way} of {file.name} was told as {error}")
        finally:
            repair()
    return missed


@pytest.mark.timeout(patience("URSA_DAMAGES"))
def test_of_3000_damages_none_goes_unnoticed(folder):
    recorded(folder)
    assert len(files(folder)) == 4
    assert unnoticed(folder, TIMES) == []
    assert same(loaded(folder)[0], small(1))  # and after each repair it was whole again


def test_without_hashes_many_would_go_unnoticed(folder, monkeypatch):
    monkeypatch.setattr(durable, "sha256", lambda data: "0" * 64)
    recorded(folder)
    assert len(unnoticed(folder, 400)) > 50


def test_with_only_the_checkpoint_verified_damaged_rows_would_go_unnoticed(folder, monkeypatch):
    monkeypatch.setattr(segments, "verify", lambda *_: None)
    recorded(folder)
    missed = unnoticed(folder, 200)
    assert missed
    assert all("segment-00000000" in it for it in missed)


@pytest.mark.parametrize("bad", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_the_newest_bad_ones_are_passed_over_and_kept(folder, caplog, bad, seed):
    """In any way: of the three newest, one or two are damaged; nothing of them is deleted."""
    recorded(folder, steps=3)
    rng = random.Random(seed)
    for path in checkpoint.stored(folder / "checkpoints")[:bad]:
        damage(rng.choice(sorted(path.iterdir())), rng.choice(WAYS), rng)
    with caplog.at_level(logging.WARNING):
        tree, meta = loaded(folder)
    assert same(tree, small(3 - bad))
    assert len(meta["segments"]) == 3 - bad
    aside = [it for it in names(folder / "checkpoints") if it.endswith(".damaged")]
    assert aside == [f"step_00000000{step}.damaged" for step in (2, 3)][2 - bad :]
    assert len(caplog.records) == bad
    assert f"going back to step_00000000{3 - bad}" in caplog.text


def test_with_three_bad_ones_the_run_refuses_and_touches_nothing(folder):
    recorded(folder, steps=3)
    for index, path in enumerate(checkpoint.stored(folder / "checkpoints")):
        damage(path / checkpoint.ARRAYS, "flip", random.Random(index))
    before = sorted(it.name for it in (folder / "checkpoints").iterdir())
    with pytest.raises(UserError) as caught:
        loaded(folder)
    lines = str(caught.value).splitlines()
    assert "no usable checkpoint" in lines[0]
    assert [line.split(":")[0].strip() for line in lines[1:]] == sorted(before, reverse=True)
    assert all("arrays.safetensors has SHA-256" in line for line in lines[1:])
    assert sorted(it.name for it in (folder / "checkpoints").iterdir()) == before


def test_a_run_goes_on_after_a_fall_back_and_writes_its_rows_again(folder):
    recorded(folder, steps=3)
    damage(folder / "rows" / "segment-00000002.safetensors", "truncate", random.Random(0))
    tree, meta = loaded(folder)  # the newest needs rows that are gone
    assert same(tree, small(2))
    store = Segments(folder / "rows", meta["segments"])
    store.append(row())
    store.seal()
    checkpoint.save(folder / "checkpoints", 3, small(30), {"segments": store.manifest})
    again, meta = loaded(folder)
    assert same(again, small(30))
    assert [it["columns"] for it in meta["segments"]] == [2, 2, 1]
    np.testing.assert_array_equal(again["x"], np.full(50, 30, np.float32))


def test_without_the_comparison_another_tree_would_be_loaded(folder, monkeypatch):
    recorded(folder)
    other = {"x": np.zeros(50, np.int32), "y": {"n": np.array(0)}}
    with pytest.raises(UserError, match=r"float32\[50\] in the file, wanted int32\[50\]"):
        checkpoint.load(folder / "checkpoints", other)
    monkeypatch.setattr(checkpoint, "differences", lambda found, wanted: [])
    tree, _ = checkpoint.load(folder / "checkpoints", other)
    assert tree["x"][0] == np.float32(1).view(np.int32)  # the bits of another kind of number
