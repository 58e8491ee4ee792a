"""Runs of different lengths, compared: every table says for how long each was trained."""

import json
import re
from dataclasses import replace

import pytest

from evaluate.made import made, study, written
from ursa.evaluate import tables
from ursa.evaluate.compare import compared
from ursa.evaluate.group import gather, grouped
from ursa.evaluate.report import composed
from ursa.evaluate.statistics import Summary
from ursa.evaluate.table import Table

STEPS = {("ursa", 0): 250_000, ("ursa", 1): 600_000, ("dominic", 0): 1_000_000}
TITLE = "; control steps trained: URSA 250,000 to 600,000; DOMiNiC 1,000,000"
HURT = ["Returns after damage", "Returns of the trials after damage", "All 9 damages"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """What is written of two interrupted seeds of one method and a whole one of another."""
    folder = tmp_path_factory.mktemp("lengths")
    found = [made(method, seed, rollouts=16) for method, seed in STEPS]
    found = [
        replace(it, source=replace(it.source, steps=steps))
        for it, steps in zip(found, STEPS.values(), strict=True)
    ]
    groups = gather(written(folder / "results", found), any_length=True)
    (folder / "report.html").write_text(composed([compared(groups, folder, ["training"])]))
    return folder


def titles(found, pattern):
    """How titles begin that say for how long; of all in a file."""
    every = re.findall(pattern, found, re.MULTILINE)
    assert len(every) >= 1 + len(HURT)
    return [it.split(" (")[0].split(",")[0].split(":")[0] for it in every if it.endswith(TITLE)]


def test_text_says_for_how_long(out):
    text = (out / "tables.txt").read_text()
    cells = re.split(r"  +", text.splitlines()[2])
    assert cells == ["control steps trained", "250,000 to 600,000", "1,000,000"]
    assert titles(text, r"(?:^|\n\n)(\S.*)") == HURT


def test_markdown_says_for_how_long(out):
    text = (out / "tables.md").read_text()
    assert text.splitlines()[2:5] == [
        "|  | URSA (n = 2) | DOMiNiC (n = 1) |",
        "| --- | ---: | ---: |",
        "| control steps trained | 250,000 to 600,000 | 1,000,000 |",
    ]
    assert titles(text, r"^\*\*(.*)\*\*$") == HURT


def test_the_page_says_for_how_long(out):
    text = (out / "report.html").read_text()
    row = "<td>control steps trained</td><td>250,000 to 600,000</td><td>1,000,000</td>"
    assert text.count(row) == 1
    assert titles(text, "<caption>(.*?)</caption>") == HURT
    _, measured, *_ = text.split("<table>")  # the first one: what was measured
    assert "<td>250,000 to 600,000</td>" in measured


def test_the_numbers_say_for_how_long(out):
    kept = json.loads((out / "tables.json").read_text())
    assert kept["overview"]["rows"]["control steps trained"] == {
        "URSA (n = 2)": "250,000 to 600,000",
        "DOMiNiC (n = 1)": "1,000,000",
    }
    told = [name for name, it in kept.items() if it["title"].endswith(TITLE)]
    assert told == ["damages", "trials", "robustness"]


def test_runs_of_one_length_have_it_once():
    overview, *others = tables.tables(grouped(study(2, rollouts=16)))
    assert overview.rows["control steps trained"] == ("1,000,000",) * 3
    assert len(others) == 3
    assert not any("control steps" in it.title for it in others)


def test_a_table_in_markdown():
    rows = {"a|b": (Summary(2, 6.0, 5.5, 6.5), None), "c": ("NaN", "nobody")}
    table = Table("x", "Returns", ("URSA", "one|two"), rows, ("c: 1 of 2 not finite",))
    assert table.markdown().splitlines() == [
        "**Returns**",
        "",
        r"|  | URSA | one\|two |",
        "| --- | ---: | ---: |",
        r"| a\|b | 6.00 [5.50, 6.50] | - |",
        "| c | NaN | nobody |",
        "",
        "* c: 1 of 2 not finite",
    ]
