"""A run that is killed and forgets one thing on its way back becomes another one."""

import json
import shutil
from dataclasses import replace

import pytest

from runs import POINT, Fate, Killed, differing, lines, quickly
from ursa import checkpoint
from ursa.run.collect import Collector
from ursa.run.train import train
from ursa.run.trainer import Trainer

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same run undisturbed, by programs that were compiled here and now like its fellows'."""
    out = tmp_path_factory.mktemp("whole") / "run"
    with quickly():
        train(POINT, out, quiet=True)
    return out


@pytest.fixture(scope="module")
def dead(point, tmp_path_factory):
    """What a kill in the midst of a run leaves, after its second checkpoint."""
    kinds = json.loads((point.parent / "instants.json").read_text())
    out = tmp_path_factory.mktemp("dead")
    columns = [n for n, kind in enumerate(kinds, 1) if kind == "before a column"]
    with quickly(), pytest.MonkeyPatch.context() as patch:
        Fate(patch, out / "life", out / "grave", columns[100])  # of 160
        with pytest.raises(Killed):
            train(POINT, out / "life", quiet=True)
    assert len(checkpoint.stored(out / "grave" / "checkpoints")) >= 2
    return out / "grave"


def resumed(tmp_path, dead, whole):
    """In what a run differs that goes on from there."""
    out = tmp_path / "run"
    shutil.copytree(dead, out)
    train(POINT, out, resume=True, quiet=True)
    return differing(out, whole) + ([] if lines(out) == lines(whole) else ["lines"])


def test_a_run_that_forgets_nothing_becomes_the_same(tmp_path, dead, whole):
    assert resumed(tmp_path, dead, whole) == []


@pytest.mark.parametrize("item", ["carry", "rows", "learner", "collector"])
def test_a_run_that_forgets_one_thing_becomes_another(tmp_path, dead, whole, monkeypatch, item):
    restore = Trainer.restore

    def partly(trainer, tree, rows):
        newborn = trainer.tree()
        if item == "rows":
            rows = [(number, replace(some, reward=0 * some.reward)) for number, some in rows]
        elif item in tree and item != "collector":
            tree = {**tree, item: newborn[item]}
        restore(trainer, tree, rows)

    monkeypatch.setattr(Trainer, "restore", partly)
    if item == "collector":
        monkeypatch.setattr(Collector, "restore", lambda self, tree: None)
    assert resumed(tmp_path, dead, whole)
