"""Evidence: one number of the seeds of several runs, and what can be said of its spread."""

from dataclasses import replace

import numpy as np
import pytest

from evaluate.claimed import ROWS, put_as
from evaluate.made import made, there
from ursa.errors import UserError
from ursa.evaluate import evidence
from ursa.evaluate.evidence import Recipe


def test_an_interval_is_open_above_where_draws_are_a_share_of_nothing():
    seeds = {"a": [made("ursa", k, rollouts=ROWS) for k in range(3)]}
    seeds["b"] = [made("dominic", k, rollouts=ROWS) for k in range(3)]
    told = {("ursa", k): 2.0 for k in range(3)} | {("dominic", k): float(k > 0) for k in range(3)}
    recipe = Recipe(
        ("a", "b"),
        lambda it: told[it.source.method, it.source.seed],
        lambda mine, other: float(mine / other) if other else np.nan,
    )
    found = evidence.made(recipe, seeds, "times")
    assert (found.middle, found.low, found.high) == (2.0, 2.0, np.inf)
    assert found.said() == "2.00 [2.00, inf] (n = 3)"
    assert found.plain()["high"] == "inf"  # which JSON has no number for


def worths(*numbers):
    """Seeds whose only number is this."""
    return [
        replace(made("ursa", seed, rollouts=ROWS), notes={"worth": worth})
        for seed, worth in enumerate(numbers)
    ]


def times(*runs):
    """The first over the second, or over the sum of all others."""
    names = tuple("abc"[: len(runs)])
    recipe = Recipe(names, lambda it: it.notes["worth"], lambda a, *rest: float(a / sum(rest)))
    return evidence.made(recipe, dict(zip(names, map(list, runs), strict=True)), "worth")


def test_two_seeds_are_told_both_because_drawing_them_anew_tells_no_more():
    alone = Recipe(("a",), lambda it: it.notes["worth"])
    found = evidence.made(alone, {"a": worths(3.0, 1.0)}, "worth")
    assert found.said() == "1.00 and 3.00 (n = 2)"
    assert (found.middle, found.interval) == (2.0, "range")
    three = evidence.made(alone, {"a": worths(3.0, 1.0, 2.0)}, "worth")
    assert three.said() == "2.00 [1.00, 3.00] (n = 3)"


def test_seeds_of_either_side_are_counted_and_two_of_one_give_a_range():
    # Medians 4 and 2; single seeds give from 3 / 2.5 to 6 / 1.5.
    found = times(worths(3.0, 4.0, 6.0), worths(1.5, 2.5))
    assert found.said() == "2.00, range 1.20 to 4.00 (3 against 2)"
    # Of three against four seeds a median of draws can be any: the interval has the same ends.
    many = times(worths(3.0, 4.0, 6.0), worths(2.0, 2.0, 2.0, 2.0))
    assert many.said() == "2.00 [1.50, 3.00] (3 against 4)"
    assert many.interval == "95 % bootstrap"
    assert times(worths(4.0), worths(1.0, 3.0)).said() == "2.00 (1 against 2)"
    three = times(worths(3.0, 4.0, 6.0), worths(1.0, 1.0), worths(1.0, 1.0, 1.0))
    assert three.said() == "2.00, range 1.50 to 3.00 (3 against 2 and 3)"


def test_the_same_agents_measured_twice_are_compared_seed_by_seed():
    def told(seed: int, worth: float):
        found = made("ursa", seed, rollouts=ROWS)
        return replace(found, notes={"worth": worth})

    recipe = evidence.Recipe(
        ("a", "b"), lambda it: it.notes["worth"], lambda a, b: a / b, alike=False, paired=True
    )
    # Ratios 2, 2 and 4 of seeds 0, 1 and 2; seed 3 was measured once only.
    seeds = {
        "a": [told(0, 20.0), told(1, 2.0), told(2, 12.0), told(3, 1.0)],
        "b": [told(2, 3.0), told(0, 10.0), told(1, 1.0)],
    }
    found = evidence.made(recipe, seeds, "worth")
    assert (found.seeds, found.middle, found.low, found.high) == ((3,), 2.0, 2.0, 4.0)
    apart = {"a": [told(0, 1.0)], "b": [told(1, 1.0)]}
    assert evidence.made(recipe, apart, "worth") is None


@pytest.mark.parametrize(
    ("physics", "told"),
    [
        ("2ms", "`--tick 0.002`, but was measured with `--tick 0.005`"),
        ("solid", "`--body solid`, but was measured with `--body mujoco`"),
        ("pybullet", "`--body pybullet`, but was measured with `--body mujoco`"),
    ],
)
def test_a_folder_named_for_other_physics_holds_what_was_measured_there(tmp_path, physics, told):
    name = f"forward-ursa-{physics}"
    usual = made("ursa", 0, rollouts=ROWS)
    put_as(tmp_path / "right", name, there(usual, physics))
    put_as(tmp_path / "wrong", name, usual)
    (found,) = evidence.read(tmp_path / "right", [name])[name]
    assert found.source.seed == 0
    with pytest.raises(UserError, match=told):
        evidence.read(tmp_path / "wrong", [name])
