"""A disk that refuses costs the new checkpoint only."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from trees import names, same, small
from ursa import checkpoint, durable
from ursa.errors import UserError


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
