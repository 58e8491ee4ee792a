"""A checkpoint that was damaged is noticed, set aside, and the next older one is used."""

import logging
import random

import pytest

from trees import damage, names, same, small
from ursa import checkpoint, durable
from ursa.errors import UserError


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
