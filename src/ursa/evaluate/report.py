"""`ursa report`: one HTML page about several runs that opens from disk, without a network."""

import inspect
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional

import ursa
from ursa import durable
from ursa.errors import UserError
from ursa.evaluate import definitions, page
from ursa.evaluate.compare import INCOMPLETE, Comparison, compared
from ursa.evaluate.group import Group, apart
from ursa.evaluate.tables import lived

OUT = Path("outputs/report.html")
CHAPTERS = {
    "forward": "Forward: skills discovered without supervision",
    "alone": "One robot alone: five hours, as on the paper's real robot, in simulation",
    "small": "The same with a learner so small that a laptop carries it",
    "velocity": "Velocity: skills are commands",
}
TERMS = ("safe", "moving", "leaps", "achieved", "distinct", "span", "winner")
ASYMMETRIES = (
    "URSA has hundreds of skills, DOMiNiC eight, DayDreamer one. More skills fill more cells and "
    "give more to choose from after damage; hence equal numbers of rollouts, and 8 against 8, "
    "beside the paper's way of counting.",
    "The oracle tries all skills on the damaged robot. No robot could; it is an upper bound, and "
    "the best of many noisy rollouts at that.",
    "The best of several noisy trials is too good on average. Who wins is decided by fresh "
    "rollouts of what was chosen.",
    "URSA's features are learnt from joint angles and height, and coverage counts joint angles.",
    "DOMiNiC was re-implemented here on the same world model; its features and how its "
    "diversity acts are our choice.",
    "The list of damages and the way joints fail are inferred: the paper does not give them.",
    "URSA's reward during training averages over all of its skills, DayDreamer's over one.",
    "The paper simulates in PyBullet; where the physics named above is another, returns are those "
    "of another task and cannot be put beside the paper's.",
    "Reward terms that the paper does not define were chosen: compare methods, not returns with "
    "the paper.",
)


def report(
    runs: Annotated[tuple[Path, ...], Positional],
    out: Path | None = None,
    one_seed: bool = False,
    any_length: bool = False,
) -> int:
    """Write one HTML page about runs: tables, figures, settings, definitions.

    Everything is inside the page: it opens from disk and can be sent as one file. Runs of several
    tasks become one chapter each.

      ursa report outputs/ursa outputs/dominic outputs/daydreamer --out report.html

    Args:
        runs: Runs that were evaluated, folders of results, or results files.
        out: The page; unset is report.html in the run, or outputs/report.html of several.
        one_seed: Draw bars even where there is one seed, which has no interval.
        any_length: Also runs that are unfinished, or that lived for different numbers of steps.
    """
    chapters = apart(runs, any_length=any_length)
    alone = len(runs) == 1 and runs[0].is_dir()
    place = out or (runs[0] / "report.html" if alone else OUT)
    if place.is_dir():
        raise UserError(f"{place} is a folder: give a file, such as {place / 'report.html'}")
    with tempfile.TemporaryDirectory() as folder:
        made = [
            compared(groups, Path(folder) / task, one_seed=one_seed)
            for task, groups in chapters.items()
        ]
        written(made, place)
    print(f"-> {place}")
    wrong = [it for each in made for it in each.complaints]
    for complaint in wrong:
        print(f"NOT FINITE: {complaint}")
    return INCOMPLETE if wrong else 0


def written(made: Sequence[Comparison], place: Path, claims: Sequence[str] = ()) -> None:
    """The page of these comparisons, whole or not at all; claims, if any, lead it."""
    document = composed(made, claims).encode()
    with durable.room_for(place.name, place.parent, len(document)):
        part = place.with_name(f"tmp.{place.name}")
        durable.write(part, document)
        durable.rename(part, place)


def composed(made: Sequence[Comparison], claims: Sequence[str] = ()) -> str:
    """The document."""
    groups = [group for each in made for group in each.groups]
    named = {f"{it.label}, {each.name}": it.seeds[0].config for each in made for it in each.groups}
    first = groups[0].seeds[0].source
    labels = ", ".join(dict.fromkeys(it.label for it in groups))
    title = f"{labels} on {first.robot}"
    body = [
        f"<h1>{page.text(title)}</h1>",
        '<p class="small">Made by ursa '
        f"{page.text(ursa.__version__)}, an independent implementation of the method of Grillotti "
        "et al. (CoRL 2025), from the raw results alone. Everything below was measured in "
        "simulation.</p>",
        _contents(made, claims),
        page.complaints([it for each in made for it in each.complaints]),
        *claims,
        _sources(groups),
        *(part for each in made for part in _chapter(each)),
        '<h2 id="definitions">Definitions</h2>',
        f"<p>{page.text(_rollout())}</p>",
        page.definitions(_terms()),
        "<p>Intervals: median with the 25th and 75th percentile (linear interpolation) over "
        "seeds, as in the paper; interquartile mean with a 95 % stratified bootstrap interval "
        "(seeds drawn anew for every damage, 2000 draws) beside it. A number that is not finite "
        "is reported above and never averaged. One seed has no interval.</p>",
        '<h2 id="asymmetries">What is not equal</h2>',
        page.items(ASYMMETRIES),
        '<h2 id="settings">Settings</h2>',
        _differences(named),
        *(page.folded(f"{name}: all settings", it) for name, it in named.items()),
    ]
    return page.page(title, body)


def _contents(made: Sequence[Comparison], claims: Sequence[str]) -> str:
    places = [("claims", "claims")] if claims else []
    places += [(f"task-{each.name}", each.name) for each in made]
    places += [(it, it) for it in ("definitions", "asymmetries", "settings")]
    links = "".join(f'<a href="#{page.text(to)}">{page.text(word)}</a>' for to, word in places)
    return f"<nav>{links}</nav>"


def _sources(groups: Sequence[Group]) -> str:
    rows = [
        (
            group.label,
            ", ".join(sorted({it.source.run for it in group.seeds})),
            it.source.robot,
            it.source.task,
            ", ".join(str(each.source.seed) for each in group.seeds),
            lived(group),
            "-" if group.robots is None else group.robots,
            f"{it.source.engine}, {1e3 * it.source.tick:g} ms",
            len(it.skills.ret),
        )
        for group in groups
        for it in group.seeds[:1]
    ]
    names = (
        *("method", "run", "robot", "task", "seeds", "control steps", "of robots"),
        *("physics", "rollouts"),
    )
    return page.plain_table("What was measured", names, rows)


def _chapter(made: Comparison) -> list[str]:
    name = made.name
    parts = [f'<h2 id="task-{page.text(name)}">{page.text(CHAPTERS.get(name, name))}</h2>']
    parts += [page.table(it) for it in made.tables]
    parts += [page.figure(it, name) for it in made.gallery.drawn]
    if made.gallery.absent:
        absent = ", ".join(made.gallery.absent)
        parts.append(f'<p class="small">Not measured here: {page.text(absent)}.</p>')
    return parts


def _rollout() -> str:
    """What the module of definitions says of itself, the part about a rollout."""
    told = inspect.getdoc(definitions) or ""
    return " ".join(told.split("\n\n")[-1].replace("**", "").split())


def _terms() -> list[tuple[str, str]]:
    return [
        (name, " ".join((inspect.getdoc(getattr(definitions, name)) or "").split()))
        for name in TERMS
    ]


def _differences(configs: Mapping[str, dict[str, Any]]) -> str:
    """Settings in which the methods differ; all others are the same."""
    flat = [dict(_flat(it)) for it in configs.values()]
    names = sorted(set().union(*flat))
    rows = [
        (name, *(each.get(name, "-") for each in flat))
        for name in names
        if len({str(each.get(name)) for each in flat}) > 1 and name not in ("seed", "seeds")
    ]
    if not rows:
        return "<p>All settings are the same.</p>"
    return page.plain_table("Settings that differ", ("", *configs), rows)


def _flat(value: Any, name: str = "") -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(name, value)]
    inner = [_flat(each, f"{name}.{key}" if name else str(key)) for key, each in value.items()]
    return [pair for pairs in inner for pair in pairs]
