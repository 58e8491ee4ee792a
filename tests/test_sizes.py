"""Sizes of the long tests: one table, told to contributors as it is, changed by the environment."""

import re
from pathlib import Path

import pytest

from sizes import SIZES, patience, size

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| `(URSA_\w+)` \|[^|]*\| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_contributors_are_told_every_size_as_it_is():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert {name: (number(one), number(two)) for name, one, two in ROW.findall(text)} == SIZES


def test_sizes_are_read_in_one_place():
    read = re.compile(r"environ[^\n]*[\"']URSA_")
    files = {path.name for path in (ROOT / "tests").rglob("*.py") if read.search(path.read_text())}
    assert files == {"sizes.py"}


def test_the_environment_goes_before_the_soak_and_the_soak_before_the_ordinary(monkeypatch):
    for name in (*SIZES, "URSA_SOAK"):
        monkeypatch.delenv(name, raising=False)
    assert size("URSA_STACK_KILLS") == 30
    assert patience("URSA_STACK_KILLS", 60.0) == 60.0
    monkeypatch.setenv("URSA_SOAK", "1")
    assert size("URSA_STACK_KILLS") == 500
    assert patience("URSA_STACK_KILLS", 60.0) == pytest.approx(1000.0)  # 500 / 30 of a minute
    monkeypatch.setenv("URSA_STACK_KILLS", "3")
    assert size("URSA_STACK_KILLS") == 3
    assert patience("URSA_STACK_KILLS", 60.0) == 60.0  # never less than the ordinary


def test_a_soak_is_never_shorter():
    assert all(soak >= ordinary for ordinary, soak in SIZES.values())


def test_the_soak_repeats_every_test_that_reads_a_size_or_waits_for_it():
    recipe = (ROOT / "Makefile").read_text().partition("SOAK :=")[2].partition("soak:")[0]
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        theirs = re.search(r"size\([\"']URSA_", text) or re.search(
            r"^@pytest.mark.soak", text, re.M
        )
        if theirs and name != "tests/test_sizes.py":
            assert name in recipe or name.startswith("tests/log/"), name
