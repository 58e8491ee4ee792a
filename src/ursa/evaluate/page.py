"""Page: HTML that needs nothing but itself. Pictures and numbers are inside it."""

import base64
import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ursa.evaluate.draw.gallery import Drawn
from ursa.evaluate.draw.style import said
from ursa.evaluate.table import Table
from ursa.evaluate.table import said as cell_said

PIXELS = 105  # of the page for an inch of a figure
LONG = 36  # letters of a cell beyond which its column is words, and may take several lines
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: #1c1c1c;
  background: #fff; max-width: 70rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { margin-top: 2.6rem; border-bottom: 2px solid
  #0072B2; padding-bottom: .2rem; } h3 { margin: 2rem 0 .3rem; }
p, li { max-width: 50rem; } .small { color: #555; font-size: .85rem; }
figure { margin: .6rem 0 1.6rem; } figure img { max-width: 100%; height: auto; display: block;
  border: 1px solid #ddd; } figcaption { font-size: .9rem; color: #333; margin-top: .4rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .82rem;
  font-variant-numeric: tabular-nums; margin: .6rem 0 1.2rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem;
  font-size: .95rem; }
th, td { padding: .22rem .7rem; text-align: right; border-bottom: 1px solid #e4e4e4;
  white-space: nowrap; } th { white-space: normal; }
th:first-child, td:first-child, .words { text-align: left; }
td:first-child, .words { white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }
thead th { border-bottom: 2px solid #999; } tbody tr:nth-child(even) { background: #f6f8fa; }
.bad { border-left: 4px solid #D55E00; background: #fdf1ea; padding: .5rem .9rem; }
nav a { margin-right: 1rem; } pre { background: #f6f8fa; padding: .8rem; overflow-x: auto;
  font-size: .78rem; } summary { cursor: pointer; } dt { font-weight: 600; margin-top: .5rem; }
@media print { details { display: none; } figure { break-inside: avoid; } }
"""


def page(title: str, body: Iterable[str]) -> str:
    """A whole document."""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
            *body,
            "</body>\n</html>\n",
        ]
    )


def text(words: object) -> str:
    """Words as they are, whatever is in them."""
    return html.escape(str(words))


def table(found: Table) -> str:
    """A table of cells."""
    rows = [[name, *map(cell_said, cells)] for name, cells in found.rows.items()]
    return plain_table(found.title, ["", *found.columns], rows) + complaints(found.complaints)


def plain_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; words, as in the first column, may take several lines, numbers stay in one."""
    shown = [[str(it) for it in row] for row in rows]
    long = [any(len(row[k]) > LONG for row in shown) for k in range(len(columns))]
    kinds = [' class="words"' if k and wide else "" for k, wide in enumerate(long)]
    head = "".join(
        f'<th scope="col"{kind}>{text(it)}</th>' for it, kind in zip(columns, kinds, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(f"<td{kind}>{text(it)}</td>" for it, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for row in shown
    )
    return (
        f'<div class="scroll"><table><caption>{text(title)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def complaints(told: Sequence[str]) -> str:
    """What was not finite, so that nobody overlooks it."""
    if not told:
        return ""
    return '<ul class="bad">' + "".join(f"<li>{text(it)}</li>" for it in told) + "</ul>"


def figure(drawn: Drawn, chapter: str) -> str:
    """A picture with what it is about, and its numbers to take away."""
    name = text(f"{chapter}-{drawn.name}")
    picture = base64.b64encode(drawn.png.read_bytes()).decode()
    numbers = base64.b64encode(json.dumps(drawn.numbers).encode()).decode()
    wide = round(PIXELS * drawn.inches)
    alt = f"{drawn.plan.title}. {drawn.plan.about} {said(drawn.numbers)}"
    return (
        f'<figure id="{name}">'
        f'<img width="{wide}" src="data:image/png;base64,{picture}" alt="{text(alt)}">'
        f"<figcaption>{text(drawn.plan.about)} "
        f'<a download="{name}.json" href="data:application/json;base64,{numbers}">'
        "numbers</a></figcaption></figure>"
    )


def definitions(terms: Iterable[tuple[str, str]]) -> str:
    return (
        "<dl>"
        + "".join(f"<dt>{text(term)}</dt><dd>{text(words)}</dd>" for term, words in terms)
        + "</dl>"
    )


def items(words: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{text(it)}</li>" for it in words) + "</ul>"


def folded(title: str, value: Any) -> str:
    """Something long that opens on a click."""
    told = json.dumps(value, indent=1, sort_keys=True)
    return f"<details><summary>{text(title)}</summary><pre>{text(told)}</pre></details>"
