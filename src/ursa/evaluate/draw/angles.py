"""Average joint angles on 18 planes: which cells a method's behaviours reach (paper, RQ1)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure

from ursa.evaluate import judged, statistics
from ursa.evaluate.coverage import BINS, filled, planes
from ursa.evaluate.draw.coverage import covered
from ursa.evaluate.draw.style import Numbers, finish, heading, looks, means, page
from ursa.evaluate.group import Group, where
from ursa.robot.registry import robot
from ursa.robot.spec import LEG_PARTS, RobotSpec

Array = np.ndarray
TITLE = "Average joint angles of safe rollouts"


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """The cells of one seed of each method, and the shares of all; None for a robot without legs.

    One seed, that of the median share: methods with more seeds would look as if they filled more.
    """
    spec = robot(groups[0].seeds[0].source.robot)
    if not spec.legs:
        return None
    told = heading("angles", groups, "median of coverage", statistics.QUARTILES)
    low, high = spec.of_joints("low"), spec.of_joints("high")
    series = [_series(group, spec) for group in groups]
    shares = {it["label"]: np.array(it["per_seed"])[:, None] for it in series}
    return (
        told
        | means("coverage, %", shares, 100)
        | {
            "bins": BINS,
            "planes": [
                {
                    "joints": [spec.joint_names[one], spec.joint_names[other]],
                    "low": [low[one], low[other]],
                    "high": [high[one], high[other]],
                }
                for one, other in planes(spec)
            ],
            "series": series,
        }
    )


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """Three rows of six planes for each method, of one seed."""
    series, look = numbers["series"], looks(numbers["n"])
    wide = max(1, len(numbers["planes"]) // len(LEG_PARTS))
    figure = page(1.15 * wide + 1.0, 0.7 + 3.75 * len(series))
    parts = figure.subfigures(len(series), 1, squeeze=False)[:, 0]
    for part, each in zip(parts, series, strict=True):
        _block(part, numbers, each, look[each["label"]].color, wide)
    note = (
        f"each plane {BINS} x {BINS} cells over the angles that actions can ask for, rad; a cell "
    )
    note += "is filled where the mean joint angles of a rollout lie; of one seed of each method"
    return finish(figure, numbers, TITLE, note)


def _series(group: Group, spec: RobotSpec) -> dict:
    for each in group.seeds:
        statistics.finite(each.skills.joint_angle, f"{where(each)}: joint angles")
    shares = [covered(each, spec, "equal", "safe") for each in group.seeds]
    middle = group.seeds[int(np.argsort(shares, kind="stable")[(group.n - 1) // 2])]
    planes_of = filled(middle.skills.joint_angle[judged.safe(middle.skills)], spec)
    return {
        "label": group.label,
        "seed": middle.source.seed,
        "rollouts": len(middle.skills.ret),
        "coverage": statistics.summary(shares, f"{group.label}, coverage").plain(),
        "per_seed": shares,
        "cells": [np.argwhere(plane).tolist() for plane in planes_of],  # by plane: column, row
    }


def _block(part: SubFigure, numbers: Numbers, each: dict, color: str, wide: int) -> None:
    summed = statistics.Summary(**each["coverage"])
    part.suptitle(
        f"{each['label']}, seed {each['seed']}: {each['rollouts']} rollouts; "
        f"coverage of its seeds {summed.said(2, 100)} %",
        fontsize=9,
        x=0.02,
        ha="left",
    )
    shades = LinearSegmentedColormap.from_list("", ["white", color])
    grid = part.subplots(len(LEG_PARTS), wide, squeeze=False).ravel()
    for index, (axes, plane) in enumerate(zip(grid, numbers["planes"], strict=True)):
        picture = np.zeros((numbers["bins"], numbers["bins"]))
        for i, j in each["cells"][index]:
            picture[j, i] = 1.0
        (left, low), (right, high) = plane["low"], plane["high"]
        extent = (left, right, low, high)
        axes.imshow(
            picture,
            origin="lower",
            extent=extent,
            aspect="auto",
            cmap=shades,
            vmin=0,
            vmax=1,
            interpolation="none",
        )
        _named(axes, plane["joints"])
        axes.set_xticks([left, right], [f"{left:.1f}", f"{right:.1f}"])
        axes.set_yticks([low, high], [f"{low:.1f}", f"{high:.1f}"])


def _named(axes: Axes, joints: list[str]) -> None:
    axes.set_xlabel(joints[0], fontsize=6, labelpad=-5)
    axes.set_ylabel(joints[1], fontsize=6, labelpad=-8)
    axes.tick_params(labelsize=5, length=2, pad=1)
    axes.set_box_aspect(1)
