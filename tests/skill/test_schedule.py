"""When the VAE learns."""

from functools import partial

import jax
import numpy as np
import pytest

from ursa.config import SkillConfig
from ursa.skill.schedule import due


@partial(jax.jit, static_argnums=1)
def steps(updates, total, filled):
    return jax.vmap(lambda update: due(update, total, filled, SkillConfig()))(updates)


def learning(total, filled=512):
    """The updates of a training of `total` after which the VAE takes a step."""
    return np.flatnonzero(steps(np.arange(total), total, filled)).tolist()


def test_it_learns_always_at_first_then_in_phases_ever_further_apart_then_never():
    expected = [
        *range(2_000),  # a tenth of 20,000
        *range(3_000, 3_200),  # one gap of 1000 later
        *range(5_000, 5_200),  # two gaps
        *range(8_000, 8_200),  # three; four would be 12,000, beyond half the training
    ]
    assert learning(20_000) == expected


def test_half_of_the_training_ends_a_phase():
    # Of 2,900 updates 290 are warm; the phase from 1,290 would last until 1,490.
    late = [update for update in learning(2_900) if update >= 290]
    assert late == list(range(1_290, 1_450))


def test_too_few_rows_teach_nothing():
    assert learning(100, filled=511) == []
    assert learning(100) == list(range(10))


@pytest.mark.parametrize(("filled", "expected"), [(63, False), (64, True)])
def test_the_numbers_can_be_changed(filled, expected):
    assert bool(due(0, 10, filled, SkillConfig(vae_rows=64))) is expected


def test_a_gap_longer_than_any_training_leaves_the_beginning_alone():
    config = SkillConfig(vae_gap=10**6, vae_warm=0.0)
    assert not any(bool(due(update, 10**6, 512, config)) for update in (0, 1, 499_999))
