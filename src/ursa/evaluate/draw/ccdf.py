"""CCDF: in what share of the damages a method still earns more than tau (paper, appendix A)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ursa.evaluate import statistics
from ursa.evaluate.coping import Coping, coping
from ursa.evaluate.draw.style import Numbers, finish, heading, looks, means, page, plain_axes
from ursa.evaluate.group import Group

Array = np.ndarray
TITLE = "Share of damages survived with a return above τ"
WAYS = {"again": "what was chosen, once more", "trials": "best of the trials, as the paper counts"}


def numbers(groups: Sequence[Group]) -> Numbers | None:
    """The medians of every method, sorted, and the area under their CCDF."""
    found = coping(groups)
    if not found:
        return None
    kept = [group for group in groups if group.label in {it.group for it in found}]
    told = heading("ccdf", kept, "CCDF of medians over seeds", "none: every step is one damage")
    again = {it.label: it.again for it in found}
    return (
        told
        | means("fresh rollouts of what was chosen, all damages", again)
        | {
            "scenarios": list(found[0].scenarios),
            "series": [each for it in found for each in _series(it)],
        }
    )


def draw(numbers: Numbers, *, one_seed: bool = False) -> Figure:
    """A panel for each way of counting."""
    figure = page(9.5, 4.2)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    look = looks(numbers["n"])
    for axes, (way, text) in zip(panels, WAYS.items(), strict=True):
        for each in numbers["series"]:
            if each[way] is None:
                continue
            medians = np.array(each[way]["medians"])
            tau = np.array([min(0.0, medians.min()), *np.sort(medians)])
            style = look[each["of"]]
            axes.step(
                tau,
                statistics.ccdf(medians, tau, each["label"]),
                where="post",
                color=style.color,
                linestyle=(0, (6, 4)) if each["oracle"] else style.line,
                linewidth=1 if each["oracle"] else 1.8,
                label=f"{each['label']} (area {each[way]['area']:.0f})",
            )
        axes.set_title(text, fontsize=9, loc="left")
        axes.set_xlabel("τ, return over 250 steps", fontsize=9)
        axes.set_ylim(0, 1.03)
        axes.legend(fontsize=7.5, loc="lower left", frameon=False)
        plain_axes(axes)
    panels[0].set_ylabel(f"share of {len(numbers['scenarios'])} damages above τ", fontsize=9)
    return finish(figure, numbers, TITLE, "area: mean over damages of the median, at least 0")


def _series(it: Coping) -> list[dict]:
    def counted(table: Array) -> dict:
        medians = np.median(statistics.finite(table, f"{it.label}, damages"), axis=0)
        return {"medians": medians.tolist(), "area": statistics.ccdf_area(medians, it.label)}

    own = {"label": it.label, "of": it.group, "oracle": False}
    own |= {"trials": counted(it.trials), "again": counted(it.again)}
    if it.oracle is None:
        return [own]
    best = {"label": f"{it.group}, oracle", "of": it.group, "oracle": True}
    return [best | {"trials": counted(it.oracle), "again": None}, own]
