"""The repertoire, coloured by what its skills promise and by what they earn (paper, RQ1)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ursa.evaluate import statistics
from ursa.evaluate.definitions import STEPS
from ursa.evaluate.draw.style import Numbers, feature_names, finish, heading, page, plain
from ursa.evaluate.group import Group, where
from ursa.evaluate.judged import knows, which
from ursa.evaluate.results import Results

TITLE = "Skills of the repertoire"
MOST = 5  # seeds drawn
ROWS = {"promised": "promised: V(s₀, z)", "measured": "measured"}


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """Skills, promised and measured returns of every seed; None if nobody has a repertoire."""
    kept = [group for group in groups if all(map(knows, group.seeds))]
    if not kept:
        return None
    told = heading("repertoire", kept, "every dot is one skill, one rollout", "none")
    panels = [_panel(group.label, each) for group in kept for each in group.seeds]
    complaints = [
        f"{panel['label']}, seed {panel['seed']}: {bad} of {len(panel['z'])} {name} are not finite"
        for panel in panels
        for name in ROWS
        if (bad := panel[name].count(None))
    ]
    return told | {"panels": panels, "complaints": complaints}


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """A column for each seed, promised above measured, one scale of colours."""
    panels = numbers["panels"][:MOST]
    figure = page(1.2 + 2.3 * max(2, len(panels)), 5.6)
    grid = figure.subplots(len(ROWS), len(panels), sharex=True, sharey=True, squeeze=False)
    returns = np.array([panel[row] for panel in panels for row in ROWS], float)
    low, high = np.nanpercentile(returns, (1, 99)) if np.isfinite(returns).any() else (0, 1)
    x_name, y_name = feature_names(numbers)
    dots = None
    for row, name in enumerate(ROWS):
        for axes, panel in zip(grid[row], panels, strict=True):
            z, shown = np.array(panel["z"]), np.array(panel[name], float)
            known = np.isfinite(shown)
            across = z[:, 1] if z.shape[1] > 1 else np.zeros(len(z))
            axes.plot(z[~known, 0], across[~known], "x", color="red", markersize=4)
            dots = axes.scatter(
                z[known, 0],
                across[known],
                c=shown[known],
                s=min(40, max(7, 4000 / len(z))),
                vmin=low,
                vmax=high,
                cmap="viridis",
                linewidths=0,
            )
            axes.tick_params(labelsize=7)
            if row == 0:
                axes.set_title(f"{panel['label']}, seed {panel['seed']}", fontsize=9)
            else:
                axes.set_xlabel(x_name, fontsize=8)
        grid[row, 0].set_ylabel(f"{ROWS[name]}\n{y_name}", fontsize=8)
    assert dots is not None
    bar = figure.colorbar(dots, ax=grid, extend="both", aspect=40, pad=0.01)
    bar.set_label(f"return over {STEPS} steps", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    note = f"{panels[0]['which']} of each seed; colours from the 1st to the 99th percentile"
    if numbers["complaints"]:
        note += "; red crosses: not finite"
    left = len(numbers["panels"]) - len(panels)
    if left:
        note += f"; {left} more seeds not drawn"
    return finish(figure, numbers, TITLE, note)


def _panel(label: str, found: Results) -> dict:
    tried = found.skills
    return {
        "label": label,
        "seed": found.source.seed,
        "which": which(found),
        "z": statistics.finite(tried.z, f"{where(found)}: skills").tolist(),
        "promised": plain(STEPS * tried.value),
        "measured": plain(tried.ret),
    }
