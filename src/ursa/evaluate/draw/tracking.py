"""Velocity tracking: how far commands are missed, with the repertoire on top (paper, RQ3)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ursa.evaluate import definitions, judged, statistics
from ursa.evaluate.draw.style import Numbers, finish, heading, means, page
from ursa.evaluate.group import Group, measured, where
from ursa.evaluate.results import Results

Array = np.ndarray
TITLE = "Velocity tracking error"
WHEN = {"late": "the last 200 steps", "whole": "all 250 steps"}


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """Errors of every command a seed can be asked for; None if nobody was asked."""
    kept = measured(groups, "tracking")
    if not kept:
        return None
    told = heading(
        "tracking", kept, "median over reachable commands, of that over seeds", _QUARTILES
    )
    series = [_series(group) for group in kept]
    missed = {
        it["label"]: np.array([[one["late"]["medians"]["joint"]] for one in it["seeds"]])
        for it in series
    }
    return told | means("whitened error, the last 200 steps", missed) | {"series": series}


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """Forward speed, yaw rate, both whitened: the middle seed of each method, a row each."""
    series = numbers["series"]
    figure = page(11, 0.9 + 3.3 * len(series))
    grid = figure.subplots(len(series), 3, squeeze=False)
    for row, each in zip(grid, series, strict=True):
        shown = next(it for it in each["seeds"] if it["seed"] == each["shown"])
        panels = (
            ("error of v, m/s", np.array(shown["late"]["each"])[:, 0]),
            ("error of ω, rad/s", np.array(shown["late"]["each"])[:, 1]),
            ("whitened distance", np.array(shown["late"]["joint"])),
        )
        for axes, (name, error) in zip(row, panels, strict=True):
            _map(figure, axes, shown, error, name)
        row[0].set_ylabel(f"{each['label']}, seed {each['shown']}\nyaw rate ω*, rad/s", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("forward speed v*, m/s", fontsize=8)
    lines = []
    for each in series:
        for when, text in WHEN.items():
            found = {name: statistics.Summary(**it).said() for name, it in each[when].items()}
            lines.append(
                f"{each['label']}, {text}: speed {found['speed']} m/s, yaw rate {found['yaw']} "
                f"rad/s, whitened {found['joint']}; within δ: {found['within']} of the commands"
            )
    dots = " or ".join(dict.fromkeys(it["which"] for each in series for it in each["seeds"]))
    lines.append(
        f"dots: {dots} of the repertoire; hatched: farther than two thresholds from every skill in "
        "it; the seed shown is the one in the middle by whitened error; errors: mean over the "
        "rollouts of a command"
    )
    return finish(figure, numbers, TITLE, *lines)


_QUARTILES = f"{statistics.QUARTILES} over seeds"


def _series(group: Group) -> dict:
    seeds = [_seed(each) for each in group.seeds]
    told: dict = {"label": group.label, "seeds": seeds}
    for when in WHEN:
        told[when] = {
            name: statistics.summary(
                [it[when]["medians"][name] for it in seeds], f"{group.label}, tracking"
            ).plain()
            for name in ("speed", "yaw", "joint", "within")
        }
    order = sorted(seeds, key=lambda it: it["late"]["medians"]["joint"])
    return told | {"shown": order[(len(order) - 1) // 2]["seed"]}


def _seed(found: Results) -> dict:
    tracked, said = found.tracking, f"{where(found)}: tracking"
    assert tracked is not None
    assert found.ruler is not None
    assert found.delta is not None
    asked = tracked.command[:, None]
    told: dict = {
        "seed": found.source.seed,
        "delta": found.delta,
        "command": tracked.command.tolist(),
        "reachable": tracked.reachable.tolist(),
        "repertoire": found.skills.z.tolist(),
        "which": judged.which(found),
        "rollouts": tracked.late.shape[1],
    }
    for when, reached in (("late", tracked.late), ("whole", tracked.whole)):
        each = definitions.tracking_error(statistics.finite(reached, said), tracked.command)
        joint = definitions.separation(reached, np.broadcast_to(asked, reached.shape), found.ruler)
        joint = joint.mean(axis=1)
        can = tracked.reachable
        if not can.any():
            raise statistics.NotFinite(f"{said}: no command lies near a skill it knows")
        told[when] = {
            "each": each.tolist(),
            "joint": joint.tolist(),
            "medians": {
                "speed": float(np.median(each[can, 0])),
                "yaw": float(np.median(each[can, 1])),
                "joint": float(np.median(joint[can])),
                "within": float((joint[can] <= found.delta).mean()),
            },
        }
    return told


def _map(figure: Figure, axes: Axes, shown: dict, error: Array, name: str) -> None:
    """One error over the grid of commands; what is not reachable stays hatched."""
    command, can = np.array(shown["command"]), np.array(shown["reachable"])
    x, y = (np.unique(command[:, k]) for k in (0, 1))
    picture = np.full((len(y), len(x)), np.nan)
    column, line = np.searchsorted(x, command[:, 0]), np.searchsorted(y, command[:, 1])
    picture[line[can], column[can]] = error[can]
    mesh = axes.pcolormesh(x, y, picture, cmap="viridis_r", vmin=0, shading="nearest")
    known = np.array(shown["repertoire"])
    axes.scatter(known[:, 0], known[:, 1], s=2.5, color="black", alpha=0.55, linewidths=0)
    bar = figure.colorbar(mesh, ax=axes, pad=0.01)
    bar.ax.tick_params(labelsize=7)
    axes.set_title(name, fontsize=9, loc="left")
    axes.tick_params(labelsize=7)
    axes.patch.set(facecolor="white", edgecolor="0.8", hatch="xxxx")
