"""Reward during training, window by window (paper, RQ2)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from ursa.evaluate import statistics
from ursa.evaluate.averaged import Averaged
from ursa.evaluate.definitions import WINDOW
from ursa.evaluate.draw.style import Numbers, finish, heading, looks, means, page, plain_axes
from ursa.evaluate.group import Group, partly

TITLE = "Reward during training"
HOUR = 4 * WINDOW  # control steps of one robot
AVERAGED = "mean over seeds that mostly left no curve of their own, so nothing is shaded"
UNLIKE = "URSA explores with all of its skills, DayDreamer has one: not the same thing is averaged"


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """Median and quartiles over the seeds that have a curve, in every window that all of those
    have; of a method whose kept mean is over more seeds than that, the mean. None without any."""
    kept = partly(groups, "curve")
    curves = {it.label: it.n for it in kept}
    together = {
        it.label: it.averaged
        for it in groups
        if it.averaged is not None and it.averaged.seeds > curves.get(it.label, 0)
    }
    kept = [it for it in kept if it.label not in together]
    shown = [it for it in groups if it.label in curves or it.label in together]
    if not shown:
        return None
    series = [_series(group) for group in kept]
    last = {
        it["label"]: np.array([[one["mean"][-1]] for one in it["per_seed"]])
        for it in series
        if it["steps"]
    }
    series += [_together(label, it) for label, it in together.items()]
    order = [it.label for it in shown]
    told = heading("training", shown, statistics.MEDIAN, statistics.QUARTILES)
    told["n"] |= {it.label: it.n for it in kept}
    told["n"] |= {label: it.seeds for label, it in together.items()}
    notes = [UNLIKE] if {"ursa", "daydreamer"} <= {it.method for it in shown} else []
    notes += [f"{' and '.join(together)}: {AVERAGED}"] if together else []
    notes += [f"{label}: {it.note}" for label, it in together.items() if it.note]
    more = {
        "notes": [*notes, *lacking([it for it in groups if it.label not in together], kept)],
        "series": sorted(series, key=lambda it: order.index(it["label"])),
    }
    return told | means("reward in the last window", last) | more


def lacking(groups: Sequence[Group], kept: Sequence[Group]) -> list[str]:
    """Of whom curves are missing, in words."""
    drawn = {it.label: it.n for it in kept}
    some = [
        f"{drawn[it.label]} of {it.n} seeds of {it.label}"
        for it in groups
        if 0 < drawn.get(it.label, 0) < it.n
    ]
    none = [it.label for it in groups if it.label not in drawn]
    told = [f"learning curves of {', '.join(some)}"] if some else []
    return [*told, *([f"no learning curve: {', '.join(none)}"] if none else [])]


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """Lines of medians, quartiles shaded; of a single seed, its spread within each window."""
    figure = page(7.5, 4.4)
    axes = figure.subplots()
    look = looks(numbers["n"])
    for each in numbers["series"]:
        style, cells = look[each["label"]], each["reward"]
        middle = np.array([cell["middle"] for cell in cells])
        axes.plot(
            each["steps"],
            middle,
            color=style.color,
            linestyle=style.line,
            marker=style.marker,
            markersize=4,
            markevery=max(1, len(middle) // 10),
            label=each["label"],
        )
        if not each["per_seed"]:
            continue
        if cells and cells[0]["n"] > 1:
            low, high = ([cell[side] for cell in cells] for side in ("low", "high"))
        else:
            spread = np.array(each["per_seed"][0]["deviation"])
            low, high = middle - spread, middle + spread
        if len(middle) > 1:
            axes.fill_between(each["steps"], low, high, color=style.color, alpha=0.18, linewidth=0)
        else:  # an area over one point cannot be seen
            axes.vlines(each["steps"], low, high, color=style.color, alpha=0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("control steps lived by one seed", fontsize=9)
    if all(it["robots"] == 1 for it in numbers["trained"].values()):
        _hours(axes)
    axes.set_ylabel("reward per step", fontsize=9)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.legend(fontsize=9, frameon=False, loc="best")
    plain_axes(axes)
    lines = [
        f"each point: mean reward over a window of {WINDOW:,} steps (a quarter of an hour of one "
        "robot); the last may be shorter",
        *numbers["notes"],
    ]
    if 1 in numbers["n"].values():
        lines.append("shaded, where there is one seed only: standard deviation within the window")
    return finish(figure, numbers, TITLE, *lines)


def _hours(axes: Axes) -> None:
    """The same axis in hours, above; only one robot lives as many as its seed."""
    scales = (lambda x: np.asarray(x) / HOUR, lambda x: np.asarray(x) * HOUR)
    hours = axes.secondary_xaxis("top", functions=scales)
    hours.set_xlabel("hours of the robot", fontsize=9)
    hours.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    hours.tick_params(labelsize=8)


def _together(label: str, found: Averaged) -> dict:
    """A method of whose seeds only the mean is known."""
    values = statistics.finite(found.curve.mean, f"{label}, reward during training").tolist()
    cells = [statistics.Summary(found.seeds, it, None, None).plain() for it in values]
    return {
        "label": label,
        "steps": found.curve.steps.tolist(),
        "reward": cells,
        "per_seed": [],
    }


def _series(group: Group) -> dict:
    curves = [it.curve for it in group.seeds if it.curve is not None]
    common = sorted(set.intersection(*({*it.steps.tolist()} for it in curves)))
    picked = [np.isin(it.steps, common) for it in curves]
    means = np.array([it.mean[rows] for it, rows in zip(curves, picked, strict=True)])
    spreads = [it.deviation[rows] for it, rows in zip(curves, picked, strict=True)]
    said = f"{group.label}, reward during training"
    return {
        "label": group.label,
        "steps": common,
        "reward": [statistics.summary(column, said).plain() for column in means.T],
        "per_seed": [
            {
                "seed": it.source.seed,
                "mean": mean.tolist(),
                "deviation": statistics.finite(spread, said).tolist(),
            }
            for it, mean, spread in zip(group.seeds, means, spreads, strict=True)
        ],
    }
