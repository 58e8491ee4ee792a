"""V(s0, z) against the measured return: does an agent know what its skills are worth?"""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ursa.evaluate import judged, statistics
from ursa.evaluate.definitions import STEPS
from ursa.evaluate.draw.style import Numbers, finish, heading, looks, means, page, plain_axes
from ursa.evaluate.group import Group, where
from ursa.evaluate.results import Results

TITLE = "What skills promise and what they earn"
MOST = 5  # seeds drawn


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """Promised and measured returns, and their rank correlation, of every seed."""
    kept = [group for group in groups if all(map(judged.knows, group.seeds))]
    if not kept:
        return None
    told = heading("value", kept, "median of Spearman's rank correlation", statistics.QUARTILES)
    panels = [_panel(group.label, each) for group in kept for each in group.seeds]
    spearman, ranks = {}, {}
    for group in kept:
        found = [it["spearman"] for it in panels if it["label"] == group.label]
        if None not in found:
            spearman[group.label] = statistics.summary(found, group.label).plain()
            ranks[group.label] = np.array(found)[:, None]
    return told | means("rank correlation", ranks) | {"spearman": spearman, "panels": panels}


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """A panel for each seed."""
    panels = numbers["panels"][:MOST]
    figure = page(0.6 + 2.3 * max(2, len(panels)), 3.6)
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    look = looks(numbers["n"])
    every = np.concatenate([it[name] for it in panels for name in ("promised", "measured")])
    ends = [every.min(), every.max()]
    for axes, panel in zip(grid, panels, strict=True):
        axes.plot(ends, ends, color="0.6", linewidth=0.8, zorder=0)
        safe = np.array(panel["safe"])
        for rows, fill, name in ((safe, True, "safe rollout"), (~safe, False, "not safe")):
            color = look[panel["label"]].color if fill else "0.45"
            axes.scatter(
                np.array(panel["promised"])[rows],
                np.array(panel["measured"])[rows],
                s=8 if fill else 14,
                marker="o" if fill else "x",
                color=color,
                alpha=0.55 if fill else 0.9,
                linewidths=0 if fill else 0.8,
                label=name,
            )
        order = "no order" if panel["spearman"] is None else f"Spearman {panel['spearman']:.2f}"
        axes.set_title(f"{panel['label']}, seed {panel['seed']}: {order}", fontsize=8)
        axes.set_xlabel(f"{STEPS} V(s₀, z)", fontsize=8)
        plain_axes(axes)
    grid[0].set_ylabel(f"measured return over {STEPS} steps", fontsize=8)
    grid[0].legend(fontsize=7, frameon=False, loc="upper left")
    found = [
        f"{label}: Spearman's rank correlation {statistics.Summary(**summed).said()}"
        for label, summed in numbers["spearman"].items()
    ]
    return finish(figure, numbers, TITLE, "; ".join([*found, "grey line: as promised"]))


def _panel(label: str, found: Results) -> dict:
    tried, said = found.skills, where(found)
    return {
        "label": label,
        "seed": found.source.seed,
        "promised": (STEPS * statistics.finite(tried.value, f"{said}: values")).tolist(),
        "measured": statistics.finite(tried.ret, f"{said}: returns").tolist(),
        "safe": judged.safe(tried).tolist(),
        "spearman": statistics.spearman(tried.value, tried.ret, f"{said}: values and returns"),
    }
