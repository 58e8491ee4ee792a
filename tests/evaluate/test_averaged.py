"""Training of which only the mean over seeds was kept: read, refused, and drawn without a band."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evaluate.made import made
from evaluate.test_draw import printed
from ursa.errors import UserError
from ursa.evaluate import results
from ursa.evaluate.averaged import FILE, averaged
from ursa.evaluate.draw import training
from ursa.evaluate.group import apart, gather

LINES = {"seeds": 3, "steps": [9_000, 27_000, 36_000], "reward": [1.0, 2.0, 5.0]}
# Windows of 18,000 steps: half of 1 and half of 2; then half of 2 and half of 5.
WINDOWS = [1.5, 3.5]


@pytest.fixture
def folders(tmp_path):
    """URSA with learning curves, DayDreamer without; the folder of each."""
    for method in ("ursa", "daydreamer"):
        (tmp_path / method).mkdir()
        for seed in range(2):
            found = made(method, seed, rollouts=16)
            kept = found if method == "ursa" else replace(found, curve=None)
            results.save(kept, tmp_path / method / results.name(seed))
    return tmp_path


def tell(folder, told):
    (folder / FILE).write_text(json.dumps(told))


def both(folders):
    return [folders / "ursa", folders / "daydreamer"]


def test_a_mean_over_seeds_is_read_in_windows_like_those_of_single_seeds(tmp_path):
    assert averaged(tmp_path) is None
    tell(tmp_path, LINES)
    found = averaged(tmp_path)
    assert found.seeds == 3
    np.testing.assert_allclose(found.curve.steps, [18_000, 36_000])
    np.testing.assert_allclose(found.curve.mean, WINDOWS)


def test_a_method_without_curves_of_its_own_is_drawn_by_the_mean_of_its_seeds(folders):
    tell(folders / "daydreamer", LINES)
    numbers = training.numbers(gather(both(folders), any_length=True))
    assert numbers["n"] == {"URSA": 2, "DayDreamer": 3}
    ursa, daydreamer = numbers["series"]
    assert len(ursa["per_seed"]) == 2
    assert daydreamer["per_seed"] == []
    assert [it["middle"] for it in daydreamer["reward"]] == pytest.approx(WINDOWS)
    figure = training.draw(numbers)
    words = printed(figure)
    assert f"DayDreamer: {training.AVERAGED}" in words
    assert "no learning curve" not in words
    assert "where there is one seed only" not in words
    (axes,) = figure.get_axes()
    assert len(axes.lines) == 2
    assert len(axes.collections) == 1  # the quartiles of URSA


def test_of_a_single_mean_too_a_figure_is_drawn(folders):
    tell(folders / "daydreamer", LINES)
    numbers = training.numbers(gather([folders / "daydreamer"], any_length=True))
    assert [it["label"] for it in numbers["series"]] == ["DayDreamer"]
    assert numbers["notes"] == [f"DayDreamer: {training.AVERAGED}"]
    (axes,) = training.draw(numbers).get_axes()
    assert not axes.collections


def test_a_figure_says_what_the_folder_says_of_its_mean(folders):
    tell(folders / "daydreamer", LINES | {"note": "one of them fell"})
    numbers = training.numbers(gather([folders / "daydreamer"], any_length=True))
    assert numbers["notes"][-1] == "DayDreamer: one of them fell"


def test_a_part_of_a_folder_is_not_drawn_by_the_mean_of_the_whole(folders):
    tell(folders / "daydreamer", LINES)
    (group,) = gather([folders / "daydreamer" / results.name(1)], any_length=True)
    assert group.averaged is None


@pytest.mark.parametrize(("seeds", "drawn"), [(2, "their own"), (3, "the mean")])
def test_a_mean_is_drawn_where_it_is_over_more_seeds_than_have_a_curve(folders, seeds, drawn):
    tell(folders / "ursa", LINES | {"seeds": seeds})
    (group,) = gather([folders / "ursa"], any_length=True)
    assert group.averaged.seeds == seeds
    numbers = training.numbers([group])
    (series,) = numbers["series"]
    assert len(series["per_seed"]) == (2 if drawn == "their own" else 0)
    assert numbers["n"] == {"URSA": seeds}
    assert any(training.AVERAGED in it for it in numbers["notes"]) == (drawn == "the mean")


def test_a_report_by_task_knows_the_mean_too(folders):
    tell(folders / "daydreamer", LINES)
    groups = apart(both(folders), any_length=True)["forward"]
    assert [it.averaged is None for it in groups] == [True, False]


@pytest.mark.parametrize(
    "changed",
    [
        {"seeds": 0},
        {"seeds": None},
        {"steps": [9_000, 27_000]},
        {"steps": [9_000, 9_000, 36_000]},
        {"steps": [0, 9_000, 36_000]},
        {"steps": [], "reward": []},
        {"reward": [1.0, float("nan"), 5.0]},
        {"reward": ["1", "two", "3"]},
    ],
)
def test_a_mean_that_is_none_is_refused_by_its_path(tmp_path, changed):
    tell(tmp_path, LINES | changed)
    with pytest.raises(UserError, match=rf'{FILE} does not hold "seeds"'):
        averaged(tmp_path)


def test_text_that_is_no_json_is_refused_too(tmp_path):
    (tmp_path / FILE).write_text("{")
    with pytest.raises(UserError, match=FILE):
        averaged(tmp_path)
