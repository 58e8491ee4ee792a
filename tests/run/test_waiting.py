"""One robot, an update every four columns: rows wait and none is lost, robots do not wait."""

import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from runs import differing, lines
from ursa import checkpoint
from ursa.errors import UserError
from ursa.run import deputy
from ursa.run import trainer as training
from ursa.run.deputy import Deputy
from ursa.run.learner import newborn, replaced
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
    assert trainer.deputy is None
    assert {"waiting", "deputy"}.isdisjoint(trainer.tree())  # a checkpoint is what it was


def test_rows_that_waited_leave_the_same_bits_as_rows_taken_at_once():
    """Rows 1 to 39, with the refresh of column 20 in their midst."""
    late, soon = Trainer(ALONE), Trainer(ALONE)
    zero, rows = np.int32(0), []
    for trainer in (late, soon):
        trainer.learner, _ = trainer.programs.advance(
            0, trainer.learner, gathered([trainer.collector.row]), zero, zero
        )
    for column in range(1, 40):
        late.collector.step(late.collector.random(column))
        rows.append(late.collector.row)
        one = gathered(rows[-1:])
        soon.learner, _ = soon.programs.advance(0, soon.learner, one, np.int32(column), zero)
    leaves, _, _ = late.programs.learn(
        late._parts, 0, late._leaves, gathered(rows), np.int32(1), zero
    )
    learner = jax.tree.unflatten(late._parts.learner, leaves)
    assert int(soon.learner.law.repertoire.filled[0]) > 10
    assert equal(learner.law, soon.learner.law)
    assert equal(learner.ring, soon.learner.ring)


def held(trainer):
    """Agent and key of a trainer's learner, copied."""
    return jax.tree.map(np.array, (trainer.learner.agent, jax.random.key_data(trainer.learner.key)))


def test_a_learner_keeps_agent_and_chance_when_rows_that_waited_go_in():
    trainer = Trainer(ALONE)
    before = held(trainer)
    while trainer.column < 9:
        trainer.turn()
    assert int(trainer.learner.ring.written[0]) == 9
    assert equal(held(trainer), before)  # nothing is learnt before column 16
    while trainer.column < 17:
        trainer.turn()
    assert not equal(held(trainer), before)


def test_robots_act_by_what_was_learnt_a_round_before():
    """Updates at columns 16, 20, 24: what 16 brought is acted by from 20 on, until 24."""
    trainer = Trainer(ALONE)
    learnt, acted = {}, {}
    while trainer.column < 26:
        trainer.turn()
        learnt[trainer.column - 1] = [np.array(leaf) for leaf in numbers(trainer._mind())]
        acted[trainer.column - 1] = [np.array(leaf) for leaf in numbers(trainer.deputy.leaves)]
    assert not equal(learnt[15], learnt[16])
    assert not equal(learnt[16], learnt[20])
    for column in range(16, 20):
        assert equal(acted[column], learnt[15])
    for column in range(20, 24):
        assert equal(acted[column], learnt[16])
    assert equal(acted[24], learnt[20])


def test_robots_whose_random_actions_end_within_a_round_act_by_what_is_known_then():
    """At column 18: by what column 16 brought, a repertoire of 17 rows, until that of 20 at 24."""
    trainer = Trainer(replace(ALONE, train=replace(ALONE.train, prefill=18)))
    filled = {}
    while trainer.column < 25:
        trainer.turn()
        acting = jax.tree.unflatten(trainer._parts.mind, trainer.deputy.leaves)
        filled[trainer.column - 1] = int(acting.law.repertoire.filled[0])
    assert filled[15] < filled[18] == filled[23] < filled[24]


def numbers(leaves):
    return [jax.random.key_data(it) if "key" in str(it.dtype) else it for it in leaves]


def test_robots_do_not_wait_for_an_update_until_the_next_is_due(monkeypatch):
    trainer, done, arrived = Trainer(ALONE), threading.Event(), Deputy._arrived

    def slow(self, packed):
        assert done.wait(60)
        return arrived(self, packed)

    while trainer.column < 20:
        trainer.turn()
    trainer.settle()
    trainer.deputy.change()  # what the update of column 16 brought
    monkeypatch.setattr(Deputy, "_arrived", slow)
    while trainer.column < 24:  # an update at 20, which does not end
        trainer.turn()
    trainer.settle()
    assert trainer.deputy._coming is not None
    assert not trainer.deputy._coming.done()
    threading.Timer(0.2, done.set).start()
    trainer.turn()
    assert done.is_set()


def slowly(trainer, free):
    """From now on, handing an update to the device takes until `free` is set."""
    trainer.settle()
    learn = trainer.programs.learn

    def handed(*given):
        assert free.wait(60)
        return learn(*given)

    trainer.programs = replace(trainer.programs, learn=handed)


@pytest.mark.parametrize(("robots", "columns"), [(1, 4), (4, 1)])
def test_robots_step_while_an_update_is_handed_over(robots, columns):
    """Until they need what it brings: those of a round of four columns, or those of one."""
    shape = {"robots": robots, "length": 8 // robots}
    trainer, free = Trainer(replace(ALONE, train=replace(ALONE.train, **shape))), threading.Event()
    while trainer.steps < 20 * columns // 4 * robots:
        trainer.turn()
    begun = trainer.column
    slowly(trainer, free)
    for _ in range(columns):
        trainer.turn()
    assert trainer.column == begun + columns
    assert not trainer._learning.done()
    threading.Timer(0.2, free.set).start()
    trainer.turn()
    assert free.is_set()


@pytest.mark.parametrize(("robots", "columns"), [(1, 4), (4, 1)])
def test_an_update_that_fails_ends_the_run_at_the_next_round(robots, columns):
    """Also while robots still act at random and nobody waits for what it brings."""
    shape = {"robots": robots, "length": 8 // robots}
    trainer = Trainer(replace(ALONE, train=replace(ALONE.train, **shape)))

    def broken(*given):
        raise MemoryError("no room for an update")

    trainer.programs = replace(trainer.programs, learn=broken)
    for _ in range(columns):
        trainer.turn()
    for _ in range(2):  # and it is not forgotten, whoever asks
        with pytest.raises(MemoryError, match="no room"):
            trainer.turn()
    with pytest.raises(MemoryError, match="no room"):
        trainer.tree()


def test_metrics_are_told_once():
    """Updates at columns 16 and 20, of two seeds."""
    trainer = Trainer(ALONE)
    while trainer.column < 22:
        trainer.turn()
    assert [it.shape for it in trainer.told()] == [(2, len(trainer.names))] * 2
    assert trainer.told() == []


def test_an_agent_that_is_replaced_between_two_updates_acts_from_the_next_round_on():
    one, other = Trainer(ALONE), Trainer(ALONE)
    for trainer in (one, other):
        while trainer.column < 18:
            trainer.turn()
    stranger = newborn(other.plan, 77).agent
    other.learner = replaced(other.learner, 0, stranger, other.learner.key[0])
    for column, same in ((19, True), (20, True), (21, False)):
        for trainer in (one, other):
            while trainer.column < column:
                trainer.turn()
        acted, new = (np.asarray(trainer.carry.action) for trainer in (one, other))
        assert (acted[0] == new[0]).all() == same
        np.testing.assert_array_equal(acted[1], new[1])


ELSEWHERE = """
import jax
from ursa.run import deputy
from ursa.run.trainer import Trainer
from test_waiting import ALONE, equal, held

here, there = jax.devices()
def lived(place):
    deputy.host = lambda: place
    trainer = Trainer(ALONE)
    while trainer.column < 33:
        trainer.turn()
    return trainer

one, other = lived(here), lived(there)
assert one.carry.action.devices() == {here} and other.carry.action.devices() == {there}
assert {d for leaf in other._leaves for d in leaf.devices()} == {here}
print(equal(held(one), held(other)), equal(one.collector.row.action, other.collector.row.action))
"""


@pytest.mark.soak  # a process of its own, which compiles everything twice
def test_robots_may_act_on_another_device_than_the_one_that_learns():
    found = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        env=os.environ
        | {
            "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
            "PYTHONPATH": os.pathsep.join(str(Path(__file__).parents[n]) for n in (0, 1)),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout.split() == ["True", "True"], found.stderr[-2000:]


def test_what_is_carried_to_the_host_is_what_was_packed():
    """Numbers, counts, truths and random keys of three seeds; one row of 1 + 6 + 4 numbers each."""
    rng = np.random.default_rng(3)
    leaves = [
        jnp.asarray(rng.standard_normal((3, *shape)), jnp.float32) for shape in ((), (2, 3), (4,))
    ]
    leaves[1:1] = [jnp.arange(3), jnp.array([True, False, True])]
    leaves.append(jax.random.split(jax.random.key(1), 3))
    packed = deputy.packing(leaves)
    assert packed[0].shape == (3, 11)
    assert len(packed[1]) == 3
    again = deputy.unpack(deputy.kinds(leaves), *packed)
    assert [it.dtype for it in again] == [it.dtype for it in leaves]
    assert equal(numbers(again), numbers(leaves))


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


def test_a_run_that_forgets_what_its_robots_acted_by_becomes_another(
    tmp_path, undisturbed_alone, monkeypatch
):
    """They would go on by the newest policy, which the undisturbed run takes at column 76 only."""
    restore = Trainer.restore

    def forgetful(self, tree, rows):
        restore(self, tree, rows)
        self.deputy.change()

    monkeypatch.setattr(Trainer, "restore", forgetful)
    assert cut(tmp_path / "run", undisturbed_alone)


@pytest.mark.parametrize("name", ["waiting", "deputy"])
def test_a_checkpoint_that_does_not_say_what_waits_is_refused(tmp_path, undisturbed_alone, name):
    out = tmp_path / "run"
    shutil.copytree(undisturbed_alone, out)
    trainer = Trainer(ALONE)
    tree, meta = checkpoint.load(out / "checkpoints", trainer.tree())
    del tree[name]
    shutil.rmtree(out / "checkpoints")
    checkpoint.save(out / "checkpoints", 96, tree, meta)
    with pytest.raises(UserError, match=name):
        train(ALONE, out, resume=True, quiet=True)
