"""One robot, an update every four columns: the rows between wait, and nothing of them is lost."""

import shutil
from dataclasses import replace

import jax
import numpy as np
import pytest

from runs import differing, lines
from ursa import checkpoint
from ursa.errors import UserError
from ursa.run import trainer as training
from ursa.run.learner import Learner, newborn
from ursa.run.settings import configure
from ursa.run.train import train
from ursa.run.trainer import Trainer, gathered

pytestmark = pytest.mark.usefixtures("quick")
# Sixteen columns at random; a checkpoint at columns 30, 60 and 90, of which 30 and 90 are two
# columns after the last that learnt (28, 88): row 29 or 89 waits there. A refresh every 20.
ALONE = configure(
    "tiny",
    {
        "robot": "point",
        "task": "point",
        "seeds": 2,
        "steps": 96,
        "train": {
            "robots": 1,
            "prefill": 16,
            "length": 8,
            "steps_per_update": 4,
            "checkpoint_every": 30,
            "log_every": 24,
        },
    },
)
CUT = 75  # column at which a run is stopped: rows 73 and 74 wait


@pytest.fixture(scope="module")
def undisturbed_alone(undisturbed):
    return undisturbed(ALONE)


def equal(one, other):
    """Whether two trees have the same bits."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


def test_rows_wait_for_the_column_that_brings_an_update():
    trainer = Trainer(ALONE)
    stored, waiting, updates = [], [], []
    while trainer.column < 22:
        trainer.turn()
        stored.append(int(trainer.learner.ring.written[0]))
        waiting.append(len(trainer.waiting))
        updates.append(trainer.updates)
    assert stored == [1] * 4 + [5] * 4 + [9] * 4 + [13] * 4 + [17] * 4 + [21] * 2
    assert waiting == [0, 1, 2, 3] * 5 + [0, 1]
    assert updates == [0] * 16 + [1] * 4 + [2] * 2


def test_with_as_many_robots_as_steps_for_an_update_nothing_waits():
    trainer = Trainer(replace(ALONE, train=replace(ALONE.train, robots=4, length=2)))
    while trainer.column < 3:
        trainer.turn()
        assert trainer.waiting == []
        assert int(trainer.learner.ring.written[0]) == trainer.column
    assert "waiting" not in trainer.tree()  # a checkpoint is what it was


def test_rows_that_waited_leave_the_same_bits_as_rows_taken_at_once():
    """Rows 1 to 39, with the refresh of column 20 in their midst."""
    late, soon = Trainer(ALONE), Trainer(ALONE)
    zero, rows = np.int32(0), []
    for trainer in (late, soon):
        trainer.learner, _ = trainer.programs.advance(
            0, trainer.learner, trainer.collector.row, zero, zero
        )
    for column in range(1, 40):
        late.collector.step(late.collector.random(column))
        row = late.collector.row
        rows.append(row)
        soon.learner, _ = soon.programs.advance(0, soon.learner, row, np.int32(column), zero)
    law, ring = late.programs.absorb(
        late.learner.law, late.learner.ring, gathered(rows), np.int32(1)
    )
    assert int(soon.learner.law.repertoire.filled[0]) > 10
    assert equal(law, soon.learner.law)
    assert equal(ring, soon.learner.ring)


def test_a_learner_keeps_agent_and_chance_when_rows_that_waited_go_in():
    trainer, seen = Trainer(ALONE), []
    whole = trainer.programs.advance

    def watched(count, learner, *rest):
        seen.append(jax.tree.map(np.asarray, (learner.agent, jax.random.key_data(learner.key))))
        return whole(count, learner, *rest)

    trainer.programs = replace(trainer.programs, advance=watched)
    before = jax.tree.map(
        np.array, (trainer.learner.agent, jax.random.key_data(trainer.learner.key))
    )
    while trainer.column < 9:
        trainer.turn()
    assert len(seen) == 3
    assert isinstance(trainer.learner, Learner)
    assert equal(seen[-1], before)  # nothing is learnt before column 16


def test_an_agent_that_is_replaced_between_two_updates_acts_at_once():
    """What acting reads is kept flat from update to update: not for another learner."""
    one, other = Trainer(ALONE), Trainer(ALONE)
    for trainer in (one, other):
        while trainer.column < 18:
            trainer.turn()
    stranger = newborn(other.plan, 77).agent
    other.replace_agent(0, stranger, other.learner.key[0])
    for trainer in (one, other):
        trainer.turn()
    acted, replaced = (np.asarray(trainer.carry.action) for trainer in (one, other))
    assert (acted[0] != replaced[0]).any()
    np.testing.assert_array_equal(acted[1], replaced[1])


def cut(out, undisturbed):
    """In what a run differs that was stopped at CUT and went on, from one that never was."""
    calls = iter(range(999))
    stopped = train(ALONE, out, quiet=True, stop=lambda: next(calls) == CUT)
    assert (stopped.column, len(stopped.waiting)) == (75, 2)
    train(ALONE, out, resume=True, quiet=True)
    extra = [it for it in lines(out) if it["step"] != CUT and it["step"] != 90]
    found = [name for name in differing(out, undisturbed) if not name.startswith("rows/")]
    same = extra == [it for it in lines(undisturbed) if it["step"] != 90]
    return found + ([] if same else ["lines"])


def test_a_run_stopped_while_rows_wait_goes_on_bit_for_bit(tmp_path, undisturbed_alone):
    assert cut(tmp_path / "run", undisturbed_alone) == []


def test_a_run_that_forgets_the_rows_that_wait_becomes_another(
    tmp_path, undisturbed_alone, monkeypatch
):
    parted = training._parted
    monkeypatch.setattr(training, "_parted", lambda chunks, at, _: parted(chunks, at, []))
    assert cut(tmp_path / "run", undisturbed_alone)


def test_a_checkpoint_that_does_not_say_what_waits_is_refused(tmp_path, undisturbed_alone):
    out = tmp_path / "run"
    shutil.copytree(undisturbed_alone, out)
    trainer = Trainer(ALONE)
    tree, meta = checkpoint.load(out / "checkpoints", trainer.tree())
    del tree["waiting"]
    shutil.rmtree(out / "checkpoints")
    checkpoint.save(out / "checkpoints", 96, tree, meta)
    with pytest.raises(UserError, match="waiting"):
        train(ALONE, out, resume=True, quiet=True)
