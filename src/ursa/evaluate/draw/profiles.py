"""Profiles: how many skills are met how closely, and how many of those earn how much."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ursa.evaluate import judged, statistics
from ursa.evaluate.draw.style import Look, Numbers, finish, heading, looks, means, page, plain_axes
from ursa.evaluate.group import Group, where

Array = np.ndarray
TITLE = "How closely skills are met, and what the achieved ones earn"
POINTS = 101  # thresholds
FARTHEST = 1.0  # whitened: one standard deviation of the repertoire


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """Both profiles of every method that has features; None if none has."""
    kept = [group for group in groups if all(map(judged.knows, group.seeds))]
    if not kept:
        return None
    told = heading("profiles", kept, statistics.MEDIAN, statistics.QUARTILES)
    every = [
        statistics.finite(it.skills.ret, f"{where(it)}: returns") for g in kept for it in g.seeds
    ]
    returns = np.linspace(min(map(np.min, every)), max(map(np.max, every)), POINTS)
    distances = np.linspace(0, FARTHEST, POINTS)
    achieved = {g.label: np.array([[judged.achieved(it).mean()] for it in g.seeds]) for g in kept}
    return (
        told
        | means("achieved skills, %", achieved, 100)
        | {
            "distances": distances.tolist(),
            "returns": returns.tolist(),
            "series": [_series(group, distances, returns) for group in kept],
        }
    )


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """Distance on the left, performance on the right."""
    figure = page(9.5, 4.2)
    left, right = figure.subplots(1, 2, sharey=True)
    look = looks(numbers["n"])
    for each in numbers["series"]:
        style = look[each["label"]]
        _line(left, numbers["distances"], each["distance"], style, each["label"])
        _line(right, numbers["returns"], each["performance"], style, each["label"])
        delta = statistics.Summary(**each["delta"])
        left.axvline(delta.middle, color=style.color, linewidth=0.9, linestyle=(0, (6, 4)))
        left.annotate(
            f"threshold δ {delta.middle:.3g}",
            (delta.middle, 0.02),
            (4, 0),
            textcoords="offset points",
            size=7,
            color=style.color,
        )
    left.set_title("distance profile: met to within", fontsize=9, loc="left")
    left.set_xlabel("whitened distance of mean φ to z (1: spread of the repertoire)", fontsize=8)
    left.set_ylabel("share of all skills", fontsize=9)
    right.set_title("performance profile: achieved, and earning more than", fontsize=9, loc="left")
    right.set_xlabel("return over 250 steps", fontsize=8)
    for axes in (left, right):
        axes.set_ylim(0, 1.03)
        plain_axes(axes)
    right.legend(fontsize=8, frameon=False)
    note = "achieved: met to within the threshold δ of its own seed"
    return finish(figure, numbers, TITLE, note)


def _series(group: Group, distances: Array, returns: Array) -> dict:
    near, good, deltas = [], [], []
    for each in group.seeds:
        miss, said = judged.miss(each), f"{where(each)}: skills"
        assert each.delta is not None
        deltas.append(each.delta)
        near.append(statistics.distance_profile(miss, distances, said))
        good.append(
            statistics.performance_profile(miss, each.skills.ret, each.delta, returns, said)
        )
    return {
        "label": group.label,
        "skills": [len(each.skills.ret) for each in group.seeds],
        "delta": statistics.summary(deltas, f"{group.label}, thresholds").plain(),
        "distance": _summed(near, group.label),
        "performance": _summed(good, group.label),
    }


def _summed(profiles: list[Array], label: str) -> list[dict]:
    return [statistics.summary(column, label).plain() for column in np.array(profiles).T]


def _line(axes: Axes, x: list[float], cells: list[dict], look: Look, label: str) -> None:
    axes.plot(
        x,
        [cell["middle"] for cell in cells],
        color=look.color,
        linestyle=look.line,
        marker=look.marker,
        markersize=4,
        markevery=10,
        label=label,
    )
    if cells[0]["n"] > 1:
        low, high = ([cell[side] for cell in cells] for side in ("low", "high"))
        axes.fill_between(x, low, high, color=look.color, alpha=0.18, linewidth=0)
