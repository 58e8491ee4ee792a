"""How fast robots are simulated: the whole environment beside nothing but its physics.

    python -m benchmarks.simulator [--json FILE]

The raw reference steps the same MuJoCo model through the same states with the same targets: after
every block of steps its state must equal the environment's to the last bit, or this stops.
Blocks of the two sides take turns, so that whatever else the machine does meets both; a ratio is
the median over pairs of blocks.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from mujoco.batch import Batch

from benchmarks.report import emit, run
from ursa.env.vector import UrsaVectorEnv
from ursa.errors import UserError
from ursa.robot.gait import trot
from ursa.robot.registry import body
from ursa.robot.spec import RobotSpec

ROBOTS, THREADS = 32, 2
STEPS = 10  # control steps in a block: half a second of the robots' time
BLOCKS = 40  # of each side in a comparison
WARM = 4  # more that are not counted


def simulator() -> None:
    for tick in (0.002, 0.005):
        for task in ("forward", "velocity"):
            against_raw(task, tick)
    against_pybullet()
    memory()


def against_raw(
    task: str,
    tick: float,
    blocks: int = BLOCKS,
    robots: int = ROBOTS,
    threads: int = THREADS,
) -> None:
    """Motion, physics, estimator, observation, reward and cost, over physics alone."""
    env = UrsaVectorEnv(robots, "a1", task, tick=tick, threads=threads)
    env.reset()
    engine = env.arena.body.engine
    targets, advance = [], engine.advance

    def remember(target: np.ndarray):
        targets.append(target)
        return advance(target)

    engine.advance = remember
    raw = Batch(engine.model, robots, threads)
    pairs = []
    for actions in acts(env.arena.body.spec, robots, WARM + blocks):
        before = engine.batch.state.copy()
        targets.clear()
        whole = seconds(env.step, actions)
        controls = np.zeros((*np.shape(targets)[:3], engine.model.nu))
        controls[..., : actions.shape[-1]] = targets
        raw.state[:] = before
        bare = seconds(lambda it: raw.rollout(it.shape[1], it, record=()), controls)
        assert np.array_equal(raw.state, engine.batch.state), "the reference did other physics"
        pairs.append((whole, bare))
    env.close()
    name = f"environment step: {robots} a1, {task}, {1000 * tick:g} ms physics, threads: {threads}"
    compare(name, pairs, robots, "raw mujoco.batch stepping")


def against_pybullet(blocks: int = BLOCKS, robots: int = 4, tick: float = 0.002) -> None:
    """The same body over another engine, on one core."""
    ours = body("a1", robots, tick=tick, threads=1)
    try:
        theirs = body("a1", robots, tick=tick, engine="pybullet")
    except UserError as error:
        print(f"no comparison with PyBullet: {error}", file=sys.stderr)
        return
    pairs = [
        (seconds(ours.step, actions), seconds(theirs.step, actions))
        for actions in acts(ours.spec, robots, WARM + blocks)
    ]
    ours.close()
    theirs.close()
    name = f"body step: {robots} a1, {1000 * tick:g} ms physics, threads: 1"
    compare(name, pairs, robots, "PyBullet body")


def memory(few: int = ROBOTS, many: int = ROBOTS + 512) -> None:
    """What one robot more costs, from two processes with few and many."""
    small, large = (footprint_of_a_process_with(count) for count in (few, many))
    emit(f"memory per robot, from {few} to {many} a1", (large - small) / (many - few) / 1e3, "kB")


def acts(spec: RobotSpec, robots: int, blocks: int) -> Iterator[np.ndarray]:
    """Blocks of actions: half the robots trot, half go to a new random target every block."""
    rng = np.random.default_rng(0)
    for block in range(blocks):
        steps = range(STEPS * block, STEPS * (block + 1))
        actions = np.repeat([[trot(spec, step)] for step in steps], robots, axis=1)
        actions[:, robots // 2 :] = rng.uniform(-1, 1, (robots - robots // 2, spec.action_size))
        yield actions


def seconds(act: Callable, arguments: np.ndarray) -> float:
    """How long the calls take, one after the other."""
    start = time.perf_counter()
    for it in arguments:
        act(it)
    return time.perf_counter() - start


def compare(case: str, pairs: list[tuple[float, float]], robots: int, reference: str) -> None:
    """Control steps per second of our side, and how they stand to the other's."""
    counted = pairs[WARM:]
    ours, theirs = (statistics.median(side) for side in zip(*counted, strict=True))
    rate = [robots * STEPS / it for it in (ours, theirs)]
    ratio = statistics.median(their / our for our, their in counted)
    emit(case, rate[0], "control steps/s", f"{reference}: {rate[1]:.4g} control steps/s", ratio)


def footprint_of_a_process_with(robots: int) -> float:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(footprint, robots).result()


def footprint(robots: int) -> float:
    """Bytes in use after a few steps of so many robots in this process."""
    env = UrsaVectorEnv(robots, "a1", tick=0.005, threads=THREADS)
    env.reset()
    for _ in range(5):
        env.step(np.zeros((robots, 12)))
    rows = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024.0 * int(rows["VmRSS"].split()[0])


if __name__ == "__main__":
    run(simulator)
