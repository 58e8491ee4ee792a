"""A run: what it writes, seeds that train as one program and live apart, updates that fail."""

import json
import logging
from dataclasses import fields

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from runs import POINT, TWO, arrays, lines
from ursa import checkpoint
from ursa.errors import UserError
from ursa.journal import Journal, Progress
from ursa.run import folder, preflight
from ursa.run.learner import newborn
from ursa.run.publish import publish
from ursa.run.stop import COMPILING, Asked
from ursa.run.train import Loop, banner, begin, megabytes, train
from ursa.run.trainer import Trainer
from ursa.segments import Segments
from ursa.types import Row

pytestmark = pytest.mark.usefixtures("quick")


def test_a_run_leaves_settings_environment_journal_checkpoints_rows_and_an_agent(point):
    assert folder.config_of(point) == POINT
    (start,) = json.loads((point / "environment.json").read_text())["starts"]
    assert start["jax"] == jax.__version__
    assert [path.name for path in checkpoint.stored(point / "checkpoints")] == [
        "step_000000640",
        "step_000000512",
        "step_000000384",
    ]
    assert len(list((point / "rows").iterdir())) == 5
    assert len(list(point.glob("events.out.tfevents.*"))) == 1
    agent = point / "agent"
    assert folder.config_of(agent) == POINT
    assert {path.name for path in (agent / "seed_0").iterdir()} == {
        "agent.safetensors",
        "repertoire.npz",
    }


def test_lines_come_every_48_steps_and_before_every_checkpoint(point):
    steps = [line["step"] for line in lines(point)]
    assert steps == sorted({*range(48, 640, 48), *range(128, 641, 128)})
    last = lines(point)[-1]
    assert last["learn/updates"] == 144  # 160 columns, the first 16 at random
    assert last["learn/dropped"] == last["learn/failures"] == last["learn/rollbacks"] == 0
    assert {"robot/reward", "robot/unsafe", "repertoire/entropy", "repertoire/delta"} <= set(last)
    assert {"lambda/skill", "lambda/safe"} <= set(last)


def test_the_start_tells_device_memory_updates_and_place(tmp_path):
    said = banner(Trainer(POINT), tmp_path, "abacus", "float32")
    for part in ("abacus, float32", "144, one per 4 steps", str(tmp_path), "640 of each seed"):
        assert part in said
    assert "seed 0, 4 robots each" in said
    assert "under 0.1 MB" in said
    assert "seeds 0 to 1, 4 robots each" in banner(Trainer(TWO), tmp_path, "abacus", "float32")


def test_a_small_replay_is_not_told_as_nothing():
    assert [megabytes(size) for size in (0, 99_999, 100_000, 9_940_000, 10_000_000)] == [
        "under 0.1 MB",
        "under 0.1 MB",
        "0.1 MB",
        "9.9 MB",
        "10 MB",
    ]


def test_a_run_says_what_it_compiles_and_foresees_no_end_before(tmp_path, capsys):
    columns = iter(range(10**6))
    train(POINT, tmp_path, stop=lambda: next(columns) == 20)
    said = capsys.readouterr().err.splitlines()[6:]
    waits = [line for line in said if line.startswith("compiling")]
    assert waits[0] == "compiling the replay: seconds"
    assert waits[1].startswith("compiling the acting program and the update: a minute or two")
    assert len(waits) == 2
    assert all("ETA -" in line for line in said if line not in waits)
    assert len(said) > len(waits)


def test_a_quiet_run_is_quiet_when_it_compiles(tmp_path, capsys):
    train(POINT, tmp_path, quiet=True, stop=lambda: (tmp_path / "metrics.jsonl").stat().st_size > 0)
    assert capsys.readouterr().err == ""


def test_a_signal_at_the_start_of_a_new_run_leaves_nothing_behind(tmp_path):
    asked = Asked()
    asked.signals.append(2)
    with pytest.raises(KeyboardInterrupt, match="nothing was written"):
        train(POINT, tmp_path / "run", quiet=True, asked=asked)
    assert not (tmp_path / "run").exists()


def test_a_signal_while_the_agent_is_made_leaves_nothing_behind(tmp_path, monkeypatch):
    asked = Asked()

    def made(config):
        asked.signals.append(2)
        return Trainer(config)

    monkeypatch.setattr("ursa.run.train.Trainer", made)
    with pytest.raises(KeyboardInterrupt, match="nothing was written"):
        train(POINT, tmp_path / "run", quiet=True, asked=asked)
    assert not (tmp_path / "run").exists()


def test_a_run_that_does_not_fit_into_memory_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "host_memory", lambda: 1000.0)
    with pytest.raises(UserError, match="of memory are free"):
        train(POINT, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_a_second_trainer_of_the_same_settings_compiles_nothing():
    assert Trainer(POINT).programs is Trainer(POINT).programs


def shaped(row, index):
    """The row of one seed of several, as rows of one step."""
    return Row(**{f.name: getattr(row, f.name)[index : index + 1, None] for f in fields(Row)})


def test_two_seeds_in_one_program_equal_two_alone_over_twenty_updates():
    together, alone = Trainer(TWO), Trainer(POINT).programs
    singles = [jax.tree.map(lambda leaf: leaf[None], newborn(alone.plan, seed)) for seed in (0, 1)]
    while together.updates < 20:
        row, column = together.collector.row, jnp.asarray(together.column, jnp.int32)
        count = together.plan.updates_at(together.column)
        updates = jnp.asarray(together.updates, jnp.int32)
        told = []
        for index, learner in enumerate(singles):
            singles[index], metrics = alone.advance(
                count, learner, shaped(row, index), column, updates
            )
            told.append(np.asarray(metrics))
        together.turn()
        for metrics in together.told():
            np.testing.assert_allclose(np.asarray(metrics), np.concatenate(told), rtol=1e-4)
    for index, learner in enumerate(singles):
        mine = jax.tree.map(lambda leaf, i=index: leaf[i : i + 1], together.learner.agent)
        for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(learner.agent), strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-4, atol=1e-6)


@pytest.fixture
def looped(tmp_path):
    """A trainer in its loop, to be disturbed from outside."""
    journals = []

    def make(config):
        trainer, progress = Trainer(config), Progress(1, quiet=True)
        journals.append(Journal(tmp_path, seeds=config.seeds))
        store = Segments(tmp_path / "rows")
        return trainer, Loop(trainer, store, journals[-1], progress, tmp_path, 0.0)

    yield make
    for journal in journals:
        journal.close()


def test_a_signal_is_answered_otherwise_in_the_columns_that_compile(looped, monkeypatch):
    trainer, loop = looped(POINT)
    asked, answers, turn = Asked(), [], trainer.turn

    def watched(meanwhile):
        answers.append(asked.answer)
        if trainer.column == 20:
            asked.signals.append(2)
        return turn(meanwhile)

    monkeypatch.setattr(trainer, "turn", watched)
    loop.run(lambda: False, asked)
    assert trainer.column == 21
    assert [at for at, answer in enumerate(answers) if answer == COMPILING] == [0, 16]


def poisoned(trainer, seed):
    """One weight of one seed becomes so large, though finite, that every loss overflows."""
    weight = trainer.learner.agent.world.heads.out
    trainer.learner = eqx.tree_at(
        lambda it: it.agent.world.heads.out, trainer.learner, weight.at[seed].set(3e38)
    )


def test_a_seed_whose_updates_fail_is_rolled_back_alone(looped, tmp_path, caplog):
    trainer, loop = looped(TWO)
    counts = []

    def stop():
        if trainer.column == 50:
            poisoned(trainer, 1)
        counts.append(trainer.learner.agent.updates.tolist())
        return trainer.column == 80

    loop.run(stop)
    # Columns 50 to 59 fail for seed 1; the line at column 60 finds ten failures in a row, more than
    # the eight allowed, and goes back to the checkpoint of column 32, which had seen 16 updates.
    assert counts[50] == [34, 34]
    assert counts[59] == [43, 34]
    assert counts[60] == [44, 16]
    assert counts[80] == [64, 36]
    assert "updates of seed 1 are not finite; its agent is replaced by that of step 128" in (
        caplog.text
    )
    told = {seed: lines(tmp_path / f"seed_{seed}") for seed in (0, 1)}
    at = {seed: {line["step"]: line for line in told[seed]} for seed in told}
    assert at[1][240]["learn/dropped"] == pytest.approx(10 / 12)
    assert at[0][240]["learn/dropped"] == 0
    assert [at[1][step]["learn/rollbacks"] for step in (192, 240, 288)] == [0, 1, 1]
    assert [at[0][step]["learn/rollbacks"] for step in (192, 240, 288)] == [0, 0, 0]
    assert at[1][288]["learn/dropped"] == 0
    first, second = jax.random.key_data(trainer.learner.key)
    assert (first == jax.random.key_data(jax.random.key(0))).all()
    assert (second != jax.random.key_data(jax.random.key(1))).any()


def test_a_checkpoint_waits_for_a_seed_that_fails(looped, tmp_path):
    trainer, loop = looped(TWO)

    def stop():
        if trainer.column == 61:
            poisoned(trainer, 0)
        names = [path.name for path in checkpoint.stored(tmp_path / "checkpoints")]
        if trainer.column in (63, 70):
            assert names == ["step_000000128"]  # due at column 64, where three updates had failed
        return trainer.column == 86

    loop.run(stop)
    # Column 72 rolls it back to what it was at 32, and that is sound: saved at once.
    names = [path.name for path in checkpoint.stored(tmp_path / "checkpoints")]
    assert names == ["step_000000344", "step_000000288", "step_000000128"]


def test_a_run_that_fails_from_the_start_says_so_and_ends(looped, tmp_path, caplog):
    trainer, loop = looped(POINT)

    def stop():
        poisoned(trainer, 0)
        return False

    with pytest.raises(UserError, match=r"going back .* did not help.*learning-rate"):
        loop.run(stop)
    assert caplog.text.count("its agent is replaced by a newborn one, no checkpoint exists") == 2
    assert caplog.text.count("its agent is replaced by that of step 128") == 1
    assert len(lines(tmp_path)) == 5  # at columns 12 and 24, at 32 and 36, at 48; not at 60


def test_an_agent_that_is_not_finite_is_never_published(tmp_path, caplog):
    trainer = Trainer(TWO)
    publish(trainer.learner, trainer.config, trainer.steps, tmp_path)
    before = arrays(tmp_path / "seed_1" / "agent.safetensors")
    mean = trainer.learner.agent.actor.mean.weight
    trainer.learner = eqx.tree_at(
        lambda it: it.agent.actor.mean.weight, trainer.learner, mean.at[1, 0, 0].set(jnp.nan) + 1
    )
    with caplog.at_level(logging.WARNING):
        publish(trainer.learner, trainer.config, trainer.steps, tmp_path)
    assert "seed 1 is not published: ['actor'].mean.weight" in caplog.text
    after = arrays(tmp_path / "seed_1" / "agent.safetensors")
    assert all((after[name] == before[name]).all() for name in before)
    other = arrays(tmp_path / "seed_0" / "agent.safetensors")
    np.testing.assert_array_equal(other["['actor'].mean.weight"], np.asarray(mean[0]) + 1)


def test_a_folder_without_checkpoints_begins_anew(tmp_path):
    trainer = Trainer(POINT)
    store, seconds = begin(trainer, tmp_path)
    assert (trainer.column, store.columns, seconds) == (0, 0, 0.0)
