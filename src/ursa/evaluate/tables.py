"""Tables: the numbers of a comparison."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ursa.evaluate import coping, definitions, judged, statistics
from ursa.evaluate.coping import Coping
from ursa.evaluate.draw import tracking as maps
from ursa.evaluate.draw.coverage import covered
from ursa.evaluate.group import Group, measured, where
from ursa.evaluate.results import Results
from ursa.evaluate.statistics import NotFinite, Summary
from ursa.evaluate.table import NOT_FINITE, UNDEFINED, Cell, Table, guarded
from ursa.robot.registry import robot

Array = np.ndarray
Measure = Callable[[Results], float | None]
HEADLINE = "coverage, equal rollouts, safe"
TRAINED = "control steps trained"


def tables(groups: Sequence[Group]) -> list[Table]:
    """All tables that these groups were measured for."""
    found = [overview(groups)]
    hurt = coping.coping(groups)
    if hurt:
        found += [damages(hurt), trials(hurt), robustness(hurt)]
    if followed := measured(groups, "tracking"):
        found.append(tracking(followed))
    return [found[0], *(_of_lengths(it, groups) for it in found[1:])]


def overview(groups: Sequence[Group]) -> Table:
    """Skills without damage: median and quartiles over seeds of each seed's number."""
    rows: dict[str, tuple[Cell, ...]] = {TRAINED: tuple(map(lived, groups))}
    complaints: list[str] = []
    for name, (needs_phi, measure) in _measures(groups).items():
        cells: list[Cell] = []
        for group in groups:
            if needs_phi and not all(map(judged.knows, group.seeds)):
                cells.append(None)
                continue
            cells.append(_over_seeds(group, measure, name, complaints))
        rows[name] = tuple(cells)
    if (times := _times(groups, rows.get(HEADLINE))) is not None:
        rows["coverage of URSA over this one"] = times
    return Table(
        "overview",
        f"Skills, {_rollouts(groups)} rollouts of each seed ({_OVER_SEEDS})",
        tuple(f"{it.label} (n = {it.n})" for it in groups),
        rows,
        tuple(complaints),
    )


def lived(group: Group) -> str:
    """For how many control steps the seeds of a method were trained."""
    steps = [it.source.steps for it in group.seeds]
    return " to ".join(f"{it:,}" for it in sorted({min(steps), max(steps)}))


def _of_lengths(table: Table, groups: Sequence[Group]) -> Table:
    """The table, which says for how long each method was trained where that is not the same."""
    if len({it.source.steps for group in groups for it in group.seeds}) == 1:
        return table
    told = "; ".join(f"{it.label} {lived(it)}" for it in groups)
    return replace(table, title=f"{table.title}; {TRAINED}: {told}")


def damages(found: Sequence[Coping]) -> Table:
    """What was chosen after damage, once more, and who copes best by it."""
    won = coping.wins(found) if len(found) > 1 else {}
    columns = {it.label: it.again for it in found}
    table = _by_scenario(
        "damages", "Returns after damage: fresh rollouts of what was chosen", found, columns
    )
    if not won:
        return table
    rows = {name: (*cells, won[name] or "nobody") for name, cells in table.rows.items()}
    return replace(table, columns=(*table.columns, "best"), rows=rows)


def trials(found: Sequence[Coping]) -> Table:
    """The trials themselves, as the paper counts, and what an oracle would have found."""
    columns: dict[str, Array] = {}
    for it in found:
        columns[f"{it.label}, {'best' if it.skills > 1 else 'mean'}"] = it.trials
        if it.oracle is not None:
            columns[f"{it.group}, oracle"] = it.oracle
        if it.skills == 1:
            columns[f"{it.label}, best"] = it.best
    return _by_scenario("trials", "Returns of the trials after damage", found, columns)


def _by_scenario(
    name: str, title: str, found: Sequence[Coping], columns: Mapping[str, Array]
) -> Table:
    rows = {
        scenario: tuple(
            guarded(lambda t=table, c=k, said=label: statistics.summary(t[:, c], said), [])
            for label, table in columns.items()
        )
        for k, scenario in enumerate(found[0].scenarios)
    }
    return Table(name, f"{title} ({_OVER_SEEDS})", tuple(columns), rows, _complaints(found))


def _complaints(found: Sequence[Coping]) -> tuple[str, ...]:
    """Why cells about damages may say NaN: told once, where the numbers come from."""
    return tuple(text for it in found for text in it.complaints)


def robustness(found: Sequence[Coping]) -> Table:
    """What all damages together say of a method."""
    won = list(coping.wins(found).values()) if len(found) > 1 else []
    scenarios = len(found[0].scenarios)

    def each(measure: Callable[[Coping], Cell]) -> tuple[Cell, ...]:
        return tuple(guarded(lambda it=it: measure(it), []) for it in found)

    def area(it: Coping) -> Cell:
        medians = np.median(statistics.finite(it.again, it.label), axis=0)
        return statistics.short(statistics.ccdf_area(medians, it.label))

    def left(it: Coping) -> Cell:
        if it.whole is None:
            return None
        shares = [
            statistics.degradation(row, float(whole), f"{it.label}, undamaged")
            for row, whole in zip(it.again, it.whole, strict=True)
        ]
        known = [np.median(share) for share in shares if share is not None]
        if len(known) < len(shares):
            return UNDEFINED  # a seed earned nothing even before it broke
        return statistics.summary(known, it.label)

    def beats(it: Coping, other: Coping) -> Cell:
        if it is other:
            return None
        chance = statistics.probability_of_improvement(it.again, other.again, it.label)
        return f"{chance:.2f}"

    rows = {
        statistics.IQM: each(lambda it: statistics.interquartile(it.again, it.label)),
        "area under the CCDF of medians": each(area),
        "left of the undamaged return, median damage": each(left),
        f"damages won, of {scenarios}": tuple(
            str(won.count(it.label)) if won else None for it in found
        ),
    }
    if len(found) > 1:
        rows |= {
            f"probability that a seed beats one of {other.group}": each(
                lambda it, other=other: beats(it, other)
            )
            for other in found
        }
    title = (
        f"All {scenarios} damages, fresh rollouts of what was chosen (with an interval, unless a "
        f"row says which: {_OVER_SEEDS})"
    )
    columns = tuple(it.label for it in found)
    return Table("robustness", title, columns, rows, _complaints(found))


def tracking(groups: Sequence[Group]) -> Table:
    """Errors over the commands that lie near a known skill."""
    try:
        numbers = maps.numbers(groups)
    except NotFinite as error:
        return Table("tracking", "Velocity tracking", (NOT_FINITE,), {}, (str(error),))
    assert numbers is not None
    named = {"speed": "speed, m/s", "yaw": "yaw rate, rad/s", "joint": "whitened"}
    rows = {
        f"{named.get(key, 'share within the threshold')}, {when}": tuple(
            Summary(**each[part][key]) for each in numbers["series"]
        )
        for part, when in maps.WHEN.items()
        for key in ("speed", "yaw", "joint", "within")
    }
    title = f"Velocity tracking: median error over reachable commands ({_OVER_SEEDS})"
    columns = tuple(f"{it.label} (n = {it.n})" for it in groups)
    return Table("tracking", title, columns, rows)


_OVER_SEEDS = "median [25th, 75th percentile] over seeds"


def _measures(groups: Sequence[Group]) -> dict[str, tuple[bool, Measure]]:
    """Name -> (needs features, number of one seed)."""
    found: dict[str, tuple[bool, Measure]] = {
        "return, median skill": (False, lambda it: np.median(_ret(it))),
        "return, best skill": (False, lambda it: _ret(it).max()),
        "speed, m/s, median skill": (False, lambda it: np.median(it.skills.speed)),
        "speed, m/s, fastest": (False, lambda it: it.skills.speed.max()),
        "unsafe share of steps": (False, lambda it: it.skills.unsafe.mean()),
        "safe rollouts": (False, lambda it: judged.safe(it.skills).mean()),
        "moving skills": (False, lambda it: judged.moving(it.skills).mean()),
        "leaps": (False, lambda it: definitions.leaps(it.skills.airborne).mean()),
        "a hand was needed": (False, lambda it: it.skills.hand.mean()),
        "joint speed, rad/s, 99th percentile": (
            False,
            lambda it: np.median(it.skills.joint_speed),
        ),
        "power, W": (False, lambda it: np.median(it.skills.power)),
        "threshold δ": (True, lambda it: it.delta or 0.0),
        "missed by (whitened), median": (True, lambda it: np.median(judged.miss(it))),
        "achieved skills": (True, lambda it: judged.achieved(it).mean()),
        "distinct mean features": (True, lambda it: judged.distinct(it).sum()),
        "Spearman of V and return": (
            True,
            lambda it: statistics.spearman(it.skills.value, _ret(it), where(it)),
        ),
    }
    spec = robot(groups[0].seeds[0].source.robot)
    if spec.legs:
        ways = {
            HEADLINE: ("equal", "safe"),
            "coverage, equal rollouts, moving": ("equal", "moving"),
            "coverage, 8 against 8, safe": ("few", "safe"),
            f"coverage, {_once(groups)} (paper)": ("paper", "every"),
        }
        for name, (protocol, which) in ways.items():
            found[name] = (False, lambda it, p=protocol, w=which: covered(it, spec, p, w))
    return found


def _once(groups: Sequence[Group]) -> str:
    """Every skill once; of a repertoire that was not tried whole, how much of it."""
    every = "every skill once, safe or not"
    for group in groups:
        tried = max(judged.rows("paper", it) for it in group.seeds)
        known = judged.known(group.seeds[0])
        if group.method == "ursa" and tried < known:
            return f"{every}; of URSA's {known} skills the {tried} most spread out"
    return every


def _times(groups: Sequence[Group], cells: tuple[Cell, ...] | None) -> tuple[Cell, ...] | None:
    """How many times what another method covers the first one, URSA, does, by medians."""
    if cells is None or len(groups) < 2 or groups[0].method != "ursa":
        return None
    first = cells[0]
    return tuple(
        f"{statistics.short(first.middle / it.middle)} times"
        if isinstance(first, Summary) and isinstance(it, Summary) and k and it.middle
        else None
        for k, it in enumerate(cells)
    )


def _ret(found: Results) -> Array:
    return statistics.finite(found.skills.ret, f"{where(found)}: returns")


def _over_seeds(group: Group, measure: Measure, name: str, complaints: list[str]) -> Cell:
    """The summary of one number per seed; undefined where a seed has none."""

    def cell() -> Cell:
        found = [measure(it) for it in group.seeds]
        known = [it for it in found if it is not None]
        if len(known) < len(found):
            return UNDEFINED
        return statistics.summary(known, f"{group.label}, {name}, by seed")

    return guarded(cell, complaints)


def _rollouts(groups: Sequence[Group]) -> str:
    counts = sorted({len(it.skills.ret) for group in groups for it in group.seeds})
    return " or ".join(map(str, counts))
