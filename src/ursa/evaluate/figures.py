"""Figures: what an agent knows and does, drawn without a screen."""

from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.figure import Figure

from ursa.evaluate.coverage import planes
from ursa.robot.spec import RobotSpec

Array = np.ndarray
DOTS = 14  # area of a skill on paper


def repertoire(
    path: Path,
    skills: Float[Array, "n D"],
    value: Float[Array, " n"],
    asked: Float[Array, "m D"],
    achieved: Float[Array, "m D"],
    title: str,
) -> None:
    """All skills coloured by what they promise, and where robots that asked for some of them came.

    The first two columns of a skill are drawn; of a single one, a line.
    """
    figure = Figure(figsize=(11, 5), layout="constrained")
    known, tried = figure.subplots(1, 2, sharex=True, sharey=True)
    x, y = _plane(skills)
    dots = known.scatter(x, y, c=value, s=DOTS, cmap="viridis")
    figure.colorbar(dots, ax=known, label="V(rest, z): reward per step it expects")
    known.set_title(f"{len(skills)} skills it knows")
    tried.scatter(x, y, s=DOTS / 2, color="0.85")
    (from_x, from_y), (to_x, to_y) = _plane(asked), _plane(achieved)
    tried.quiver(
        from_x,
        from_y,
        to_x - from_x,
        to_y - from_y,
        angles="xy",
        scale_units="xy",
        scale=1,
        width=0.003,
        color="0.4",
    )
    tried.scatter(from_x, from_y, s=DOTS, color="tab:blue", label="asked for")
    tried.scatter(to_x, to_y, s=DOTS, color="tab:red", marker="x", label="achieved, mean")
    tried.set_title(f"{len(asked)} of them, tried")
    tried.legend(loc="best")
    for axes in (known, tried):
        axes.set_xlabel("z, first column")
    known.set_ylabel("z, second column" if skills.shape[1] > 1 else "")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)


def coverage(
    path: Path,
    spec: RobotSpec,
    mine: Bool[Array, "planes bins bins"],
    chance: Bool[Array, "planes bins bins"],
    title: str,
) -> None:
    """The cells of every plane: reached by skills, by chance, by both."""
    pairs = planes(spec)
    wide = max(1, len(pairs) // 3)
    figure = Figure(figsize=(1.9 * wide, 6.4), layout="constrained")
    places = figure.subplots(3, wide, squeeze=False).ravel()
    low, high = spec.of_joints("low"), spec.of_joints("high")
    for axes, (one, other), skills, random in zip(places, pairs, mine, chance, strict=False):
        picture = np.ones((*skills.shape, 3))
        picture[skills & ~random] = SKILLS
        picture[random & ~skills] = CHANCE
        picture[skills & random] = BOTH
        extent = (low[one], high[one], low[other], high[other])
        axes.imshow(picture.swapaxes(0, 1), origin="lower", extent=extent, aspect="auto")
        axes.set_xlabel(spec.joint_names[one], fontsize=7, labelpad=1)
        axes.set_ylabel(spec.joint_names[other], fontsize=7, labelpad=1)
        axes.tick_params(labelsize=5, length=2)
    figure.suptitle(f"{title}\nmean joint angles (rad): blue skills, orange chance, grey both")
    figure.savefig(path, dpi=110)


SKILLS, CHANCE, BOTH = (0.12, 0.47, 0.71), (1.0, 0.6, 0.2), (0.5, 0.5, 0.5)


def _plane(skills: Float[Array, "n D"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    return skills[:, 0], skills[:, 1] if skills.shape[1] > 1 else np.zeros(len(skills))
