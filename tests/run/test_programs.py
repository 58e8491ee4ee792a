"""The compiled side of a run: what it costs beside what it computes."""

import numpy as np
import pytest

from ursa import replay
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
