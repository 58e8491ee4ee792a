"""Gallery: every figure by name, what it is about, and how to draw those that can be drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from ursa.errors import unknown
from ursa.evaluate.draw import (
    angles,
    ccdf,
    coverage,
    damages,
    evolution,
    profiles,
    repertoire,
    tracking,
    training,
    value,
)
from ursa.evaluate.draw.style import Numbers, save
from ursa.evaluate.group import Group
from ursa.evaluate.statistics import NotFinite


@dataclass(frozen=True)
class Plan:
    """One figure: its numbers, its picture, the questions it answers."""

    title: str
    questions: tuple[str, ...]  # names in `question.py`
    about: str  # one sentence for a reader
    numbers: Callable[[Sequence[Group]], Numbers | None]
    draw: Callable[..., Figure]


def _plan(module, questions: tuple[str, ...], about: str) -> Plan:
    return Plan(module.TITLE, questions, about, module.numbers, module.draw)


FIGURES: Mapping[str, Plan] = {
    "repertoire": _plan(
        repertoire,
        ("rq1",),
        "Where the discovered skills lie, what the agent expects of each, and what it earned.",
    ),
    "angles": _plan(
        angles,
        ("rq1",),
        "Which average postures behaviours reach: the same joint of two legs on every plane.",
    ),
    "coverage": _plan(
        coverage,
        ("rq1",),
        "The share of cells filled. More rollouts fill more cells, hence four ways of counting.",
    ),
    "profiles": _plan(
        profiles,
        ("rq1",),
        "How many skills are met to within a distance, and how many of the achieved ones earn "
        "more than a return.",
    ),
    "value": _plan(
        value,
        ("rq1",),
        "The prior that damage adaptation starts from: useful as far as it ranks skills rightly.",
    ),
    "damages": _plan(
        damages,
        ("rq2", "alone", "small"),
        "What is left when joints or whole legs fail. Who wins is decided by fresh "
        "rollouts of what was chosen, not by the trials it was chosen from.",
    ),
    "evolution": _plan(
        evolution,
        ("rq2",),
        "How quickly trial and error finds a skill that still works.",
    ),
    "training": _plan(
        training,
        ("rq2", "alone", "small"),
        "Reward while learning, with exploration noise and all skills.",
    ),
    "ccdf": _plan(
        ccdf,
        ("rq2",),
        "In what share of the damages a method still earns more than a return: the further to "
        "the right, the more robust.",
    ),
    "tracking": _plan(
        tracking,
        ("rq3",),
        "How far velocity commands are missed, on the true state, where a known skill is near.",
    ),
}


@dataclass(frozen=True)
class Drawn:
    """A figure on disk."""

    name: str
    numbers: Numbers
    png: Path
    inches: float  # how wide

    @property
    def plan(self) -> Plan:
        return FIGURES[self.name]


@dataclass(frozen=True)
class Gallery:
    """What was drawn, what was never measured, and where numbers were not finite."""

    drawn: tuple[Drawn, ...]
    absent: tuple[str, ...]
    complaints: tuple[str, ...]


def refuse_unknown(names: Sequence[str]) -> None:
    """Names that no figure has."""
    for name in names:
        if name not in FIGURES:
            raise unknown("figure", name, FIGURES)


def figures(
    groups: Sequence[Group], folder: Path, names: Sequence[str] = (), *, one_seed: bool = False
) -> Gallery:
    """Draw the named figures, or all, into a folder: PNG, PDF and JSON of each."""
    drawn, absent, complaints = [], [], []
    for name in names or FIGURES:
        try:
            numbers = FIGURES[name].numbers(groups)
        except NotFinite as error:
            complaints.append(f"figure {name} is not drawn: {error}")
            continue
        if numbers is None:
            absent.append(name)
            continue
        complaints += numbers.get("complaints", ())
        picture = FIGURES[name].draw(numbers, one_seed=one_seed)
        png = save(picture, numbers, folder, name)[0]
        drawn.append(Drawn(name, numbers, png, float(picture.get_size_inches()[0])))
    return Gallery(tuple(drawn), tuple(absent), tuple(complaints))
