"""The claims table: in Markdown between two marks of a file, in the report, and as JSON."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from ursa import durable
from ursa.errors import UserError
from ursa.evaluate import page
from ursa.evaluate.claim import KINDS, NO_VALUE, TITLES, Told
from ursa.evaluate.evidence import Found

START, END = "<!-- claims -->", "<!-- /claims -->"
COLUMNS = (
    "claim",
    "paper",
    "target",
    "ours",
    "met",
    "command",
    "raw data",
)
MANY = 3  # more that were not run are counted, not named
FOLDED = ("6",)  # long groups, which open on a click
INTERVALS = (
    "Our numbers are medians over seeds with a 95 % bootstrap interval in brackets. Of two seeds "
    "both are given; where a comparison involves a run of two seeds, the range over all pairs of "
    "seeds."
)
CHAPTERS = "The chapters below have medians with quartiles, unless they say otherwise."


def score(told: Sequence[Told]) -> str:
    """How all of them stand, in a few sentences: what was missed is named.

    What bodies can do is counted apart: of some of it the simulated motors take care.
    """
    said = []
    for whose, number in (("", False), (" of bodies (6)", True)):
        wanted = [it for it in told if it.claim.target and (it.claim.number in FOLDED) == number]
        judged = [it for it in wanted if it.verdict != NO_VALUE]
        met = sum(it.verdict == "yes" for it in judged)
        said += [f"Of {len(judged)} targets{whose} {met} are met."] if wanted else []
        missed = [it.claim.text for it in judged if it.verdict == "no"]
        said += [f"Missed: {'; '.join(missed)}."] if missed else []
        odd = [f"{it.claim.text} ({it.found})" for it in wanted if isinstance(it.found, str)]
        said += [f"Without a number: {'; '.join(odd)}."] if odd else []
        left = [it.claim.text for it in wanted if it.found is None]
        few = len(left) <= MANY
        said += [f"Not run: {'; '.join(left) if few else len(left)}."] if left else []
    return " ".join(said)


def rows(told: Sequence[Told], folder: str = "results") -> list[tuple[str, ...]]:
    """Lines of a table, under COLUMNS."""
    return [
        (
            it.claim.text,
            it.claim.paper,
            it.claim.target or NO_VALUE,
            it.ours,
            it.verdict,
            it.claim.command,
            ", ".join(f"{folder}/{run}" for run in it.claim.recipe.runs) or NO_VALUE,
        )
        for it in told
    ]


def groups(told: Sequence[Told], kind: str) -> list[tuple[str, list[Told]]]:
    """The claims of a kind, by their number."""
    mine = [it for it in told if it.claim.kind == kind]
    return [(number, list(them)) for number, them in groupby(mine, lambda it: it.claim.number)]


def plain(told: Sequence[Told]) -> list[dict[str, Any]]:
    """As JSON."""
    return [
        {
            "claim": f"{it.claim.number}. {it.claim.text}",
            "kind": it.claim.kind,
            "paper": it.claim.paper,
            "target": it.claim.target,
            "ours": it.found.plain() if isinstance(it.found, Found) else it.ours,
            "met": it.verdict,
            "command": it.claim.command,
            "runs": list(it.claim.recipe.runs),
        }
        for it in told
    ]


def text(told: Sequence[Told]) -> str:
    """For a terminal, a line each, and how they stand."""
    lines = [
        f"{it.claim.number}. {it.claim.text}: {it.ours}"
        + (f" ({it.claim.target}: {it.verdict})" if it.claim.target else "")
        for it in told
    ]
    return "\n".join([*lines, "", score(told)])


def markdown(told: Sequence[Told]) -> str:
    """A table for each group; what was simulated never stands beside what was real."""
    parts = [INTERVALS, score(told)]
    for kind, title in KINDS.items():
        there = groups(told, kind)
        parts += [f"### {title}"] if there else []
        for number, them in there:
            parts.append(f"#### {number}. {TITLES[number]}")
            table = _table(them)
            if number in FOLDED:
                table = f"<details><summary>{_summed(them)}</summary>\n\n{table}\n\n</details>"
            parts.append(table)
    return "\n\n".join(parts)


def _table(told: Sequence[Told]) -> str:
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    for *words, command, raw in rows(told):
        typed = f"`{command}`" if command.startswith("ursa ") else command
        lines.append((*words, typed, raw))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _summed(told: Sequence[Told]) -> str:
    """How a group stands, in a line."""
    judged = [it.verdict for it in told if it.verdict != NO_VALUE]
    met = judged.count("yes")
    return f"{len(told)} numbers; of {len(judged)} that have a target and were run {met} meet it"


def html(told: Sequence[Told]) -> list[str]:
    """The same for the report."""
    parts = ['<h2 id="claims">Claims</h2>', f"<p>{page.text(f'{INTERVALS} {CHAPTERS}')}</p>"]
    parts.append(f"<p>{page.text(score(told))}</p>")
    for kind, title in KINDS.items():
        there = groups(told, kind)
        parts += [f"<h3>{page.text(title)}</h3>"] if there else []
        parts += [
            page.plain_table(f"{number}. {TITLES[number]}", COLUMNS, rows(them))
            for number, them in there
        ]
    return parts


def inserted(text: str, table: str) -> str:
    """The text with the table between its marks, whatever stood there."""
    if text.count(START) != 1 or text.count(END) != 1 or text.index(END) < text.index(START):
        raise UserError(f"want {START} and {END}, each once, in this order")
    before, rest = text.split(START)
    return f"{before}{START}\n\n{table}\n\n{END}{rest.split(END)[1]}"


def write(told: Sequence[Told], out: Path, readme: Path | None) -> list[Path]:
    """claims.md and claims.json, and the table in a file that has a place for it."""
    table = markdown(told)
    with durable.room_for("the claims", out, 0):
        written = [out / "claims.md", out / "claims.json"]
        written[0].write_text(table + "\n")
        written[1].write_bytes(durable.to_json(plain(told)))
        if readme is not None and readme.is_file() and START in readme.read_text():
            readme.write_text(inserted(readme.read_text(), table))
            written.append(readme)
    return written
