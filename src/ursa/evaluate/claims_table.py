"""The claims table: in Markdown between two marks of a file, in the report, and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ursa import durable
from ursa.errors import UserError
from ursa.evaluate import page
from ursa.evaluate.claim import KINDS, NO_VALUE, Told
from ursa.evaluate.statistics import Summary

START, END = "<!-- claims -->", "<!-- /claims -->"
COLUMNS = (
    "claim",
    "paper",
    "target",
    "ours: median over seeds [95 % bootstrap]",
    "met",
    "command",
    "raw data",
)


def rows(told: Sequence[Told], kind: str, folder: str = "results") -> list[tuple[str, ...]]:
    """Lines of a table, under COLUMNS."""
    return [
        (
            f"{it.claim.number}. {it.claim.text}",
            it.claim.paper,
            it.claim.target or NO_VALUE,
            it.ours,
            it.verdict,
            it.claim.command,
            ", ".join(f"{folder}/{run}" for run in it.claim.recipe.runs) or NO_VALUE,
        )
        for it in told
        if it.claim.kind == kind
    ]


def plain(told: Sequence[Told]) -> list[dict[str, Any]]:
    """As JSON."""
    return [
        {
            "claim": f"{it.claim.number}. {it.claim.text}",
            "kind": it.claim.kind,
            "paper": it.claim.paper,
            "target": it.claim.target,
            "ours": it.found.plain() if isinstance(it.found, Summary) else it.ours,
            "met": it.verdict,
            "command": it.claim.command,
            "runs": list(it.claim.recipe.runs),
        }
        for it in told
    ]


def markdown(told: Sequence[Told]) -> str:
    """A table for each kind of evidence; what was simulated never stands beside what was real."""
    parts = []
    for kind, title in KINDS.items():
        lines = [COLUMNS, ("---",) * len(COLUMNS)]
        for *words, command, raw in rows(told, kind):
            lines.append((*words, f"`{command}`", raw))
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"**{title}**\n\n{table}")
    return "\n\n".join(parts)


def html(told: Sequence[Told]) -> list[str]:
    """The same for the report."""
    tables = [page.plain_table(title, COLUMNS, rows(told, kind)) for kind, title in KINDS.items()]
    return ['<h2 id="claims">Claims</h2>', *tables]


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
