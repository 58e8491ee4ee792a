"""What an insertion into the repertoire costs, against recomputing every neighbour for each row;
for five seeds side by side; and what the replay of a million steps of the A1 takes.

    python -m benchmarks.repertoire [--json FILE]

The reference is our own `neighbours`, the fast blockwise one that `refresh` uses, once per row.
"""

from collections.abc import Callable
from functools import partial

import jax
import numpy as np

from benchmarks.report import emit, run, seconds
from ursa import replay
from ursa.robot.a1 import A1
from ursa.robot.observation import Layout
from ursa.run.plan import insertion
from ursa.skill import kde
from ursa.skill.distance import neighbours
from ursa.skill.repertoire import Repertoire, extend, refresh, thin
from ursa.types import Sizes

SIZES = (512, 4096, 32768)
ROWS = 32  # a step of 32 robots
POSTURE, SKILL = 13, 2
SEEDS = 5
MILLION = (32, 31_250)  # robots, columns

extension = partial(extend, insert=insertion())
insert = jax.jit(extension)
insert_beside = jax.jit(jax.vmap(extension))
measure = jax.jit(refresh)
search = jax.jit(neighbours)
draw = jax.jit(kde.draw, static_argnums=2)
entropy = jax.jit(kde.entropy)
thinned = jax.jit(thin, static_argnums=1)


def repertoire(tables: tuple[int, ...] = SIZES) -> None:
    for size in tables:
        costs(size)
    beside(4096)
    sizes = Sizes(observation=Layout(A1).size, action=A1.action_size, posture=POSTURE)
    emit("replay of 1M steps of the A1", replay.nbytes(*MILLION, sizes) / 1e6, "MB")


def beside(size: int) -> None:
    """The insertions of a step for several seeds as one program."""
    rng = np.random.default_rng(0)
    tables = [full(rng, size) for _ in range(SEEDS)]
    table = jax.tree.map(lambda *leaves: jax.numpy.stack(leaves), *tables)
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), *[rows(rng, ROWS) for _ in tables])
    taken = timed(lambda: insert_beside(table, *batch), repeats=21)
    emit(f"insert {ROWS} rows into each of {SEEDS} x {size}", 1e6 * taken, "us")


def costs(size: int) -> None:
    """A step's insertions, a refresh, and what else the learner asks of R."""
    rng = np.random.default_rng(0)
    table = full(rng, size)
    batch = rows(rng, ROWS)
    inserting = timed(lambda: insert(table, *batch), repeats=21)
    searching = timed(lambda: search(table.coordinate, table.filled))
    emit(
        f"insert {ROWS} rows into {size}",
        1e6 * inserting,
        "us",
        reference=f"recompute all neighbours {ROWS} times",
        ratio=ROWS * searching / inserting,
    )
    emit(f"insert one row into {size}", 1e6 * inserting / ROWS, "us")
    emit(f"recompute all neighbours of {size}", 1e3 * searching, "ms")
    emit(f"refresh {size}", 1e3 * timed(lambda: measure(table)), "ms")
    key = jax.random.key(0)
    emit(
        f"draw 1024 skills from {size}",
        1e6 * timed(lambda: draw(table, key, 1024)),
        "us",
    )
    emit(f"entropy of {size}", 1e3 * timed(lambda: entropy(table), repeats=3), "ms")
    if size <= 4096:
        few = size // 8
        emit(
            f"thin {size} to {few}",
            1e3 * timed(lambda: thinned(table, few), repeats=3),
            "ms",
        )


def full(rng: np.random.Generator, size: int) -> Repertoire:
    """A repertoire filled with random rows, measured, and then improved by a few thousand more."""
    repertoire = insert(Repertoire.empty(size, POSTURE, SKILL), *rows(rng, size))
    return measure(insert(measure(repertoire), *rows(rng, 2048)))


def rows(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    postures = rng.normal(size=(count, POSTURE)).astype(np.float32)
    return postures, postures[:, :SKILL], np.ones(count, bool)


def timed(work: Callable[[], object], repeats: int = 7) -> float:
    return seconds(lambda: jax.block_until_ready(work()), repeats)


if __name__ == "__main__":
    run(repertoire)
