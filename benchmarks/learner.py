"""How long one update takes: `python -m benchmarks.learner --preset paper --seeds 1 5 --loop`.

The whole update on made-up data of the A1's sizes: replay sampling, world model, dream, critics,
multipliers, actor, optimizers, slow copies; several seeds in one vmapped program. With `--loop`
also the same within a training on the A1: acting, physics, insertions, refresh and VAE included;
`--robots 1` has one robot a seed there, which acts on the host `--every` times between two updates.
"""

import argparse
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import report
from ursa import replay
from ursa.agent.learn import learn
from ursa.agent.method import Skills
from ursa.agent.state import Settings, begin
from ursa.agent.ursa import ursa
from ursa.config import Config
from ursa.presets import PRESETS, preset
from ursa.run.plan import backend
from ursa.run.programs import over_seeds
from ursa.run.trainer import Trainer
from ursa.types import Row, Sizes

SIZES = Sizes(observation=34, action=12, posture=13)  # the A1 on the forward task
CHAIN = 4  # updates per dispatch
REPEATS = 7
WARM = 20  # columns with updates before the clock starts


def measure(config: Config, seeds: int) -> float:
    """One JSON line each for time, compilation and memory; the time in ms."""
    device, precision, unroll = backend()
    settings = Settings(
        ursa(config.behavior, config.skill.skill_size, 0.0),
        SIZES,
        config.world,
        config.behavior,
        config.optimizer,
        1000,
        precision,
        config.train.unroll or unroll,
    )
    one = begin(settings, 0)
    state = jax.tree.map(lambda leaf: jnp.stack([leaf] * seeds), one)
    ring = jax.tree.map(lambda leaf: jnp.stack([leaf] * seeds), lived(config))
    program = jax.jit(partial(chain, settings, config), donate_argnums=0)
    keys = jax.random.split(jax.random.key(0), seeds)
    started = time.perf_counter()
    compiled = program.lower(state, ring, keys).compile()
    case = f"{config.train.batch}x{config.train.length} {device} {precision}, {seeds} seeds"
    report.emit(f"compile {case}", time.perf_counter() - started, "s")
    state, _ = compiled(state, ring, keys)
    jax.block_until_ready(state)
    spent = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        state, _ = compiled(state, ring, keys)
        jax.block_until_ready(state)
        spent.append(1e3 * (time.perf_counter() - started) / CHAIN)
    taken = float(np.median(spent))
    report.emit(f"update {case}", taken, "ms")
    memory = compiled.memory_analysis()
    if memory is not None:
        report.emit(f"memory {case}", memory.temp_size_in_bytes / 2**30, "GiB")
    return taken


def whole(config: Config, seeds: int, bare: float) -> None:
    """Time of a training per update, over at least as many columns as lie between two refreshes."""
    least = config.train.length * config.train.robots
    config = replace(config, seeds=seeds, train=replace(config.train, prefill=least))
    trainer = Trainer(config)
    stride = trainer.plan.stride
    columns = -(-config.skill.refresh_period // stride) * stride
    while trainer.column < trainer.plan.prefill + max(WARM, 2 * stride):
        trainer.turn()
    jax.block_until_ready(trainer.learner)
    begun, started = trainer.updates, time.perf_counter()
    for _ in range(columns):
        trainer.turn()
    jax.block_until_ready(trainer.learner)
    spent, updates = time.perf_counter() - started, trainer.updates - begun
    case = (
        f"{seeds} seeds of {config.train.robots} robots, "
        f"one update per {config.train.steps_per_update} steps"
    )
    taken = 1e3 * spent / updates
    report.emit(f"loop {case}", taken, "ms", reference="bare update", ratio=taken / bare)
    steps = columns * config.train.robots
    report.emit(f"control steps of a seed, {case}", steps / spent, "per s")


def chain(settings: Settings, config: Config, state, ring, keys):
    """CHAIN updates of every seed."""
    train = config.train
    count = train.batch * train.length

    def one(state, ring, key):
        sample, skill, dream = jax.random.split(key, 3)
        batch = replay.sample(ring, sample, train.batch, train.length)
        size = settings.method.skill_size
        skills = Skills(
            z=jax.random.normal(skill, (count, size)),
            delta=jnp.asarray(0.1),
            whiten=jnp.eye(size),
            phi=jax.tree_util.Partial(first_columns, size),
        )
        return learn(settings, state, batch, skills, dream)

    def step(state, at):
        every = over_seeds(len(keys), one, (0, 0, 0))
        return every(state, ring, jax.vmap(jax.random.fold_in, (0, None))(keys, at))

    return jax.lax.scan(step, state, jnp.arange(CHAIN))


def first_columns(size: int, posture):
    """A feature map that costs nothing."""
    return posture[..., :size]


def lived(config: Config) -> replay.Ring:
    """A small replay of random rows."""
    rng = np.random.default_rng(0)
    robots, columns = config.train.robots, 4 * config.train.length
    ring = replay.empty(robots, columns, SIZES)

    def noise(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    for column in range(columns):
        row = Row(
            observation=noise(robots, SIZES.observation),
            action=np.clip(noise(robots, SIZES.action), -1, 1),
            reward=noise(robots),
            cost=noise(robots),
            posture=noise(robots, SIZES.posture),
            safe=np.ones(robots, bool),
            first=np.full(robots, column == 0),
        )
        ring = replay.add(ring, row)
    return ring


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="laptop", choices=sorted(PRESETS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--unroll", type=int, default=0, help="of the scans; 0: the device's own")
    parser.add_argument("--loop", action="store_true", help="also a training on the A1")
    parser.add_argument("--robots", type=int, help="of each seed in it; the preset's own number")
    parser.add_argument("--every", type=int, help="control steps per update; the preset's own")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same lines to FILE")
    options = parser.parse_args()
    config = preset(options.preset)
    train = replace(
        config.train,
        unroll=options.unroll,
        robots=options.robots or config.train.robots,
        steps_per_update=options.every or config.train.steps_per_update,
    )
    config = replace(config, train=train)
    with report.kept_in(options.json):
        for seeds in options.seeds:
            bare = measure(config, seeds)
            if options.loop:
                whole(config, seeds, bare)


if __name__ == "__main__":
    main()
