"""The repertoire as a stranger meets it: `from ursa import Repertoire`."""

import subprocess
import sys

import jax
import numpy as np
import pytest

from ursa.errors import UserError
from ursa.skill.repertoire import Repertoire, ready

RNG = np.random.default_rng(0)
POINTS = (RNG.normal(size=(700, 2)) * [1.0, 5.0]).astype(np.float32)


@pytest.fixture(scope="module")
def repertoire():
    """256 of 700 skills, kept for being different."""
    return Repertoire.empty(256, 2, 2, distinct_skills=32).add(POINTS)


def test_the_package_offers_it_and_loads_jax_only_then():
    program = (
        "import sys, ursa; before = 'jax' in sys.modules\n"
        "from ursa import Repertoire\n"
        "print(before, 'jax' in sys.modules, 'Repertoire' in dir(ursa), Repertoire.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True", "True", "ursa.skill.repertoire"], done.stderr
    with pytest.raises(AttributeError, match="Repertory"):
        __import__("ursa").Repertory  # noqa: B018


def test_adding_keeps_what_is_diverse(repertoire):
    assert int(repertoire.filled) == 256
    assert ready(repertoire)
    whitened = POINTS[:256] / POINTS[:256].std(0, ddof=1)
    square = ((whitened[:, None] - whitened[None]) ** 2).sum(-1)
    np.fill_diagonal(square, np.inf)
    assert float(repertoire.nearest.min()) > 25 * square.min()  # five times as far apart
    factor = np.asarray(repertoire.spread.factor)
    np.testing.assert_allclose(factor @ factor.T, np.cov(np.asarray(repertoire.skill).T), rtol=1e-4)


def test_adding_changes_a_copy(repertoire):
    more = repertoire.add([[100.0, 100.0]])
    assert (np.asarray(more.skill) == 100).any()
    assert not (np.asarray(repertoire.skill) == 100).any()


def test_a_posture_can_have_a_skill_of_another_size_and_be_unsafe():
    empty = Repertoire.empty(8, 3, 1)
    some = empty.add(np.ones((2, 3)), [[1.0], [2.0]], [True, False])
    assert int(some.filled) == 1
    assert some.skill[0].tolist() == [1]
    assert some.posture[0].tolist() == [1, 1, 1]


def test_the_threshold_halves_as_skills_quadruple(repertoire):
    wide, fine = repertoire.threshold(16), repertoire.threshold(64)
    np.testing.assert_allclose(wide, 2 * fine, rtol=1e-6)
    mean = np.sqrt(np.asarray(repertoire.nearest)).mean()
    np.testing.assert_allclose(wide, (256 / 16) ** 0.5 * 0.5 * mean, rtol=1e-5)
    np.testing.assert_allclose(repertoire.threshold(), repertoire.delta, rtol=1e-6)
    np.testing.assert_allclose(repertoire.delta, repertoire.threshold(32), rtol=1e-6)


def test_the_ruler_measures_in_the_unit_of_delta(repertoire):
    offset = np.asarray(repertoire.ruler) @ (np.asarray(repertoire.skill)[[0, 1]] - 3).T
    same = np.asarray(repertoire.coordinate)[[0, 1]].T
    np.testing.assert_allclose(np.diff(offset), np.diff(same), rtol=1e-4)
    euclidean = Repertoire.empty(4, 2, 2, metric="euclidean").add(POINTS[:4])
    np.testing.assert_array_equal(euclidean.ruler, np.eye(2))


def test_thinning_spreads(repertoire):
    few = repertoire.thin(32)
    assert few.skill.shape == (32, 2)
    assert {tuple(z) for z in few.skill.tolist()} <= {tuple(z) for z in repertoire.skill.tolist()}
    assert float(few.nearest.min()) > 4 * float(repertoire.nearest.min())
    np.testing.assert_array_equal(few.delta, repertoire.delta)


def test_samples_look_like_the_skills(repertoire):
    z = np.asarray(repertoire.sample(jax.random.key(0), 2000))
    np.testing.assert_allclose(z.std(0), np.asarray(repertoire.skill).std(0), rtol=0.15)
    inside = repertoire.density(np.asarray(repertoire.skill)[:5])
    outside = repertoire.density([[50.0, 50.0]])
    assert (inside > 1e-4).all()
    assert outside < 1e-6


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, 2, 2), {}, "size = 0 rows"),
        ((2**24 + 1, 1, 1), {}, "size = 16777217 rows"),
        ((8, 0, 2), {}, "posture_size = 0"),
        ((8, 2, 0), {}, "skill_size = 0"),
        ((8, 2, 2), {"distinct_skills": 9}, "distinct_skills = 9, want 1 .. the repertoire's size"),
        ((8, 2, 2), {"metric": "euclidian"}, "did you mean euclidean"),
        ((8, 2, 2), {"lower": [0.0]}, "want 2 numbers, one per column"),
        ((8, 2, 2), {"upper": [0.0, np.nan]}, "want 2 numbers, one per column"),
    ],
)
def test_an_impossible_repertoire_is_refused(arguments, options, message):
    with pytest.raises(UserError, match=message):
        Repertoire.empty(*arguments, **options)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda r: r.add([1.0, 2.0]), r"want numbers of shape \(m, 2\)"),
        (lambda r: r.add([["a", "b"]]), r"want numbers of shape \(m, 2\)"),
        (lambda r: r.add([[1.0, 2.0]], [[1.0, 2.0]] * 2), "one for each posture"),
        (lambda r: r.add([[1.0, 2.0]], safe=[1]), "one bool per posture"),
        (lambda r: r.density([[1.0]]), r"want numbers of shape \(m, 2\)"),
        (lambda r: Repertoire.empty(8, 2, 2).density([[1.0, 2.0]]), "empty"),
        (lambda r: r.threshold(0), "distinct_skills = 0"),
        (lambda r: r.thin(0), "thin to 0 rows, want 1 .. 256"),
        (lambda r: r.thin(257), "thin to 257 rows, want 1 .. 256"),
    ],
)
def test_what_cannot_be_done_is_said(repertoire, act, message):
    with pytest.raises(UserError, match=message):
        act(repertoire)


def test_a_skill_of_another_size_must_be_given():
    with pytest.raises(UserError, match=r"skills have shape \(1, 3\), want \(1, 2\)"):
        Repertoire.empty(8, 3, 2).add([[1.0, 2.0, 3.0]])
