"""Returns across damages: bars of medians over seeds, the oracle hatched (paper, RQ2)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ursa.evaluate import statistics
from ursa.evaluate.coping import UNDAMAGED, Coping, coping, wins
from ursa.evaluate.draw.style import Numbers, finish, heading, looks, page, plain, plain_axes
from ursa.evaluate.group import Group

Array = np.ndarray
TITLE = "Returns across damages"
WAYS = {
    "trials": "best of the trials, as the paper counts (one skill only: mean of its trials)",
    "again": "what was chosen, once more: mean of fresh rollouts; the best is marked ▼",
}


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """Medians and quartiles of every method under every damage; None if nothing was damaged."""
    found = coping(groups)
    if not found:
        return None
    kept = [group for group in groups if group.label in {it.group for it in found}]
    complaints = [text for it in found for text in it.complaints]
    told = heading("damages", kept, statistics.MEDIAN, statistics.QUARTILES)
    whole = all(it.whole is not None for it in found)
    return told | {
        "scenarios": [*([UNDAMAGED] if whole else []), *found[0].scenarios],
        "series": [each for it in found for each in _series(it, whole)],
        "wins": wins(found) if len(found) > 1 else {},
        "complaints": complaints,
    }


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """A panel for each way of counting."""
    figure = page(10.5, 7.2)
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    for axes, (way, text) in zip(panels, WAYS.items(), strict=True):
        _bars(axes, numbers, way, one_seed)
        axes.set_title(text, fontsize=9, loc="left")
        axes.set_ylabel("return over 250 steps", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    panels[0].legend(handles, labels, fontsize=8, ncols=2, loc="upper right", frameon=False)
    panels[0].margins(y=0.22)
    about = "; ".join(f"{each['label']}: {each['about']}" for each in numbers["series"])
    means = "; ".join(
        f"{each['label']} {statistics.Summary(**each['iqm']).said() if each['iqm'] else 'NaN'}"
        for each in numbers["series"]
        if not each["oracle"]
    )
    return finish(figure, numbers, TITLE, about, f"{statistics.IQM}, fresh rollouts: {means}")


def _series(it: Coping, whole: bool) -> list[dict[str, Any]]:
    def summed(table: Array, undamaged: Array | None, way: str) -> dict[str, Any]:
        columns = dict(zip(it.scenarios, table.T, strict=True))
        if whole and undamaged is not None:
            columns = {UNDAMAGED: undamaged} | columns
        return {
            name: statistics.summary(column, f"{it.label}, {name}, {way}").plain()
            if np.isfinite(column).all()
            else None  # drawn as NaN
            for name, column in columns.items()
        }

    own = {
        "label": it.label,
        "of": it.group,
        "oracle": False,
        "trials": summed(it.trials, it.whole_trials, "best of trials"),
        "again": summed(it.again, it.whole, "fresh rollouts"),
        "iqm": statistics.interquartile(it.again, f"{it.label}, fresh rollouts").plain()
        if np.isfinite(it.again).all()
        else None,
        "per_seed": {"trials": plain(it.trials), "again": plain(it.again)},
        "about": _about(it),
    }
    if it.oracle is None:
        return [own]
    best = summed(it.oracle, it.whole_oracle, "best of all")
    hatched = {
        "label": f"{it.group}, best of all {it.skills} skills (oracle)",
        "of": it.group,
        "oracle": True,
        "trials": best,
        "again": best,
        "per_seed": {"trials": plain(it.oracle)},
        "about": "one rollout of each",
    }
    return [hatched, own]


def _about(it: Coping) -> str:
    skills = "1 skill" if it.skills == 1 else f"{it.skills} skills"
    return f"{skills}, {it.chances} trials, {it.fresh.shape[2]} fresh rollouts"


def _bars(axes: Axes, numbers: Numbers, way: str, one_seed: bool) -> None:
    series, scenarios = numbers["series"], numbers["scenarios"]
    look = looks(numbers["n"])
    wide = 0.82 / len(series)
    for index, each in enumerate(series):
        shift = (index - (len(series) - 1) / 2) * wide
        at = {name: k + shift for k, name in enumerate(scenarios)}
        known = {name: each[way][name] for name in scenarios if each[way][name] is not None}
        for name in set(scenarios) - set(known):
            axes.annotate("NaN", (at[name], 0), (0, 2), **_ABOVE, rotation=90)
        style, face = look[each["of"]], "white" if each["oracle"] else look[each["of"]].color
        x = [at[name] for name in known]
        middle = np.array([cell["middle"] for cell in known.values()])
        if numbers["n"][each["of"]] == 1 and not one_seed:
            name = f"{each['label']}: one seed, no bar"
            axes.plot(x, middle, style.marker, color=style.color, markerfacecolor=face, label=name)
        else:
            axes.bar(
                x,
                middle,
                wide * 0.94,
                color=face,
                edgecolor=style.color,
                hatch="/////" if each["oracle"] else None,
                linewidth=1,
                label=each["label"],
            )
        if numbers["n"][each["of"]] > 1:
            reach = [
                middle - [cell["low"] for cell in known.values()],
                [cell["high"] for cell in known.values()] - middle,
            ]
            axes.errorbar(x, middle, reach, fmt="none", ecolor="0.45", elinewidth=1.2, capsize=2)
        if way == "again":
            for name, cell in known.items():
                if each["label"] == numbers["wins"].get(name):
                    top = cell["middle"] if cell["high"] is None else cell["high"]
                    axes.annotate("▼", (at[name], max(top, 0)), (0, 4), **_ABOVE)
    axes.set_xticks(range(len(scenarios)), scenarios, fontsize=9)
    axes.axhline(0, color="0.3", linewidth=0.8)
    if scenarios[0] == UNDAMAGED:
        axes.axvline(0.5, color="0.6", linewidth=0.8, linestyle="--")
    axes.set_xlim(-0.6, len(scenarios) - 0.4)
    plain_axes(axes)
    axes.grid(False, axis="x")


_ABOVE: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
