"""Coping: how well each seed of a method did under each damage, by every way of counting.

Two kinds of score. `trials`: the best of its trials, or, of a method with one skill, their mean (as
the paper counts). `again`: the mean of fresh rollouts of what was chosen, which decides who wins,
because the best of several noisy trials is too good to be true. `oracle`: the best of all skills,
which no robot could find out in eight trials. A return that is not finite can be nobody's best, is
told, and makes every mean that it belongs to not finite.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ursa.errors import UserError
from ursa.evaluate import definitions
from ursa.evaluate.group import Group, measured, where
from ursa.evaluate.results import Adapted

Array = np.ndarray
UNDAMAGED = "undamaged"


@dataclass(frozen=True)
class Coping:
    """Scores of one group: a row per seed, a column per scenario."""

    label: str  # of the method as it adapts
    group: str  # label of its group
    scenarios: tuple[str, ...]  # without the undamaged
    trials: Float[Array, "n k"]
    again: Float[Array, "n k"]
    fresh: Float[Array, "n k r"]  # the rollouts behind `again`
    best: Float[Array, "n k"]  # best of the trials, whatever the method
    oracle: Float[Array, "n k"] | None  # None where every skill was tried
    whole: Float[Array, " n"] | None  # undamaged, again
    whole_trials: Float[Array, " n"] | None
    whole_oracle: Float[Array, " n"] | None
    progress: Float[Array, "n k t"]  # best so far after each trial
    skills: int
    chances: int  # trials
    complaints: tuple[str, ...]  # returns that were not finite


def coping(groups: Sequence[Group]) -> list[Coping]:
    """Of every group that was damaged; all under the same scenarios."""
    found = [_of(group) for group in measured(groups, "damages")]
    for other in found[1:]:
        _refuse_other(found[0].scenarios, found[0].group, other.scenarios, other.group)
    return found


def wins(found: Sequence[Coping]) -> dict[str, str | None]:
    """Who copes best, scenario by scenario; None where nobody alone does."""
    return {
        scenario: definitions.winner({it.label: it.fresh[:, k] for it in found})
        for k, scenario in enumerate(found[0].scenarios)
    }


def _of(group: Group) -> Coping:
    rows = []
    names = tuple(it.scenario for it in group.seeds[0].damages)
    for each in group.seeds:
        mine = {it.scenario: it for it in each.damages}
        _refuse_other(names, group.label, tuple(mine), where(each))
        rows.append([mine[name] for name in names])
    damaged = [k for k, name in enumerate(names) if name != UNDAMAGED]
    whole = names.index(UNDAMAGED) if UNDAMAGED in names else None
    one = rows[0][0]
    more = len(one.ret) > len(one.tried)
    oracle = _table(rows, lambda it: np.fmax.reduce(it.ret)) if more else None
    trials, again = _table(rows, counted), _table(rows, lambda it: it.again.mean())
    fresh = np.array([[it.again for it in row] for row in rows])
    progress = np.array([[np.fmax.accumulate(it.trial_ret) for it in row] for row in rows])
    return Coping(
        label=f"{group.label} + ITE" if more else group.label,
        group=group.label,
        scenarios=tuple(names[k] for k in damaged),
        trials=trials[:, damaged],
        again=again[:, damaged],
        fresh=fresh[:, damaged],
        best=_table(rows, lambda it: np.fmax.reduce(it.trial_ret))[:, damaged],
        oracle=None if oracle is None else oracle[:, damaged],
        whole=None if whole is None else again[:, whole],
        whole_trials=None if whole is None else trials[:, whole],
        whole_oracle=None if whole is None or oracle is None else oracle[:, whole],
        progress=progress[:, damaged],
        skills=len(one.ret),
        chances=len(one.tried),
        complaints=tuple(
            text
            for each, row in zip(group.seeds, rows, strict=True)
            for it in row
            for text in _complaints(where(each), it)
        ),
    )


def counted(one: Adapted) -> float:
    """The paper's score: a single skill has nothing to choose, so all its trials count."""
    return np.fmax.reduce(one.trial_ret) if len(one.ret) > 1 else one.trial_ret.mean()


def _complaints(whose: str, it: Adapted) -> list[str]:
    parts = {"skills": it.ret, "trials": it.trial_ret, "fresh rollouts": it.again}
    return [
        f"{whose}, {it.scenario}: {bad} of {returns.size} returns of {name} are not finite"
        for name, returns in parts.items()
        if (bad := int((~np.isfinite(returns)).sum()))
    ]


def _table(rows: list[list[Adapted]], score) -> Float[Array, "n k"]:
    return np.array([[score(it) for it in row] for row in rows], float)


def _refuse_other(mine: tuple[str, ...], one: str, theirs: tuple[str, ...], other: str) -> None:
    if set(mine) != set(theirs):
        raise UserError(
            f"cannot be compared: {one} was damaged as {', '.join(mine)}, "
            f"{other} as {', '.join(theirs)}"
        )
