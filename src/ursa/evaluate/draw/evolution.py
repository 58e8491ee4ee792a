"""ITE evolution: the best return found so far, trial by trial, under each damage (paper, RQ2)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ursa.evaluate import statistics
from ursa.evaluate.coping import Coping, coping
from ursa.evaluate.draw.style import Look, Numbers, finish, heading, looks, means, page, plain_axes
from ursa.evaluate.group import Group

TITLE = "Best return found so far, trial by trial"
WIDE = 3  # panels side by side


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """Median and quartiles after every trial; None if nothing was damaged."""
    found = coping(groups)
    if not found:
        return None
    kept = [group for group in groups if group.label in {it.group for it in found}]
    told = heading("evolution", kept, statistics.MEDIAN, statistics.QUARTILES)
    last = means(
        "after the last trial, all damages", {it.label: it.progress[..., -1] for it in found}
    )
    series = [_series(it) for it in found]
    return told | last | {"scenarios": list(found[0].scenarios), "series": series}


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """A panel for each damage."""
    scenarios = numbers["scenarios"]
    high = -(-len(scenarios) // WIDE)
    figure = page(9.5, 0.9 + 2.1 * high)
    panels = figure.subplots(high, WIDE, sharex=True, sharey=True, squeeze=False)
    look = looks(numbers["n"])
    for axes, name in zip(panels.ravel(), scenarios, strict=False):
        for each in numbers["series"]:
            _line(axes, each, name, look[each["of"]])
        axes.set_title(name, fontsize=9, loc="left")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        plain_axes(axes)
    for axes in panels.ravel()[len(scenarios) :]:
        axes.set_visible(False)
    for axes in panels[:, 0]:
        axes.set_ylabel("return", fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel("trial", fontsize=9)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=4, fontsize=8, frameon=False)
    return finish(figure, numbers, TITLE)


def _series(it: Coping) -> dict:
    said = f"{it.label}, trials"
    return {
        "label": it.label,
        "of": it.group,
        "best_so_far": {
            name: [
                statistics.summary(it.progress[:, k, t], said).plain() for t in range(it.chances)
            ]
            for k, name in enumerate(it.scenarios)
        },
        "oracle": None
        if it.oracle is None
        else {
            name: statistics.summary(it.oracle[:, k], f"{it.group}, oracle").plain()
            for k, name in enumerate(it.scenarios)
        },
        "per_seed": {name: it.progress[:, k].tolist() for k, name in enumerate(it.scenarios)},
    }


def _line(axes: Axes, each: dict, name: str, look: Look) -> None:
    cells = each["best_so_far"][name]
    trial = np.arange(1, len(cells) + 1)
    axes.plot(
        trial,
        [cell["middle"] for cell in cells],
        color=look.color,
        linestyle=look.line,
        marker=look.marker,
        markersize=3.5,
        linewidth=1.4,
        label=each["label"],
    )
    if cells[0]["n"] > 1:
        low, high = ([cell[side] for cell in cells] for side in ("low", "high"))
        axes.fill_between(trial, low, high, color=look.color, alpha=0.18, linewidth=0)
    if each["oracle"]:
        axes.axhline(
            each["oracle"][name]["middle"],
            color=look.color,
            linewidth=1,
            linestyle=(0, (6, 4)),
            label=f"{each['of']}, best of all skills (oracle)",
        )
