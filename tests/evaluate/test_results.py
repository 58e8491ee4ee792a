"""Results as files: what was written is read again, and nothing else is."""

import json
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from evaluate.made import made
from ursa.errors import UserError
from ursa.evaluate.results import FORMAT, Results, load, save


def same(one, other) -> None:
    if is_dataclass(one):
        assert type(one) is type(other)
        for item in fields(one):
            same(getattr(one, item.name), getattr(other, item.name))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            same(mine, theirs)
    elif isinstance(one, np.ndarray):
        assert one.dtype.kind == other.dtype.kind
        np.testing.assert_allclose(one, other, rtol=1e-5)
    else:
        assert one == other


@pytest.mark.parametrize(
    ("method", "task"), [("ursa", "forward"), ("daydreamer", "forward"), ("ursa", "velocity")]
)
def test_what_is_written_is_read_again(tmp_path, method, task):
    found = made(method, 1, task=task, rollouts=16)
    save(found, tmp_path / "seed_1.json")
    same(load(tmp_path / "seed_1.json"), found)
    assert [path.name for path in tmp_path.iterdir()] == ["seed_1.json"]


def test_a_skill_of_no_width_and_numbers_that_are_none_survive(tmp_path):
    found = made("daydreamer", rollouts=8)
    ret = found.skills.ret.copy()
    ret[[2, 3]] = np.nan, np.inf
    found = replace(found, skills=replace(found.skills, z=np.zeros((8, 0)), ret=ret), damages=())
    save(found, tmp_path / "it.json")
    again = load(tmp_path / "it.json")
    assert again.skills.z.shape == (8, 0)
    assert np.isnan(again.skills.ret[2])
    assert again.skills.ret[3] == np.inf
    assert again.damages == ()
    json.loads((tmp_path / "it.json").read_text(), parse_constant=pytest.fail)  # plain JSON


def test_numbers_keep_six_digits(tmp_path):
    found = made(rollouts=8)
    found = replace(found, skills=replace(found.skills, ret=np.full(8, 1 / 3)))
    save(found, tmp_path / "it.json")
    assert load(tmp_path / "it.json").skills.ret[0] == 0.333333


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"step": 3}', '{"format": 1}', '{"format": 1, "source": 4}', "\x00\x01"],
)
def test_another_file_is_told_in_one_sentence(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"other.json is not a results file") as told:
        load(path)
    assert "\n" not in str(told.value)


def test_damage_inside_a_file_is_told(tmp_path):
    path = tmp_path / "it.json"
    save(made(rollouts=8), path)
    whole = json.loads(path.read_text())
    whole["skills"]["ret"][0] = "many"
    path.write_text(json.dumps(whole))
    with pytest.raises(UserError, match="not a results file"):
        load(path)


def test_another_format_and_a_missing_file_are_refused(tmp_path):
    path = tmp_path / "it.json"
    save(made(rollouts=8), path)
    path.write_text(path.read_text().replace(f'"format":{FORMAT}', '"format":99'))
    with pytest.raises(UserError, match="another format"):
        load(path)
    with pytest.raises(UserError, match="nowhere"):
        load(tmp_path / "nowhere.json")


def test_what_was_not_measured_is_nothing():
    assert {it.name for it in fields(Results) if it.default is None} == {"tracking", "curve"}
