"""Table: rows of cells, each the summary of what every seed of a method gave.

A cell that meets a number that is not finite says so, and where, instead of an average.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ursa.evaluate.statistics import NotFinite, Summary

Cell = Summary | str | None  # None: does not apply to this method; text: an answer, or a complaint
NOT_FINITE, UNDEFINED = "NaN", "undefined"


@dataclass(frozen=True)
class Table:
    """Rows by name; of each, a cell per column."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[Cell, ...]]
    complaints: tuple[str, ...] = ()  # why cells say NaN

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        rows = {
            name: dict(zip(self.columns, map(_plain, cells), strict=True))
            for name, cells in self.rows.items()
        }
        return {"title": self.title, "rows": rows, "complaints": list(self.complaints)}

    def text(self) -> str:
        """For a terminal."""
        shown = self._shown()
        wide = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = [
            "  ".join([line[0].ljust(wide[0]), *map(str.rjust, line[1:], wide[1:])])
            for line in shown
        ]
        return "\n".join([self.title, *lines, *(f"! {it}" for it in self.complaints)])

    def markdown(self) -> str:
        """For a page in Markdown."""
        head, *rest = self._shown()
        rule = ["---", *("---:" for _ in self.columns)]
        lines = [f"| {' | '.join(map(_unbroken, line))} |" for line in (head, rule, *rest)]
        parts = [f"**{self.title}**", "\n".join(lines)]
        if self.complaints:
            parts.append("\n".join(f"* {it}" for it in self.complaints))
        return "\n\n".join(parts)

    def _shown(self) -> list[list[str]]:
        return [["", *self.columns], *([name, *map(said, it)] for name, it in self.rows.items())]


def said(cell: Cell) -> str:
    """A cell as text."""
    return "-" if cell is None else cell if isinstance(cell, str) else cell.said()


def guarded(cell: Callable[[], Cell], complaints: list[str]) -> Cell:
    """The cell, or NaN and one more complaint."""
    try:
        return cell()
    except NotFinite as error:
        if str(error) not in complaints:
            complaints.append(str(error))
        return NOT_FINITE


def _plain(cell: Cell) -> Any:
    return cell.plain() if isinstance(cell, Summary) else cell


def _unbroken(word: str) -> str:
    """A word that does not end its cell of a Markdown table."""
    return word.replace("|", "\\|")
