"""The table of docs/reliability.md: every test it names exists, every promise has two."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reliability.md"
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
ROW = re.compile(r"^\| ([A-Z]\d+[a-z]?) \|(.*)\|$", re.MULTILINE)


def rows(text: str) -> dict[str, list[str]]:
    """The cells of every promise by its number."""
    return {
        found[1]: [cell.strip() for cell in found[2].split(" | ")] for found in ROW.finditer(text)
    }


@cache
def functions(file: str) -> frozenset[str]:
    """What a test file offers: its tests, and the promises that it registers for one."""
    path = TESTS / file
    if not path.exists():
        return frozenset()
    nodes = [it for it in ast.parse(path.read_text()).body if isinstance(it, ast.FunctionDef)]
    return frozenset(
        node.name for node in nodes if node.name.startswith("test_") or registered(node)
    )


def registered(node: ast.FunctionDef) -> bool:
    """Whether a function is a promise of the gate: `@broken_by(...)` runs it with and without."""
    calls = [it.func for it in node.decorator_list if isinstance(it, ast.Call)]
    return any(isinstance(it, ast.Name) and it.id == "broken_by" for it in calls)


def complaints(text: str) -> list[str]:
    """What is wrong with the table."""
    wrong = [
        f"{file}::{name} does not exist"
        for file, name in NAMED.findall(text)
        if name not in functions(file)
    ]
    for number, cells in rows(text).items():
        if len(cells) != 4:
            wrong.append(f"{number} has {len(cells)} cells, want fault, promise, tests, without it")
        elif not NAMED.search(cells[2]):
            wrong.append(f"{number} names no test")
        elif not NAMED.search(cells[3]):
            wrong.append(f"{number} names no test without its protection")
    return wrong


def test_every_test_that_the_page_names_exists():
    assert complaints(PAGE.read_text()) == []


def test_the_table_is_there():
    found = rows(PAGE.read_text())
    assert len(found) >= 30
    assert len(NAMED.findall(PAGE.read_text())) >= 100
    assert "R2a" in found
    assert {number[0] for number in found} == set("DPNCRS")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("`gate/test_gate.py::test_of_nothing`", "does not exist"),
        ("`live/test_nowhere.py::test_a`", "does not exist"),
        ("| D1 | a | b | `gate/test_gate.py::ramps_are_slow` | nothing |", "without its"),
        ("| D1 | a | b | nothing | none yet |", "names no test"),
        ("| D1 | a | b | `gate/test_gate.py::ramps_are_slow` |", "has 3 cells"),
        ("`gate/test_gate.py::stands_by_itself`", "does not exist"),  # a helper, not a promise
    ],
)
def test_the_check_finds_what_is_wrong(row, said):
    (found,) = complaints(row)
    assert said in found
