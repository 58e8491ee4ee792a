"""The map from the paper to the code: whatever it names exists, and no row lacks a test."""

import ast
import re
from functools import cache
from pathlib import Path

from test_config import ROWS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "paper.md"
HEAD = ["paper", "what", "function", "test"]


def rows():
    """The cells of every row of every table."""
    table = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
    return [it for it in cells if it != HEAD and not set("".join(it)) <= set("-|")]


def citations(cell):
    """`file: name, name` or `file` alone, as (file, names)."""
    for span in re.findall(r"`([^`]+)`", cell):
        file, _, names = span.partition(": ")
        yield file, [name for name in names.split(", ") if name]


@cache
def named(path):
    """Everything a module defines, members of classes as Class.member."""
    found = set()

    def collect(body, prefix=""):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                collect(node.body, f"{prefix}{node.name}.")
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            found.update(prefix + it.id for it in targets if isinstance(it, ast.Name))

    collect(ast.parse(path.read_text()).body)
    return found


def cited():
    """Every (file, name) of the page, functions and tests; a file alone has no name."""
    for _, _, function, test in rows():
        for cell, place in ((function, ROOT / "src" / "ursa"), (test, ROOT / "tests")):
            for file, names in citations(cell):
                yield from ((place / file, name) for name in names or [""])


def test_every_row_has_four_cells_and_a_test():
    assert len(rows()) > 100
    for row in rows():
        assert len(row) == len(HEAD), row
        assert list(citations(row[3])), row


def test_whatever_the_map_names_exists():
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, name in sorted(set(cited()))
        if not path.is_file() or (name and name not in named(path))
    ]
    assert not missing


def test_every_row_of_the_paper_s_table_is_a_row_of_the_map():
    assert [what.partition(" = ")[0] for paper, what, *_ in rows() if paper == "Table 1"] == [*ROWS]


def test_what_does_not_exist_is_found(tmp_path):
    (tmp_path / "page.py").write_text(
        "A, B = 1, 2\nC: int = 3\nclass D:\n    e: int = 4\n    def f(self): ...\n"
    )
    assert named(tmp_path / "page.py") == {"C", "D", "D.e", "D.f"}
    assert list(citations("`a/b.py: c, d.e`, `f.toml`; words")) == [
        ("a/b.py", ["c", "d.e"]),
        ("f.toml", []),
    ]
