"""A newborn agent: the same for a seed, its slow copy equal, its policy the part that acts."""

import jax
import numpy as np

from ursa.agent.state import begin, policy
from worlds import newborn, same, settings


def test_a_seed_says_who_is_born():
    assert same(begin(settings(), 0), newborn())
    other = newborn(seed=1)
    for name in ("world", "actor", "critics", "multipliers"):
        assert not same(getattr(other, name), getattr(newborn(), name))


def test_the_slow_copy_starts_where_the_critics_do():
    state = newborn()
    assert same(state.slow, state.critics)
    assert state.updates == state.dropped == 0
    assert state.kl_scale == 1
    np.testing.assert_array_equal(state.entropy_weight, [1, 1])


def test_a_policy_is_encoder_dynamics_and_actor():
    state = newborn()
    found = policy(state)
    assert same(found, (state.world.encoder, state.world.rssm, state.actor))


def test_everything_learnt_is_float32_and_counters_are_integers():
    kinds = {leaf.dtype.name for leaf in jax.tree.leaves(newborn())}
    assert kinds == {"float32", "int32"}
