"""A picture of an adaptation: the map with the path of trials, and what they returned."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import patheffects
from matplotlib.figure import Figure

from ursa.adapt import ite
from ursa.evaluate.definitions import STEPS
from ursa.repair.adaptation import Adaptation

Array = np.ndarray
DOTS = 16  # area of a skill on paper


def draw(folder: Path, found: Adaptation, title: str) -> list[Path]:
    """Four panels for skills of two columns; otherwise the returns alone, and a line that says so.

    Maps share one scale of colours: from the lowest to the highest of expected and believed.
    Leaves adaptation.png and adaptation.pdf; equal adaptations give equal bytes.
    """
    wide = found.skills.shape[1]
    if wide != 2:
        figure = Figure(figsize=(7, 5.2), layout="constrained")
        returns(figure.subplots(), found)
        title += f"\nskills have {wide} columns: no map is drawn"
    else:
        figure = Figure(figsize=(12, 10.2), layout="constrained")
        panels = figure.subplots(2, 2).ravel()
        maps(figure, panels[:3], found)
        returns(panels[3], found)
    figure.suptitle(title, fontsize=11)
    figure.supxlabel(said(found), fontsize=8, x=0.01, ha="left", color="0.25")
    png, pdf = (folder / f"adaptation.{kind}" for kind in ("png", "pdf"))
    figure.savefig(png, dpi=110, metadata={"Software": None})
    figure.savefig(pdf, metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return [png, pdf]


def said(found: Adaptation) -> str:
    """What was counted, by which estimator; and what is not a number."""
    fresh, tried = len(found.after.ret), len(found.search.attempts)
    words = f"n = 1 robot, {tried} trials of {len(found.skills)} skills, one rollout each; fresh: "
    words += f"{fresh} rollouts (dots) and their median (line); interval: none, every dot is shown"
    stopped = found.search.aborted + found.before.aborted + found.after.aborted
    if stopped:
        words += f"\nstopped for safety: {stopped} of {tried + 2 * fresh} rollouts"
    returns = [it.trial.ret for it in found.search.attempts]
    for name, ret in (("trials", returns), ("fresh", [*found.before.ret, *found.after.ret])):
        if bad := int((~np.isfinite(ret)).sum()):
            words += f"\nNOT A NUMBER, not drawn: {bad} of {len(ret)} returns ({name})"
    return words


def maps(figure: Figure, panels: Any, found: Adaptation) -> None:
    """Prior with the path, mean and upper bound after it."""
    search, chart = found.search, found.search.chart
    believed = {
        f"expected before ({found.prior}), and the path of trials": chart.prior,
        f"mean after {len(search.attempts)} trials": search.belief.mean,
        f"mean + {ite.KAPPA} deviations: where it would look next": ite.promise(search.belief),
    }
    levels = {name: chart.low + chart.span * it for name, it in believed.items()}
    low = min(float(it.min()) for it in levels.values())
    high = max(float(it.max()) for it in levels.values())
    x, y = found.skills.T
    tried = [it.skill for it in search.attempts]
    for axes, (name, level) in zip(panels, levels.items(), strict=True):
        colours = {"cmap": "viridis", "vmin": low, "vmax": high}
        dots = axes.scatter(x, y, c=level, s=DOTS, **colours)
        if axes is panels[0]:
            axes.plot(x[tried], y[tried], color="tab:red", linewidth=0.8)
        axes.scatter(x[tried], y[tried], c=level[tried], s=8 * DOTS, edgecolor="tab:red", **colours)
        numbers(axes, found)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("z, first column")
        axes.set_ylabel("z, second column")
        figure.colorbar(dots, ax=axes, label=f"return over {STEPS} steps")


def numbers(axes: Any, found: Adaptation) -> None:
    """The order of trials; the chosen skill in a second circle."""
    edge = [patheffects.withStroke(linewidth=2, foreground="white")]
    for it in found.search.attempts:
        x, y = found.skills[it.skill]
        axes.text(x, y, str(it.number), ha="center", va="center", fontsize=8, path_effects=edge)
    ring = {"facecolor": "none", "edgecolor": "tab:red", "linewidth": 1.8}
    axes.scatter(*found.skill, s=20 * DOTS, **ring, label="chosen")
    below(axes, columns=1)


def returns(axes: Any, found: Adaptation) -> None:
    """Trial by trial what was predicted and returned; at the sides the fresh rollouts."""
    attempts = found.search.attempts
    number = np.array([it.number for it in attempts])
    seen = np.array([it.trial.ret for it in attempts])
    stopped = np.array([it.trial.aborted for it in attempts])
    leaders = [ite.best(attempts[: it.number]) for it in attempts]
    line = [np.nan if it is None else it.trial.ret for it in leaders]
    mean = np.array([it.mean for it in attempts])
    bound = ite.KAPPA * np.array([it.deviation for it in attempts])
    bars = np.stack([np.zeros_like(bound), bound])
    axes.errorbar(number, mean, bars, fmt="o", color="0.6", capsize=3, label="predicted, and bound")
    axes.step(number, line, where="post", color="tab:red", label="best so far")
    axes.plot(number, seen, "x", color="tab:blue", label="returned")
    if stopped.any():
        axes.plot(number[stopped], seen[stopped], "s", mfc="none", ms=10, label="stopped")
    _again(axes, 0.0, found.before.ret, "tab:orange", "fresh: best before the damage")
    _again(axes, len(attempts) + 1.0, found.after.ret, "tab:green", "fresh: chosen")
    axes.set_xlabel("trial")
    axes.set_ylabel(f"return over {STEPS} steps")
    shown = number[:: -(-len(number) // 10)]
    after = len(attempts) + 1
    axes.set_xticks([0, *shown, after], ["before", *map(str, shown), "chosen"])
    axes.set_title("what was predicted and what was returned", fontsize=10)
    below(axes, columns=3)


def below(axes: Any, columns: int) -> None:
    """The legend under the panel, where it hides nothing."""
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
        ncols=columns,
        fontsize=7,
        frameon=False,
        borderaxespad=0.0,
    )


def _again(axes: Any, at: float, ret: Float[Array, " m"], color: str, name: str) -> None:
    axes.plot(np.full(len(ret), at), ret, ".", color=color)
    measured = ret[np.isfinite(ret)]
    middle = np.median(measured) if len(measured) else np.nan
    axes.hlines(middle, at - 0.3, at + 0.3, color=color, label=name)
