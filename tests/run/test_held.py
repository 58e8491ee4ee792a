"""Dreams that are asked to stay as they begin: a share of the safe ones, and no others."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import points
from ursa.run.plan import build
from ursa.types import Batch

SHAPE = (64, 64)
HERE = (0.3, -0.2)


def batch():
    """Dreams that all begin at one velocity; every second one is not safe."""
    safe = jnp.broadcast_to(jnp.arange(SHAPE[1]) % 2 == 0, SHAPE)
    none = jnp.zeros(SHAPE)
    return Batch(
        observation=jnp.zeros((*SHAPE, 4)),
        action=jnp.zeros((*SHAPE, 2)),
        reward=none,
        cost=none,
        posture=jnp.broadcast_to(jnp.asarray(HERE), (*SHAPE, 2)),
        safe=safe,
        first=jnp.zeros(SHAPE, bool),
    )


def asked(method="ursa", **skill):
    """Skills before and after, and which dreams begin in a safe state."""
    law = build(points.config(method, skill=skill))[0].law
    before = law.skills(law.begin(0), jax.random.key(0), SHAPE[0] * SHAPE[1])
    given = batch()
    after = law.held(before, given, jax.random.key(1))
    return np.asarray(before.z), np.asarray(after.z), np.asarray(given.safe).reshape(-1)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_a_share_of_the_safe_dreams_is_asked_to_stay(share):
    before, after, safe = asked(hold=share)
    stays = (np.abs(after - HERE) < 1e-6).all(axis=1)
    assert stays[safe].mean() == pytest.approx(share, abs=0.04)  # four deviations of 2048 draws
    assert not stays[~safe].any()
    np.testing.assert_array_equal(after[~stays], before[~stays])


@pytest.mark.parametrize(("method", "share"), [("ursa", 0.0), ("dominic", 1.0)])
def test_without_a_share_or_a_repertoire_skills_stay_as_drawn(method, share):
    before, after, _ = asked(method, hold=share)
    np.testing.assert_array_equal(after, before)


def test_what_it_is_to_stay_is_said_by_the_features():
    plan, _ = build(points.config("ursa", skill={"hold": 1.0}))
    skills = plan.law.skills(plan.law.begin(0), jax.random.key(0), SHAPE[0] * SHAPE[1])
    doubled = replace(skills, phi=jax.tree_util.Partial(lambda posture: 2 * posture))
    after = np.asarray(plan.law.held(doubled, batch(), jax.random.key(1)).z)
    assert (np.abs(after - 2 * np.asarray(HERE)) < 1e-6).all(axis=1).mean() == 0.5
