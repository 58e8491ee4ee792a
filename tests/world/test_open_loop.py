"""The world model on the A1: what it foresees without looking beats 'nothing changes'."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ursa import replay
from ursa.config import OptimizerConfig, WorldConfig
from ursa.env.arena import arena
from ursa.nn import optimizer
from ursa.types import Batch, Row, Sizes
from ursa.world import model as world_model
from ursa.world.imagine import foresee

CONTEXT, AHEAD = 16, 15
CONFIG = WorldConfig(
    deter=96,
    units=96,
    stoch=12,
    classes=12,
    prior_layers=1,
    encoder_layers=1,
    encoder_units=96,
    head_layers=1,
    head_units=96,
    kl_target=1.0,
)
OPTIMIZER = OptimizerConfig(learning_rate=1e-3)


def lived(seed: int, robots: int, steps: int) -> Batch:
    """A1s that try a new random target every half second: (robots, steps, ...)."""
    place = arena("a1", "forward", robots)
    rng = np.random.default_rng(seed)
    outcome = place.start()
    rows, action = [], np.zeros((robots, 12))
    for step in range(steps):
        if step % 10 == 0:
            action = rng.uniform(-1, 1, (robots, 12))
        outcome = place.step(action)
        rows.append(
            Row(
                observation=outcome.observation,
                action=action.astype(np.float32),
                reward=outcome.reward.astype(np.float32),
                cost=outcome.cost.astype(np.float32),
                posture=outcome.posture.astype(np.float32),
                safe=outcome.safe,
                first=np.full(robots, step == 0),
            )
        )
    columns = {name: np.stack([getattr(row, name) for row in rows], 1) for name in replay.FIELDS}
    return Batch(**columns)


def windows(data: Batch, rng: np.random.Generator, count: int, length: int) -> Batch:
    robots, steps = data.reward.shape
    robot = rng.integers(0, robots, (count, 1))
    at = rng.integers(0, steps - length, (count, 1)) + np.arange(length)
    return Batch(**{name: jnp.asarray(getattr(data, name)[robot, at]) for name in replay.FIELDS})


@pytest.fixture(scope="module")
def trained():
    """A small model after a minute of looking at robots that flail about."""
    data = lived(0, robots=32, steps=400)
    sizes = Sizes(observation=data.observation.shape[-1], action=12, posture=data.posture.shape[-1])
    model = world_model.world(np.random.default_rng(0), CONFIG, sizes)
    state, scale = optimizer.begin(OPTIMIZER, model), jnp.ones(())

    @jax.jit
    def step(model, state, scale, batch, key):
        lose = jax.value_and_grad(world_model.loss, has_aux=True)
        (_, (_, scale, metrics)), grads = lose(
            model, CONFIG, batch, scale, key, jnp.dtype("float32"), 1
        )
        after = optimizer.step(OPTIMIZER, model, grads, state)
        return after.params, after.state, scale, metrics["world/loss"]

    rng, losses = np.random.default_rng(1), []
    for update in range(UPDATES):
        batch = windows(data, rng, 16, 24)
        model, state, scale, loss = step(model, state, scale, batch, jax.random.key(update))
        losses.append(float(loss))
    assert np.mean(losses[-50:]) < 0.5 * np.mean(losses[:50])
    return model


UPDATES = 900


@pytest.mark.parametrize(("ahead", "bound"), [(5, 0.5), (15, 0.7)])
def test_open_loop_error_against_nothing_changes(trained, ahead, bound):
    data = windows(lived(7, robots=32, steps=120), np.random.default_rng(2), 256, CONTEXT + AHEAD)
    before = jax.tree.map(lambda leaf: leaf[:, :CONTEXT], data)
    observe = jax.jit(partial(world_model.observe, dtype=jnp.dtype("float32"), unroll=1))
    latents, _ = observe(trained, before, jax.random.key(0))
    start = jax.tree.map(lambda leaf: leaf[:, -1], latents)
    actions = jnp.moveaxis(data.action[:, CONTEXT:], 1, 0)
    draws = [jax.jit(foresee)(trained, start, actions, jax.random.key(k)) for k in range(4)]
    foreseen = jnp.stack(draws).mean(0)
    truth = jnp.moveaxis(data.observation[:, CONTEXT:], 1, 0)
    still = data.observation[:, CONTEXT - 1][None]
    error = float(jnp.square(foreseen - truth)[ahead - 1].mean())
    nothing = float(jnp.square(still - truth)[ahead - 1].mean())
    assert error <= bound * nothing, f"{error / nothing:.2f} of 'nothing changes'"
