"""`ursa compare`: tables and figures of several runs or methods, from their results alone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional

from ursa import durable
from ursa.evaluate.draw.gallery import Gallery, figures, refuse_unknown
from ursa.evaluate.group import Group, gather
from ursa.evaluate.table import Table
from ursa.evaluate.tables import tables

INCOMPLETE = 1  # exit code: written, but something was not finite
OUT = Path("outputs/compare")


@dataclass(frozen=True)
class Comparison:
    """Groups that can be compared, with all that was made of them."""

    groups: tuple[Group, ...]
    tables: tuple[Table, ...]
    gallery: Gallery
    chapter: str = ""  # of a report; unset is its task

    @property
    def name(self) -> str:
        """What its chapter is called."""
        return self.chapter or self.groups[0].seeds[0].source.task

    @property
    def complaints(self) -> tuple[str, ...]:
        """Where numbers were not finite; each once."""
        told = [it for table in self.tables for it in table.complaints]
        return tuple(dict.fromkeys([*told, *self.gallery.complaints]))

    def joined(self, other: "Comparison") -> "Comparison":
        """The figures of both; their groups, and so their tables, are the same."""
        mine, theirs = self.gallery, other.gallery
        both = Gallery(
            (*mine.drawn, *theirs.drawn),
            (*mine.absent, *theirs.absent),
            (*mine.complaints, *theirs.complaints),
        )
        return replace(self, gallery=both)


def compare(
    runs: Annotated[tuple[Path, ...], Positional],
    out: Path = OUT,
    figure: tuple[str, ...] = (),
    one_seed: bool = False,
    any_length: bool = False,
) -> int:
    """Compare methods: tables and figures from the results of several runs.

    Seeds of the same settings are put together; medians and quartiles are over them. Writes
    tables.txt, tables.md, tables.json and every figure as PNG, PDF and JSON (its numbers). Needs no
    GPU and no agent, only what `ursa evaluate` wrote.

      ursa compare outputs/ursa outputs/dominic outputs/daydreamer
      ursa compare results/forward-ursa results/forward-daydreamer --figure damages ccdf

    Args:
        runs: Runs that were evaluated, folders of results, or results files.
        out: Folder for tables and figures.
        figure: Only these figures; unset is all that were measured.
        one_seed: Draw bars even where there is one seed, which has no interval.
        any_length: Also runs that are unfinished, or that lived for different numbers of steps;
            each table says for how many.
    """
    groups = gather(runs, any_length=any_length)
    made = compared(groups, out, figure, one_seed=one_seed)
    print(told(made))
    written = [out / f"tables.{kind}" for kind in ("txt", "md", "json")]
    for path in (*written, *(it.png for it in made.gallery.drawn)):
        print(f"-> {path}")
    return INCOMPLETE if made.complaints else 0


def compared(
    groups: Sequence[Group],
    out: Path,
    names: Sequence[str] = (),
    *,
    one_seed: bool = False,
    chapter: str = "",
) -> Comparison:
    """Tables and figures in a folder."""
    durable.refuse_unwritable(out)
    refuse_unknown(names)
    found = tables(groups)
    with durable.room_for("tables and figures", out, 0):
        gallery = figures(groups, out, names, one_seed=one_seed)
        for kind, shown in (("txt", Table.text), ("md", Table.markdown)):
            (out / f"tables.{kind}").write_text("\n\n".join(map(shown, found)) + "\n")
        plain = {table.name: table.plain() for table in found}
        (out / "tables.json").write_text(json.dumps(plain, indent=1, allow_nan=False) + "\n")
    return Comparison(tuple(groups), tuple(found), gallery, chapter)


def told(made: Comparison) -> str:
    """What a terminal shows."""
    parts = [table.text() for table in made.tables]
    if made.gallery.absent:
        parts.append(f"not measured, not drawn: {', '.join(made.gallery.absent)}")
    if alone := [it.label for it in made.groups if it.n == 1]:
        parts.append(
            f"one seed has no interval: {', '.join(alone)} (--one-seed draws its bars anyway)"
        )
    known = {it for table in made.tables for it in table.complaints}  # said below their tables
    parts.append("\n".join(f"! {it}" for it in made.gallery.complaints if it not in known))
    return "\n\n".join(part for part in parts if part)
