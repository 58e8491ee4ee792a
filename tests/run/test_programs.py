"""The compiled side of a run: what it costs beside what it computes."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa import replay
from ursa.run.programs import over_seeds
from ursa.run.settings import configure
from ursa.run.trainer import Trainer, gathered


@pytest.mark.soak  # compiles an update of its own, optimized: it is the optimizer that copies
@pytest.mark.parametrize(("robots", "every"), [(1, 8), (32, 32)])
def test_an_update_writes_into_the_replay_and_does_not_copy_it(robots, every):
    """A copy at each update took a third of the time of training on a CPU, and more."""
    train = {"robots": robots, "steps_per_update": every, "prefill": 512, "replay_size": 65_536}
    trainer = Trainer(configure("tiny", {"steps": 65_536, "train": train}))
    count, sizes = trainer.plan.stride, trainer.plan.sizes
    rows = gathered([trainer.collector.row] * count)
    zero = np.int32(0)
    learn = trainer.programs.learn.lower(trainer._parts, 1, trainer._leaves, rows, zero, zero)
    memory = learn.compile().memory_analysis()
    ring = replay.nbytes(robots, trainer.learner.ring.capacity, sizes)
    assert ring > 15e6
    assert memory.alias_size_in_bytes > ring  # given away, and given back
    assert memory.temp_size_in_bytes < 0.2 * ring


def test_a_single_seed_goes_without_the_axis_of_seeds_and_gets_it_back():
    def step(tree, key, count):
        assert tree["a"].shape == (3,)
        return {"a": tree["a"] + count, "sum": tree["a"].sum()}, jax.random.bits(key)

    tree, keys = {"a": jnp.arange(3.0)[None]}, jax.random.split(jax.random.key(1), 1)
    axes = (0, 0, None)
    (found, drawn), (wanted, mapped) = (
        jax.jit(it)(tree, keys, 2.0)
        for it in (over_seeds(1, step, axes), jax.vmap(step, in_axes=axes))
    )
    assert found["a"].tolist() == wanted["a"].tolist() == [[2.0, 3.0, 4.0]]
    assert found["sum"].tolist() == wanted["sum"].tolist() == [3.0]
    assert drawn.tolist() == mapped.tolist()
    assert drawn.shape == (1,)


def test_several_seeds_go_together():
    doubled = over_seeds(2, lambda x, by: x.sum() * by, (0, None))
    assert doubled(jnp.array([[1.0, 2.0], [3.0, 4.0]]), 2.0).tolist() == [6.0, 14.0]


@pytest.mark.soak  # a matter of the optimizer, which tests switch off
def test_no_sum_of_an_update_of_one_seed_has_an_axis_of_seeds():
    """With one, XLA's fused multiply-and-sum of a CPU takes a dozen times as long."""
    trainer = Trainer(configure("tiny", {"steps": 1_024}))
    rows, zero = gathered([trainer.collector.row] * trainer.plan.stride), np.int32(0)
    learn = trainer.programs.learn.lower(trainer._parts, 1, trainer._leaves, rows, zero, zero)
    assert not re.findall(r"f32\[1,[^\]]*\]\S* reduce\(", learn.compile().as_text())
