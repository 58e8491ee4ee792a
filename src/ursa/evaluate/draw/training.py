"""Reward during training, window by window (paper, RQ2)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from ursa.evaluate import statistics
from ursa.evaluate.definitions import WINDOW
from ursa.evaluate.draw.style import Numbers, finish, heading, looks, means, page, plain_axes
from ursa.evaluate.group import Group, measured

TITLE = "Reward during training"


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """Median and quartiles over seeds in every window that all seeds have; None without curves."""
    kept = measured(groups, "curve")
    if not kept:
        return None
    told = heading("training", kept, statistics.MEDIAN, statistics.QUARTILES)
    series = [_series(group) for group in kept]
    last = {
        it["label"]: np.array([[one["mean"][-1]] for one in it["per_seed"]])
        for it in series
        if it["steps"]
    }
    return told | means("reward in the last window", last) | {"series": series}


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
    axes.set_ylabel("reward per step", fontsize=9)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.legend(fontsize=9, frameon=False, loc="lower right")
    plain_axes(axes)
    lines = [
        f"each point: mean reward over a window of {WINDOW:,} steps (a quarter of an hour of one "
        "robot); the last may be shorter",
        "URSA explores with all of its skills, DayDreamer has one: not the same thing is averaged",
    ]
    if 1 in numbers["n"].values():
        lines.append("shaded, where there is one seed only: standard deviation within the window")
    return finish(figure, numbers, TITLE, *lines)


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
