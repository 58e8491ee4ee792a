"""Folders that nothing can be written into are refused in words, before the work."""

import pytest

from ursa.durable import refuse_unwritable
from ursa.errors import UserError


def test_a_folder_that_is_there_or_can_be_made_is_taken_and_not_made(tmp_path):
    refuse_unwritable(tmp_path)
    refuse_unwritable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder_nor_the_place_for_one(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(UserError, match="taken is a file: give another --out"):
        refuse_unwritable(tmp_path / "taken")
    with pytest.raises(UserError, match=r"deep cannot be made: .*taken is a file: give another"):
        refuse_unwritable(tmp_path / "taken" / "deep")


def test_a_folder_without_permission_is_refused_by_the_nearest_that_is_there(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("os.access", lambda path, _: asked.append(path))
    with pytest.raises(UserError, match=r"b: its folder is not writable: think again"):
        refuse_unwritable(tmp_path / "a" / "b", "think again")
    assert asked == [tmp_path]


def test_a_folder_that_may_not_even_be_looked_into_is_refused(tmp_path, monkeypatch):
    def exists(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.exists", exists)
    with pytest.raises(UserError, match="Permission denied: give another --out"):
        refuse_unwritable(tmp_path)
