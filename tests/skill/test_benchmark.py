"""The repertoire's benchmark runs, and its lines have the one form."""

import json

import pytest
from benchmarks import repertoire, report


def test_every_line_is_an_object_on_the_screen_and_in_the_file(tmp_path, capsys):
    report.run(lambda: repertoire.repertoire((64,)), ["--json", str(tmp_path / "lines.json")])
    text = capsys.readouterr().out
    assert (tmp_path / "lines.json").read_text() == text
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(line.keys() >= {"case", "value", "unit"} and line["value"] > 0 for line in lines)
    compared = lines[0]
    assert compared["case"] == "insert 32 rows into 64"
    again = next(line for line in lines if line["case"] == "recompute all neighbours of 64")
    assert compared["ratio"] == pytest.approx(
        32 * 1e3 * again["value"] / compared["value"], rel=0.01
    )


def test_a_line_holds_what_was_given_and_no_more(capsys):
    report.emit("jump", 1.23456789, "m")
    report.emit("jump", 2, "m", reference="the record", ratio=0.2235)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"case": "jump", "value": 1.235, "unit": "m"}
    assert second == {
        "case": "jump",
        "value": 2,
        "unit": "m",
        "reference": "the record",
        "ratio": 0.2235,
    }


def test_the_median_is_taken_after_a_warm_up():
    calls = []
    assert report.seconds(lambda: calls.append(1), repeats=3) < 0.01
    assert len(calls) == 4
