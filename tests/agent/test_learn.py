"""One update: repeatable, dropped whole when it is not finite, the same alone and beside others."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.agent.learn import (
    actor_loss,
    along,
    improve_actor,
    improve_critics,
    improve_multipliers,
    improve_world,
    learn,
)
from ursa.nn.statistics import follow
from ursa.world.rssm import Latent
from worlds import (
    STARTS,
    follower,
    grown,
    habit,
    newborn,
    quick,
    same,
    settings,
    skills,
    slider,
    stacked,
    updating,
    updating_seeds,
)

KEY = jax.random.key(7)


def poisoned(batch, field="reward"):
    """One number that a broken sensor might have sent."""
    value = getattr(batch, field)
    return replace(batch, **{field: value.at[(1, 3, *[0] * (value.ndim - 2))].set(jnp.nan)})


def starts():
    latent = newborn().world.rssm.initial(STARTS)
    noise = np.random.default_rng(0).normal(0, 0.5, latent.deter.shape)
    return Latent(jnp.asarray(noise, jnp.float32), latent.stoch)


# ---- one update --------------------------------------------------------------------------------


def test_an_update_is_a_function_of_its_key():
    one, again, other = (
        updating()(grown(), slider(), skills(), key) for key in (KEY, KEY, jax.random.key(8))
    )
    assert same(one, again)
    assert not same(one[0].world, other[0].world)
    assert not same(one[0].actor, other[0].actor)


def test_an_update_moves_every_network_and_keeps_every_shape():
    before = grown()
    after, metrics = updating()(before, slider(), skills(), KEY)
    for name in ("world", "actor", "critics", "slow", "multipliers", "optimizers"):
        assert not same(getattr(before, name), getattr(after, name))
    kinds = [
        [(x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(it)] for it in (before, after)
    ]
    assert kinds[0] == kinds[1]  # or every call would compile anew
    assert after.updates == before.updates + 1
    assert after.dropped == 0
    assert metrics["learn/dropped"] == 0
    assert all(np.isfinite(value) for value in metrics.values())


def test_the_slow_critics_follow_the_new_ones():
    before = grown()
    after, _ = updating()(before, slider(), skills(), KEY)
    wanted = follow(before.slow, after.critics, settings().behavior.slow_rate)
    for a, b in zip(*map(jax.tree.leaves, (after.slow, wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_controllers_start_to_act_at_once():
    """A newborn is freer than wanted (deviation near 0.55) and diverges less than wanted."""
    after, metrics = updating()(newborn(), slider(), skills(), KEY)
    assert metrics["actor/entropy"] > 0.55
    np.testing.assert_allclose(after.entropy_weight, np.full(2, 1 / 1.1), rtol=1e-6)
    np.testing.assert_allclose(after.kl_scale, 1 / 1.1, rtol=1e-6)
    np.testing.assert_allclose(after.scales["value"], metrics["scale/value"])
    assert after.scales["value"] > 0


def test_the_world_model_does_not_learn_from_dreams():
    one, two = (updating()(grown(), slider(), skills(seed=s), KEY)[0] for s in (0, 1))
    assert same(one.world, two.world)
    assert same(one.optimizers.world, two.optimizers.world)
    assert not same(one.actor, two.actor)


def test_step_t_of_a_dream_counts_gamma_to_the_t():
    found = along(settings())
    np.testing.assert_allclose(found, [1, 0.995, 0.995**2, 0.995**3], rtol=1e-6)


# ---- who learns from what ----------------------------------------------------------------------


def untouched(before, after):
    """Parts of the state that a function hands on as they came."""
    names = ("world", "actor", "critics", "slow", "multipliers")
    parts = {name: (getattr(before, name), getattr(after, name)) for name in names}
    parts |= {
        f"moments of {name}": (getattr(before.optimizers, name), getattr(after.optimizers, name))
        for name in ("world", "actor", "critics", "multipliers")
    }
    leaves = {name: map(jax.tree.leaves, pair) for name, pair in parts.items()}
    return {n for n, pair in leaves.items() if all(a is b for a, b in zip(*pair, strict=True))}


def test_each_loss_teaches_its_own_network_alone():
    everyone = {"world", "actor", "critics", "multipliers"}
    found = {}

    def trace(state, batch, skills, key):
        new, latents, _ = improve_world(settings(), state, batch, key)
        found["world"] = untouched(state, new)
        new, lived, _ = improve_actor(settings(), state, latents, skills, key)
        found["actor"] = untouched(state, new)
        new, _ = improve_critics(settings(), state, lived, skills)
        found["critics"] = untouched(state, new)
        new, _ = improve_multipliers(settings(), state, lived, skills)
        found["multipliers"] = untouched(state, new)

    jax.eval_shape(trace, newborn(), slider(), skills(), KEY)
    for mine, kept in found.items():
        others = everyone - {mine}
        assert kept == others | {f"moments of {name}" for name in others} | {"slow"}


@quick
def climbed(state, starts, skills, entropy_weight):
    """The actor's loss, what it dreamt, and the gradient."""
    state = eqx.tree_at(lambda s: s.entropy_weight, state, jnp.full(2, entropy_weight))
    lose = jax.value_and_grad(partial(actor_loss, settings(), state), has_aux=True)
    (loss, lived), grads = lose(state.actor, starts, skills, KEY)
    return loss, lived, grads


def deaf(state):
    """A world in which actions change nothing."""
    return eqx.tree_at(lambda s: s.world.rssm.action_in, state, 0 * state.world.rssm.action_in)


def test_the_actor_learns_through_the_dream():
    loss, lived, grads = climbed(grown(), starts(), skills(), 0.0)
    for part in (grads.flat_in, grads.skill_in, grads.mean.weight, grads.std.weight):
        assert np.isfinite(part).all()
        assert abs(part).max() > 1e-6
    weight = np.asarray(along(settings()))[:, None]
    np.testing.assert_allclose(loss, -(weight * lived.verdict.objective).mean(), rtol=1e-5)


def test_it_learns_nothing_in_a_world_that_does_not_heed_it():
    """The dream is the only path: with actions cut off from the dynamics, no gradient is left."""
    _, _, grads = climbed(deaf(grown()), starts(), skills(), 0.0)
    assert not any(leaf.any() for leaf in jax.tree.leaves(grads))


def test_entropy_widens_the_policy_and_does_not_move_its_mean():
    bare, _, _ = climbed(deaf(grown()), starts(), skills(), 0.0)
    loss, lived, grads = climbed(deaf(grown()), starts(), skills(), 1.0)
    assert not np.asarray(grads.mean.weight).any()
    assert (np.asarray(grads.std.bias) < 0).all()  # the optimizer steps against it
    gain = lived.entropy.sum() * along(settings()).mean()  # nearly: discounts vary by 1.5 %
    np.testing.assert_allclose(bare - loss, gain, rtol=0.02)


def test_what_a_dream_leaves_for_the_critics_has_no_gradient():
    def left(actor):
        _, lived = actor_loss(settings(), newborn(), actor, starts(), skills(), KEY)
        floats = [x for x in jax.tree.leaves(lived) if jnp.issubdtype(x.dtype, jnp.floating)]
        return sum(x.sum() for x in floats)

    grads = quick(jax.grad(left))(newborn().actor)
    assert not any(leaf.any() for leaf in jax.tree.leaves(grads))


# ---- updates that are not finite ---------------------------------------------------------------


def with_one_more_drop(state):
    return eqx.tree_at(lambda s: s.dropped, state, state.dropped + 1)


@pytest.mark.parametrize("field", ["reward", "observation", "action", "cost", "posture"])
def test_an_update_with_one_bad_number_leaves_no_trace(field):
    before = grown()
    after, metrics = updating()(before, poisoned(slider(), field), skills(), KEY)
    assert same(after, with_one_more_drop(before))
    assert metrics["learn/dropped"] == 1


def test_an_endless_skill_is_dropped_too():
    bad = skills()
    bad = replace(bad, z=bad.z.at[3, 1].set(jnp.inf))
    after, _ = updating()(grown(), slider(), bad, KEY)
    assert same(after, with_one_more_drop(grown()))


def test_an_update_whose_losses_look_fine_is_dropped_when_what_it_leaves_does_not():
    """A moment that overflowed shows in no loss of its update, only in the network after it."""
    before = eqx.tree_at(
        lambda s: s.optimizers.multipliers[1].mu.bias,
        grown(),
        jnp.full((2, 1), jnp.inf, jnp.float32),
    )
    after, metrics = updating()(before, slider(), skills(), KEY)
    assert all(np.isfinite(value) for value in metrics.values())
    assert metrics["learn/dropped"] == 1
    assert same(after, with_one_more_drop(before))


def test_a_drop_does_not_change_what_is_learnt_next():
    dropped, _ = updating()(grown(), poisoned(slider()), skills(), KEY)
    after, _ = updating()(dropped, slider(), skills(), KEY)
    wanted, _ = updating()(grown(), slider(), skills(), KEY)
    assert same(after, with_one_more_drop(wanted))


# ---- seeds side by side ------------------------------------------------------------------------


def test_only_the_poisoned_seed_is_dropped():
    pair, keys = stacked(newborn(), newborn(seed=1)), jax.random.split(KEY, 2)
    batches = slider(seed=0), slider(seed=1)
    both = stacked(skills(seed=0), skills(seed=1))
    clean, _ = updating_seeds()(pair, stacked(*batches), both, keys)
    batch = stacked(batches[0], poisoned(batches[1]))
    found, metrics = updating_seeds()(pair, batch, both, keys)
    first, second = (jax.tree.map(lambda x, i=i: x[i], found) for i in (0, 1))
    assert same(first, jax.tree.map(lambda x: x[0], clean))
    assert same(second, with_one_more_drop(newborn(seed=1)))
    np.testing.assert_array_equal(metrics["learn/dropped"], [0, 1])


def test_two_seeds_side_by_side_learn_what_each_learns_alone():
    alone = [newborn(), newborn(seed=1)]
    pair = stacked(*alone)
    for i in range(20):
        batches = [slider(seed=100 * s + i) for s in (0, 1)]
        drawn = [skills(seed=100 * s + i) for s in (0, 1)]
        keys = jax.random.split(jax.random.key(i), 2)
        steps = zip(alone, batches, drawn, keys, strict=True)
        alone = [updating()(*step)[0] for step in steps]
        pair, _ = updating_seeds()(pair, stacked(*batches), stacked(*drawn), keys)
    assert (pair.updates == 20).all()
    wanted = jax.tree.leaves_with_path(stacked(*alone))
    for (path, a), b in zip(wanted, jax.tree.leaves(pair), strict=True):
        name = jax.tree_util.keystr(path)
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5, err_msg=name)


# ---- it learns ---------------------------------------------------------------------------------


def test_an_actor_that_only_its_skill_matters_to_goes_where_it_is_told():
    """The first action pushes the first feature, the second the second."""
    state, _ = follower()
    assert (state.updates, state.dropped) == (250, 0)
    right, left = habit(state, 0.6, 0.0), habit(state, -0.6, 0.0)
    assert right[0] > 0.2 > -0.2 > left[0]
    up, down = habit(state, 0.0, 0.6), habit(state, 0.0, -0.6)
    assert up[1] > down[1] + 0.4


# ---- shapes and digits -------------------------------------------------------------------------


def kinds(state):
    return [(x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(state)]


@pytest.mark.parametrize("name", ["ursa", "daydreamer", "dominic"])
def test_the_second_update_needs_no_new_program(name):
    """What comes out of an update has the types that went in, weak ones included."""
    given = slider(), skills(name), KEY
    after, _ = jax.eval_shape(partial(learn, settings(name)), newborn(name), *given)
    assert kinds(after) == kinds(newborn(name))


def test_in_half_the_digits_everything_learnt_is_still_float32():
    half = replace(settings(), precision="bfloat16")
    state, metrics = jax.eval_shape(partial(learn, half), newborn(), slider(), skills(), KEY)
    assert kinds(state) == kinds(newborn())
    assert {value.dtype for value in metrics.values()} == {jnp.dtype("float32")}
