"""The kernel for a GPU admits rows exactly as the plain rule does; run here by the interpreter."""

from functools import partial

import jax
import numpy as np
import pytest

from ursa.run import plan
from ursa.skill import kernel, rule
from ursa.skill.repertoire import Repertoire, refresh

interpreted = partial(kernel.insert, interpret=True)
plain = jax.jit(rule.place)
special = jax.jit(partial(rule.place, insert=interpreted))
measured = jax.jit(refresh)


def lived(rng: np.random.Generator, count: int, size: int, lattice: bool) -> np.ndarray:
    """Rows; those on a lattice are full of ties and repetitions."""
    if lattice:
        return rng.integers(-2, 3, (count, size)).astype(np.float32)
    return rng.standard_normal((count, size)).astype(np.float32)


def same(one: Repertoire, other: Repertoire) -> None:
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(("size", "skill_size", "rows"), [(32, 2, 8), (20, 1, 5), (24, 3, 8)])
def test_kernel_and_rule_give_the_same_slots_and_the_same_table(
    size: int, skill_size: int, rows: int
) -> None:
    rng = np.random.default_rng(size)
    one = other = Repertoire.empty(size, skill_size, skill_size)
    refused = 0
    for turn in range(16):
        postures = lived(rng, rows, skill_size, lattice=turn % 3 == 0)
        commit = rng.random(rows) < 0.8
        one, slots = plain(one, postures, postures, commit)
        other, others = special(other, postures, postures, commit)
        np.testing.assert_array_equal(slots, others)
        same(one, other)
        refused += int((np.asarray(slots) == rule.NOWHERE).sum())
        if turn % 4 == 3:
            one, other = measured(one), measured(other)
    assert int(one.filled) == size
    assert refused > 16  # it was full, and some were not let in


def test_seeds_side_by_side_are_inserted_as_if_each_were_alone() -> None:
    rng = np.random.default_rng(1)
    tables = [
        Repertoire.empty(16, 2, 2).add(rng.standard_normal((20, 2)).astype(np.float32))
        for _ in range(2)
    ]
    postures = rng.standard_normal((2, 6, 2)).astype(np.float32)
    commit = np.ones((2, 6), bool)
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *tables)
    together = jax.jit(jax.vmap(partial(rule.extend, insert=interpreted)))(
        stacked, postures, postures, commit
    )
    for at, table in enumerate(tables):
        alone, _ = plain(table, postures[at], postures[at], commit[at])
        same(alone, jax.tree.map(lambda leaf, at=at: leaf[at], together))


def test_of_rows_that_enter_one_slot_in_one_step_the_last_posture_stays() -> None:
    # Two rows at 0 and 10 fill R. 9 comes and does not get in:
    # the pair (10, 9) is closest, and 9 is the nearer of the two to 0, so the crowded one.
    # 11 comes: the pair (10, 11) is closest, and 10 is nearer to 0 than 11 is: 10 goes, slot 1.
    # 12 comes: the pair (11, 12), 11 goes, slot 1 again. R = {0, 12}.
    table = Repertoire.empty(2, 1, 1)
    rows = np.asarray([[0.0], [10.0], [9.0], [11.0], [12.0]], np.float32)
    table, slots = plain(table, rows, rows, np.ones(5, bool))
    assert np.asarray(slots).tolist() == [0, 1, rule.NOWHERE, 1, 1]
    assert np.asarray(table.posture)[:, 0].tolist() == [0.0, 12.0]
    assert np.asarray(table.skill)[:, 0].tolist() == [0.0, 12.0]


def test_without_a_gpu_the_plain_rule_is_used() -> None:
    assert plan.insertion() is rule.insert


def test_a_gpu_that_cannot_run_the_kernel_gets_the_plain_rule_and_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Old:
        platform = "gpu"

    def broken() -> None:
        raise RuntimeError("compute capability 5.2")

    monkeypatch.setattr(plan.jax, "devices", lambda: [Old()])
    monkeypatch.setattr(kernel, "tried", broken)
    assert plan.insertion.__wrapped__() is rule.insert
    assert "compute capability 5.2" in caplog.text
    monkeypatch.setattr(kernel, "tried", lambda: None)
    assert plan.insertion.__wrapped__() is kernel.insert
