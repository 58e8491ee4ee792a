"""Coverage of mean joint angles, counted in four ways that favour different methods."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ursa.evaluate import coverage, judged, statistics
from ursa.evaluate.draw.style import Numbers, finish, heading, looks, page, plain_axes
from ursa.evaluate.group import Group, where
from ursa.evaluate.results import Results
from ursa.robot.registry import robot
from ursa.robot.spec import RobotSpec

Array = np.ndarray
TITLE = "Coverage of average joint angles"
# (protocol of the definitions, which of its rollouts) -> what a reader is told
WAYS = {
    ("equal", "safe"): "{} rollouts each,\nsafe ones (headline)",
    ("equal", "moving"): "{} rollouts each,\nmoving ones",
    ("few", "safe"): "{} rollouts each,\nsafe ones",
    ("paper", "every"): "every skill once,\nsafe or not (paper)",
}
WHICH = {
    "safe": judged.safe,
    "moving": judged.moving,
    "every": lambda tried: np.ones(len(tried.ret), bool),
}


def covered(found: Results, spec: RobotSpec, protocol: str, which: str) -> float:
    """Share of cells that one seed's behaviours fill, counted in one of the ways."""
    rows = judged.rows(protocol, found)
    angles = statistics.finite(found.skills.joint_angle, f"{where(found)}: joint angles")
    chosen = WHICH[which](found.skills)[:rows]
    return coverage.coverage(angles[:rows][chosen], spec)


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """Medians and quartiles for every way and method; None for a robot without legs."""
    spec = robot(groups[0].seeds[0].source.robot)
    if not spec.legs:
        return None
    told = heading("coverage", groups, statistics.MEDIAN, statistics.QUARTILES)
    series = []
    for group in groups:
        ways = {}
        for protocol, which in WAYS:
            shares = [covered(it, spec, protocol, which) for it in group.seeds]
            summed = statistics.summary(shares, f"{group.label}, coverage").plain()
            rows = [judged.rows(protocol, it) for it in group.seeds]
            mean = statistics.interquartile(np.array(shares)[:, None], group.label).plain()
            kept = {"iqm": mean, "per_seed": shares, "rollouts": rows}
            ways[f"{protocol}, {which}"] = summed | kept
        series.append({"label": group.label, "ways": ways})
    return told | {"series": series}


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """Bars for every way, a method each."""
    figure = page(8, 4.2)
    axes = figure.subplots()
    series, look = numbers["series"], looks(numbers["n"])
    wide = 0.8 / len(series)
    for index, each in enumerate(series):
        cells = [each["ways"][f"{protocol}, {which}"] for protocol, which in WAYS]
        x = np.arange(len(cells)) + (index - (len(series) - 1) / 2) * wide
        middle = 100 * np.array([cell["middle"] for cell in cells])
        style = look[each["label"]]
        if cells[0]["n"] == 1 and not one_seed:
            name = f"{each['label']}: one seed, no bar"
            axes.plot(x, middle, style.marker, color=style.color, label=name)
        else:
            axes.bar(x, middle, wide * 0.94, color=style.color, label=each["label"])
        if cells[0]["n"] > 1:
            reach = [
                middle - 100 * np.array([cell["low"] for cell in cells]),
                100 * np.array([cell["high"] for cell in cells]) - middle,
            ]
            axes.errorbar(x, middle, reach, fmt="none", ecolor="0.45", elinewidth=1.2, capsize=2)
        for at, cell, height in zip(x, cells, middle, strict=True):
            top = height if cell["high"] is None else 100 * cell["high"]
            axes.annotate(
                f"{height:.1f}", (at, top), (0, 4), textcoords="offset points", ha="center", size=7
            )
    rollouts = [max(series[0]["ways"][f"{a}, {b}"]["rollouts"]) for a, b in WAYS]
    names = [text.format(count) for text, count in zip(WAYS.values(), rollouts, strict=True)]
    axes.set_xticks(range(len(WAYS)), names, fontsize=8)
    axes.set_ylabel("cells filled, % of 18 planes of 20 x 20", fontsize=9)
    figure.legend(loc="outside upper right", ncols=2, fontsize=8, frameon=False)
    axes.margins(y=0.12)
    plain_axes(axes)
    axes.grid(False, axis="x")
    note = "URSA's features are learnt from joint angles, which is what is counted here"
    means = "; ".join(
        f"{each['label']} {statistics.Summary(**each['ways']['equal, safe']['iqm']).said(2, 100)}"
        for each in series
    )
    return finish(figure, numbers, TITLE, note, f"headline, %: {statistics.IQM}: {means}")
