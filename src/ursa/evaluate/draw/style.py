"""Style: what all figures share. Colours of Okabe and Ito, which differ in grey too."""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ursa.evaluate import statistics
from ursa.evaluate.group import Group

Numbers = dict[str, Any]  # what a figure shows, as JSON
DPI = 150
LETTERS = 17  # of the small print that fit on an inch


@dataclass(frozen=True)
class Look:
    """How one method is drawn everywhere."""

    color: str
    marker: str
    line: str | tuple[int, tuple[int, ...]]


LOOKS: Mapping[str, Look] = {
    "URSA": Look("#0072B2", "o", "-"),
    "DOMiNiC": Look("#E69F00", "s", "--"),
    "DayDreamer": Look("#222222", "^", ":"),
}
OTHERS = (
    Look("#CC79A7", "D", "-."),
    Look("#009E73", "v", (0, (5, 1))),
    Look("#56B4E9", "P", (0, (1, 1))),
    Look("#D55E00", "X", (0, (3, 1, 1, 1))),
)


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """A look for every label; the methods of the paper keep theirs."""
    others = iter(OTHERS * 8)
    return {it: LOOKS[it] if it in LOOKS else next(others) for it in labels}


def heading(figure: str, groups: Sequence[Group], estimator: str, interval: str) -> Numbers:
    """What every figure must say of itself."""
    source = groups[0].seeds[0].source
    return {
        "figure": figure,
        "estimator": estimator,
        "interval": interval,
        "n": {it.label: it.n for it in groups},
        "trained": {it.label: _trained(it) for it in groups},
        "robot": source.robot,
        "task": source.task,
        "physics": f"{source.engine}, {1e3 * source.tick:g} ms",
    }


def means(of: str, scores: Mapping[str, np.ndarray], scale: float = 1.0) -> Numbers:
    """Interquartile means beside the medians, one per method: its seeds (rows) on some tasks."""
    by = {
        label: statistics.interquartile(table, f"{label}, {of}") for label, table in scores.items()
    }
    return {"iqm": {"of": of, "scale": scale, "by": {name: it.plain() for name, it in by.items()}}}


def page(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def finish(figure: Figure, numbers: Numbers, title: str, *more: str) -> Figure:
    """Title above; below, what the marks mean: n, estimator, interval."""
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", fontweight="bold")
    wide = int(LETTERS * figure.get_size_inches()[0])
    told = [*more, *beside(numbers), said(numbers)]
    lines = [line for text in told for line in textwrap.wrap(text, wide)]
    figure.supxlabel("\n".join(lines), fontsize=7.5, x=0.01, ha="left", color="0.25")
    return figure


def beside(numbers: Numbers) -> list[str]:
    """Interquartile means in a line, where a figure has them."""
    found = numbers.get("iqm")
    if not found or not found["by"]:
        return []
    by = "; ".join(
        f"{label} {statistics.Summary(**it).said(scale=found['scale'])}"
        for label, it in found["by"].items()
    )
    return [f"{found['of']}: {statistics.IQM}: {by}"]


def said(numbers: Numbers) -> str:
    """n, estimator, interval and what was trained in a line."""
    seeds = ", ".join(f"{label} {n}" for label, n in numbers["n"].items())
    interval = numbers["interval"]
    if all(n == 1 for n in numbers["n"].values()):
        interval = "none, one seed has no interval"
    elif 1 in numbers["n"].values():
        interval += " (one seed has none)"
    return (
        f"{numbers['estimator']}; interval: {interval}; seeds: {seeds}; "
        f"{numbers['robot']}, {numbers['task']}, {numbers['physics']}; {lived(numbers)}"
    )


def lived(numbers: Numbers) -> str:
    """For how many steps, and of how many robots; method by method where that is not the same."""
    told = {label: _length(**it) for label, it in numbers["trained"].items()}
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return ", ".join(f"{label} {length}" for label, length in told.items())


def _trained(group: Group) -> dict[str, Any]:
    steps = [it.source.steps for it in group.seeds]
    return {"steps": sorted({min(steps), max(steps)}), "robots": group.robots}


def _length(steps: Sequence[int], robots: int | None) -> str:
    """Control steps of all robots together."""
    told = " to ".join(f"{it:,}" for it in steps)
    own = "" if robots is None else f" of {robots} robot{'s' * (robots != 1)}"
    return f"{told} steps{own}"


def plain_axes(axes: Axes) -> None:
    """No box, faint grid behind."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)


def plain(values: np.ndarray) -> list[Any]:
    """Numbers as JSON; one that is not finite becomes null."""
    known: Any = np.isfinite(values)
    return np.where(known, values.astype(object), np.array(None)).tolist()


def feature_names(numbers: Numbers) -> tuple[str, str]:
    """What the first two columns of a skill are called."""
    if numbers["task"] == "velocity":
        return "forward speed, m/s", "yaw rate, rad/s"
    return "skill, first column", "skill, second column"


def save(figure: Figure, numbers: Numbers, folder: Path, name: str) -> list[Path]:
    """PNG, PDF and the numbers; the same numbers give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    png, pdf, told = (folder / f"{name}.{kind}" for kind in ("png", "pdf", "json"))
    figure.savefig(png, dpi=DPI, metadata={"Software": None})
    figure.set_layout_engine("none")  # it lies well now, and arranging it takes most of the time
    figure.savefig(pdf, metadata={"CreationDate": None, "Producer": None, "Creator": None})
    told.write_text(json.dumps(numbers, indent=1, allow_nan=False) + "\n")
    return [png, pdf, told]
