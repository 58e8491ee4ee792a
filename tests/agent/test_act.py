"""Acting: bounded, repeatable, and with the same memory as the model has when it learns."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.agent import act
from ursa.agent.state import begin, policy
from ursa.world.model import observe
from worlds import LENGTH, SEQUENCES, acting, grown, quick, settings, skills, slider

SAMPLE, CALM = jnp.ones(()), jnp.zeros(())
Z = skills(count=SEQUENCES).z
NEVER = jnp.zeros(SEQUENCES, bool)


@pytest.fixture(scope="module")
def pi():
    return policy(grown())


def some_carry(pi, seed):
    rng = np.random.default_rng(seed)
    carry = act.begin(pi, SEQUENCES)
    deter = jnp.asarray(np.tanh(rng.normal(size=carry.latent.deter.shape)), jnp.float32)
    action = jnp.asarray(rng.uniform(-1, 1, (SEQUENCES, 2)), jnp.float32)
    return eqx.tree_at(lambda it: (it.latent.deter, it.action), carry, (deter, action))


def test_it_begins_at_the_learnt_start_without_an_action(pi):
    carry = act.begin(pi, SEQUENCES)
    np.testing.assert_array_equal(carry.action, np.zeros((SEQUENCES, 2)))
    start = pi.rssm.initial(SEQUENCES)
    np.testing.assert_array_equal(carry.latent.flat(), start.flat())


def test_without_noise_it_does_what_samples_do_on_average_where_it_now_believes_to_be(pi):
    seen, key = slider().observation[:, 0], jax.random.key(0)
    carry, action = acting(pi, some_carry(pi, 0), seen, NEVER, Z, CALM, key)
    mean, std = pi.actor(carry.latent.flat(), pi.actor.skill_part(Z))
    drawn = np.random.default_rng(0).normal(mean, std, (200_000, *mean.shape))
    np.testing.assert_allclose(action, np.clip(drawn, -1, 1).mean(0), atol=0.01)
    np.testing.assert_array_equal(carry.action, action)
    _, again = acting(pi, some_carry(pi, 0), seen, NEVER, Z, CALM, key)
    np.testing.assert_array_equal(action, again)


def test_exploring_spreads_around_the_mean_by_the_policy_s_deviation(pi):
    seen, key, carry = slider().observation[:, 0], jax.random.key(0), some_carry(pi, 0)
    after, calm = acting(pi, carry, seen, NEVER, Z, CALM, key)
    mean, std = pi.actor(after.latent.flat(), pi.actor.skill_part(Z))
    moved, action = acting(pi, carry, seen, NEVER, Z, SAMPLE, key)
    np.testing.assert_array_equal(moved.latent.flat(), after.latent.flat())
    noise = jax.random.normal(jax.random.split(key)[1], mean.shape)
    np.testing.assert_allclose(action, np.clip(mean + std * noise, -1, 1), rtol=1e-4, atol=1e-5)
    assert (action != calm).any()


def test_actions_stay_in_bounds_and_meet_them(pi):
    seen, carry = slider().observation[:, 0], some_carry(pi, 0)
    drawn = np.array(
        [acting(pi, carry, seen, NEVER, Z, SAMPLE, jax.random.key(k))[1] for k in range(50)]
    )
    assert drawn.min() == -1
    assert drawn.max() == 1


def test_a_start_forgets_what_the_robot_remembered(pi):
    seen, key = slider().observation[:, 0], jax.random.key(0)
    first = jnp.array([True, False, True, False])
    one, two = (acting(pi, some_carry(pi, s), seen, first, Z, CALM, key) for s in (1, 2))
    for a, b in zip(*map(jax.tree.leaves, (one, two)), strict=True):
        np.testing.assert_array_equal(a[::2], b[::2])
    assert (one[0].latent.deter[1::2] != two[0].latent.deter[1::2]).all()


def test_a_robot_remembers_what_the_model_infers_from_its_rows():
    """With posteriors too sure for chance to matter, step by step equals the whole sequence."""
    sure = settings()
    sure = replace(sure, world=replace(sure.world, unimix=0.0))
    state = begin(sure, 0)
    world = eqx.tree_at(
        lambda it: it.rssm.post_out.weight, state.world, 1e3 * state.world.rssm.post_out.weight
    )
    pi = policy(eqx.tree_at(lambda it: it.world, state, world))
    batch = slider()
    carry, latents = act.begin(pi, SEQUENCES), []
    for t in range(LENGTH):
        # What was done before row t is what its action says: the robot carried it out.
        carry = eqx.tree_at(lambda it: it.action, carry, batch.action[:, t])
        carry, _ = acting(
            pi, carry, batch.observation[:, t], batch.first[:, t], Z, SAMPLE, jax.random.key(t)
        )
        latents.append(carry.latent.flat())
    whole, _ = quick(lambda it: observe(world, it, jax.random.key(99), jnp.float32, 1))(batch)
    np.testing.assert_allclose(np.stack(latents, 1), whole.flat(), atol=1e-4)
