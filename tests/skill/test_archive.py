"""A repertoire on disk: whole, versioned, without pickle, and legible to numpy alone."""

import io
import re
import zipfile
from pathlib import Path

import jax
import numpy as np
import pytest

from ursa.errors import UserError
from ursa.skill.repertoire import Repertoire

GOLDEN = Path(__file__).parent / "golden.npz"  # written by version 1; never regenerate it
PAGE = Path(__file__).parents[2] / "docs" / "repertoire.md"


@pytest.fixture(scope="module")
def repertoire():
    """Five rows of eight; one posture was refused."""
    postures = np.array([(0, 0, 9), (2, 0, 9), (0, 1, 9), (2, 3, 9), (9, 9, 99), (1, 5, 9)])
    empty = Repertoire.empty(
        8, 3, 2, lower=[-10, -10, 0], upper=[10, 10, 10], distinct_skills=2, metric="literal"
    )
    return empty.add(postures, postures[:, :2])


@pytest.fixture
def saved(repertoire, tmp_path):
    path = tmp_path / "repertoire.npz"
    repertoire.save(path)
    return path


def rewritten(path, **changes):
    """The same file with arrays replaced, added, or (None) left out."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files} | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def test_what_is_loaded_equals_what_was_saved(repertoire, saved):
    again = Repertoire.load(saved)
    assert jax.tree.structure(again) == jax.tree.structure(repertoire)
    jax.tree.map(np.testing.assert_array_equal, again, repertoire)
    for mine, theirs in zip(jax.tree.leaves(again), jax.tree.leaves(repertoire), strict=True):
        assert mine.dtype == theirs.dtype
    assert int(again.rejected) == 1


def test_what_is_loaded_goes_on_the_same(repertoire, saved):
    more = np.random.default_rng(0).uniform(0, 9, (20, 3))
    ours, theirs = (r.add(more, more[:, :2]) for r in (repertoire, Repertoire.load(saved)))
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)


def test_an_empty_repertoire_survives(tmp_path):
    empty = Repertoire.empty(4, 3, 2)
    empty.save(tmp_path / "empty.npz")
    jax.tree.map(np.testing.assert_array_equal, Repertoire.load(tmp_path / "empty.npz"), empty)


def test_the_same_repertoire_is_the_same_bytes_and_nothing_else_is_left(repertoire, saved):
    first = saved.read_bytes()
    repertoire.save(saved)
    assert saved.read_bytes() == first
    assert [file.name for file in saved.parent.iterdir()] == ["repertoire.npz"]


def test_numpy_alone_reads_it(saved):
    """The recipes of docs/repertoire.md."""
    with np.load(saved, allow_pickle=False) as file:
        assert str(file["format"]) == "ursa-repertoire"
        assert int(file["version"]) == 1
        skill, factor, mean = file["skill"], file["factor"], file["mean"]
        assert skill.shape == (5, 2)
        assert file["posture"].shape == (5, 3)
        np.testing.assert_allclose(factor @ factor.T, np.cov(skill.T), rtol=1e-4)
        whitened = np.linalg.solve(factor, (skill - mean).T).T
        np.testing.assert_allclose(whitened, file["coordinate"], atol=1e-5)
        nearest = np.linalg.norm(whitened - whitened[file["neighbour"]], axis=1)
        np.testing.assert_allclose(nearest**2, file["nearest"], rtol=1e-4)
        h = len(skill) ** (-1 / 6)
        np.testing.assert_allclose(
            file["delta"], (5 / 2) ** 0.5 * 0.5 * nearest.mean() / h, rtol=1e-5
        )


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) == 2
    names = {}
    for example in examples:
        exec(example, names)
    assert names["z"].shape == (2,)
    assert np.isfinite(names["z"]).all()


def test_the_golden_file_of_version_1_still_loads():
    golden = Repertoire.load(GOLDEN)
    assert golden.skill.shape == (6, 2)
    assert golden.skill[: int(golden.filled)].tolist() == [[0, 0], [2, 0], [0, 1], [2, 3]]
    assert golden.posture[3].tolist() == [2, 3, 0.25]
    assert golden.metric.name == "whitened"
    assert golden.distinct_skills == 2
    np.testing.assert_allclose(golden.delta, 0.9446816720, rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": np.int64(2)}, "version 2, this URSA reads version 1"),
        ({"version": None}, "version None"),
        ({"format": "something"}, "is no repertoire"),
        ({"skill": None}, r"missing \['skill'\]"),
        ({"colour": 3}, r"unknown \['colour'\]"),
        ({"skill": np.zeros((4, 2), np.float32)}, r"want f \(5, 2\)"),
        ({"mean": np.zeros(2)}, "mean is float64, skill is float32"),
        ({"mean": np.float32([0, np.nan])}, "mean holds numbers that are not finite"),
        ({"lower": np.float32([0, np.nan, 0])}, "lower holds numbers that are not finite"),
        ({"size": np.int64(4)}, "5 rows in a repertoire of 4"),
        ({"size": np.int64(2**24 + 1)}, "size = 16777217"),
        ({"distinct_skills": np.int64(0)}, "distinct_skills = 0"),
        ({"metric": "cosine"}, "metric = cosine"),
        ({"neighbour": np.int32([1, 0, 0, 2, 5])}, "neighbour off range"),
        ({"nearest": np.float32([1, 1, 1, 1, -1])}, "a negative squared distance"),
        ({"skill": np.array([[object()] * 2] * 5)}, "cannot be read as a repertoire"),
    ],
)
def test_a_file_that_is_not_right_is_refused_with_the_reason(saved, changes, message):
    with pytest.raises(UserError, match=message):
        Repertoire.load(rewritten(saved, **changes))


def test_a_file_cut_short_is_refused_wherever_it_was_cut(saved):
    whole = saved.read_bytes()
    for length in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(UserError, match=r"cannot be read as a repertoire|is no repertoire"):
            Repertoire.load(saved)


def test_a_flipped_bit_in_an_array_is_noticed(saved):
    whole = bytearray(saved.read_bytes())
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        start = file.getinfo("skill.npy").header_offset
    whole[start + 200] ^= 1  # beyond the headers of zip and npy
    saved.write_bytes(whole)
    with pytest.raises(UserError, match="cannot be read as a repertoire"):
        Repertoire.load(saved)


@pytest.mark.parametrize("content", [b"hello", b"PK\x05\x06" + b"\0" * 18])
def test_something_else_is_refused(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(UserError, match=r"cannot be read as a repertoire|is no repertoire"):
        Repertoire.load(tmp_path / "other")


def test_a_single_array_is_refused(tmp_path):
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(UserError, match=r"want the \.npz that save\(\) writes"):
        Repertoire.load(tmp_path / "one.npy")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.npz: no such repertoire file"):
        Repertoire.load(tmp_path / "nowhere.npz")
