"""DOMiNiC: the force between skills, the bound on their reward and what it does, by hand."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa.agent.method import Skills
from ursa.baselines.dominic import (
    diversity,
    dominic,
    draw,
    feel,
    force,
    memory,
    nearest,
    share,
    slack,
)
from ursa.config import DominicConfig
from ursa.presets import tiny
from ursa.world.imagine import Dream
from worlds import newborn, same, skills, slider, updating, view, whole

CONFIG = DominicConfig(skills=3)
BEHAVIOR = tiny().behavior
PSI = jnp.array([[0.1, 0.0], [0.0, 0.0], [0.5, 0.0]])  # skill 0 is between the others


def handed():
    """One dream for each skill."""
    return Skills(
        z=jnp.eye(3),
        delta=jnp.zeros(()),
        whiten=jnp.eye(0),
        phi=jax.tree_util.Partial(whole),
    )


def remembered(**changes):
    return replace(memory(CONFIG, 2, 0), psi=PSI, **changes)


# ---- the force ---------------------------------------------------------------------------------


def test_skill_0_has_a_neighbour_and_is_nobodys():
    length, other = nearest(PSI)
    np.testing.assert_allclose(length, [0.1, 0.5, 0.5])
    np.testing.assert_array_equal(other, [1, 2, 1])


def test_skills_push_each_other_away_within_l0_and_pull_beyond():
    """1 - l^3: 0.875, 0.875 and -7, which we bound to -1."""
    np.testing.assert_allclose(force(CONFIG, jnp.array([0.5, 0.5, 2.0])), [0.875, 0.875, -1.0])
    np.testing.assert_allclose(force(CONFIG, jnp.array([0.0, 1.0, 1.1])), [1, 0, -0.331], atol=1e-6)
    far = replace(CONFIG, distance=2.0)
    np.testing.assert_allclose(force(far, jnp.array([1.0, 2.0, 4.0])), [0.875, 0, -1])


@pytest.mark.parametrize("length", [0.2, 0.5, 1.0, 1.2])
def test_the_force_is_the_slope_of_the_van_der_waals_energy(length):
    slope = jax.grad(lambda x: 0.5 * x**2 - 0.2 * x**5)(length)
    np.testing.assert_allclose(force(CONFIG, jnp.array([length])) * length, [slope], atol=1e-6)


@pytest.mark.parametrize(
    ("length", "wanted"),
    [
        (0.5, 0.11875),  # 0.5 l^2 - 0.2 l^5
        (2 ** (1 / 3), 0.158740),  # where the force reaches its bound: 0.1 * 2^(2/3)
        (2.0, -1.047559),  # from there on -1: less (4 - 2^(2/3)) / 2. Without a bound: -4.4
    ],
)
def test_the_energy_of_the_force_is_that_of_van_der_waals_up_to_the_bound(length, wanted):
    x = (np.arange(20_000) + 0.5) * length / 20_000  # the midpoint rule
    c = np.asarray(force(CONFIG, jnp.asarray(x, jnp.float32)))
    np.testing.assert_allclose((c * x).mean() * length, wanted, rtol=1e-5)


def dream(phi):
    """One step in which every skill arrives at the same features."""
    return Dream(
        std=jnp.ones((1, 3, 1)),
        flat=jnp.zeros((2, 3, 4)),
        reward=jnp.array([[1.0, 2.0, 3.0]]),
        cost=jnp.array([[-1.0, 0.0, 1.0]]),
        posture=jnp.broadcast_to(jnp.array(phi), (1, 3, 2)),
    )


def test_what_is_averaged_is_reward_cost_and_features():
    felt = feel(dream((0.3, 0.4)), handed(), remembered())
    np.testing.assert_allclose(felt["value"][0, :, 0], [1, 2, 3])
    np.testing.assert_allclose(felt["cost"][0, :, 0], [-1, 0, 1])
    np.testing.assert_allclose(felt["psi"][0], np.broadcast_to([0.3, 0.4], (3, 2)))


def pushes(config, known, psi, *, of=0):
    """The gradient of one dream's diversity with respect to its (1-gamma)psi."""

    def value(psi):
        return diversity(config, seen(np.zeros(3), psi=psi), known)[-1, of]

    return jax.grad(value)(jnp.asarray(psi, jnp.float32))


def test_at_its_average_a_skill_is_pushed_from_its_neighbour_by_the_force():
    """1 - 0.5^3, along x; skill 0 is not in the way."""
    for skill, wanted in [(1, -0.875), (2, 0.875)]:
        found = pushes(CONFIG, remembered(), PSI, of=skill)
        np.testing.assert_allclose(found[skill], [wanted, 0.0], atol=1e-6)
        np.testing.assert_array_equal(np.delete(found, skill, axis=0), np.zeros((2, 2)))


def test_at_its_average_the_push_is_the_original_s_reward_per_unit_of_length():
    """The original pays c phi . (Psi_i - Psi_j) with c = 1 - l^3 for features phi (its code a
    quarter of that: half a repulsion, averaged over two features). At these three averages that is
    -0.13125, 0.13125 and, with c = -7, -5.6; our c ends at -1."""
    config = DominicConfig(skills=4)
    psi = jnp.array([[9.0, 9.0], [0.0, 0.0], [0.5, 0.0], [0.0, 2.0]])  # skill 0 is far away
    known = replace(memory(config, 2, 0), psi=psi)
    length, other = nearest(psi)
    np.testing.assert_allclose(length[1:], [0.5, 0.5, 2.0])
    np.testing.assert_array_equal(other[1:], [2, 1, 1])
    np.testing.assert_allclose(1 - length[1:] ** 3, [0.875, 0.875, -7])

    def total(now):
        given = replace(handed(), z=jnp.eye(4))
        returns = {"psi": now[None], "value": jnp.zeros((1, 4, 1)), "cost": jnp.zeros((1, 4, 1))}
        return diversity(
            config, view(returns, {"value": np.zeros((1, 4, 1))}, {}, given, {}, 0.5), known
        ).sum()

    push = jax.grad(total)(psi)[1:]
    np.testing.assert_allclose(push, [[-0.875, 0], [0.875, 0], [0, -1]], atol=1e-6)
    paid = (push @ jnp.array([0.3, 0.4])) * length[1:]
    np.testing.assert_allclose(paid, [-0.13125, 0.13125, -0.8], rtol=1e-5)


def test_psi_that_has_arrived_is_pushed_no_further_although_the_average_lags():
    """Skill 2 has its average at 0.5 from skill 1's: at l0 = 1 the push ends, beyond it turns."""
    for x, wanted in [(-0.2, 1.0), (0.5, 0.875), (1.0, 0.0), (1.2, 1 - 1.2**3), (9.0, -1.0)]:
        found = pushes(CONFIG, remembered(), [(0.1, 0.0), (0.0, 0.0), (x, 5.0)], of=2)
        np.testing.assert_allclose(found[2], [wanted, 0.0], atol=1e-6)


def test_skills_at_the_same_place_are_not_pushed_at_all():
    known = replace(remembered(), psi=jnp.zeros((3, 2)))
    np.testing.assert_array_equal(pushes(CONFIG, known, PSI), np.zeros((3, 2)))


# ---- the bound on reward -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ((10.0, 9.5, 7.0), (1.0, 0.5, -2.0)),
        ((-10.0, -10.5, -12.0), (1.0, 0.5, -1.0)),  # the bound is -11: nine tenths would be -9
        ((0.0, 1.0, -1.0), (0.0, 1.0, -1.0)),
    ],
)
def test_slack_above_nine_tenths_of_the_best_also_when_that_is_negative(value, wanted):
    np.testing.assert_allclose(slack(CONFIG, jnp.array(value)), wanted, rtol=1e-5)


def seen(value, psi=PSI, z=None, progress=0.5):
    """A dream of two steps; what counts for the averages is the last."""
    after = {
        "value": jnp.stack([jnp.full(3, 99.0), value])[..., None],
        "psi": jnp.stack([jnp.full((3, 2), 99.0), psi]),
        "cost": np.full((2, 3, 1), -0.5),
    }
    slow = {"value": np.zeros((2, 3, 1))}
    given = handed() if z is None else replace(handed(), z=jnp.asarray(z, jnp.float32))
    return view(after, slow, {"safe": 0.0}, given, {"value": 2.0}, progress)


def after(value, config=CONFIG, mu=(0.0, 0.0, 0.0), **given):
    """The method's memory one update later, when averages forget at once."""
    config = replace(config, average_rate=1.0)
    method = dominic(BEHAVIOR, config, 2, 0.0)
    return method.remember(remembered(mu=jnp.array(mu)), seen(np.array(value), **given))


@pytest.mark.parametrize("value", [(10.0, 9.5, 7.0), (-10.0, -10.5, -12.0)])
def test_a_skill_above_its_bound_turns_to_diversity_and_one_below_to_reward(value):
    mu = after(value).mu
    np.testing.assert_allclose(mu[1:], [-5e-3, 5e-3], rtol=1e-3)  # Adam's first step is its rate


def test_the_multiplier_stays_between_its_bounds():
    np.testing.assert_allclose(after((10.0, 9.5, 7.0), mu=(0.0, -3.0, 3.0)).mu[1:], [-3, 3])


def test_averages_move_one_per_cent_and_only_those_of_skills_that_were_dreamt():
    method = dominic(BEHAVIOR, CONFIG, 2, 0.0)
    z = [[0, 1, 0], [0, 1, 0], [0, 0, 1]]
    value = np.array([4.0, 6.0, 7.0])
    before = remembered()
    found = method.remember(before, seen(value, psi=jnp.ones((3, 2)), z=z))
    np.testing.assert_allclose(found.psi[0], PSI[0])
    np.testing.assert_allclose(found.psi[2], [0.99 * 0.5 + 0.01, 0.01], rtol=1e-5)
    np.testing.assert_allclose(found.value[0], 0)
    np.testing.assert_allclose(found.value[1] / found.value[2], 5 / 7, rtol=1e-5)  # mean of 4, 6


def test_averages_begin_slightly_apart_and_skills_begin_with_reward():
    born = memory(DominicConfig(), 13, 0)
    length, _ = nearest(born.psi)
    assert (length > 0).all()
    assert length.max() < 0.1
    np.testing.assert_array_equal(born.mu, np.full(8, 3.0))


# ---- what the actor wants ----------------------------------------------------------------------


def test_skill_0_and_burn_in_follow_reward_alone():
    mu = jnp.array([-3.0, 0.0, np.log(3)])
    np.testing.assert_allclose(share(CONFIG, mu, jnp.asarray(0.5)), [1, 0.5, 0.75], rtol=1e-6)
    np.testing.assert_allclose(share(CONFIG, mu, jnp.asarray(0.09)), [1, 1, 1])
    np.testing.assert_allclose(share(CONFIG, mu, jnp.asarray(0.1)), [1, 0.5, 0.75], rtol=1e-6)


def test_during_burn_in_averages_move_and_multipliers_wait():
    found = after((10.0, 9.5, 7.0), progress=0.05)
    np.testing.assert_array_equal(found.mu, np.zeros(3))
    assert same(found.moments, memory(CONFIG, 2, 0).moments)
    assert (found.value != 0).all()


def test_each_skill_mixes_reward_and_diversity_by_its_own_weight():
    """Advantages 5, 4, 3 of reward (spread 2); half a unit from the neighbour: 0.875 * 0.5."""
    method = dominic(BEHAVIOR, CONFIG, 2, 0.0)
    known = remembered(mu=jnp.array([0.0, 0.0, np.log(3)]))
    found = method.judge(seen(np.array([10.0, 8.0, 6.0])), known)
    wanted = [5.0, 0.5 * 4 + 0.5 * 0.4375, 0.75 * 3 + 0.25 * 0.4375]
    np.testing.assert_allclose(found.objective[-1], wanted, rtol=1e-5)
    assert not np.asarray(found.violated["safe"]).any()
    early = method.judge(seen(np.array([10.0, 8.0, 6.0]), progress=0.05), known)
    np.testing.assert_allclose(early.objective[-1], [5, 4, 3], rtol=1e-5)


def test_an_unsafe_skill_wants_safety_alone():
    method = dominic(BEHAVIOR, CONFIG, 2, 0.0)
    given = seen(np.array([10.0, 8.0, 6.0]))
    given = replace(given, levels={"safe": jnp.ones((2, 3))})
    np.testing.assert_allclose(method.judge(given, remembered()).objective, np.full((2, 3), 0.5))


def test_skills_are_one_hot_and_drawn_evenly():
    z = np.asarray(draw(8, jax.random.key(0), 4000))
    np.testing.assert_array_equal(z.sum(-1), np.ones(4000))
    np.testing.assert_allclose(z.mean(0), np.full(8, 1 / 8), atol=0.025)


def test_an_update_moves_the_method_s_own_memory():
    step, state = updating("dominic"), newborn("dominic")
    for i in range(15):  # burn-in is a tenth of a hundred updates
        state, metrics = step(state, slider(seed=i), skills("dominic", seed=i), jax.random.key(i))
        assert metrics["learn/dropped"] == 0
    assert (abs(state.memory.psi - newborn("dominic").memory.psi).max(-1) > 0).all()
    assert (state.memory.mu[1:] != 3).any()
    assert state.updates == 15
