"""Flags: values from words, and one line in plain words for a value that makes no sense."""

import importlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest
from tyro.conf import Positional

from ursa import cli
from ursa.config import Config
from ursa.errors import UserError
from ursa.flags import parsed, sentence
from ursa.run import command


@dataclass(frozen=True)
class Leg:
    stiff: bool = True  # not stiff is an ablation
    spare: bool = False


@dataclass(frozen=True)
class Walk:
    """A walk."""

    where: Annotated[Path | None, Positional] = None  # to which place
    steps: int | None = None  # how many
    speed: float = 1.0
    gait: Literal["trot", "bound"] = "trot"
    load: dict[str, float] | None = None
    leg: Leg = field(default_factory=Leg)


def walk(*words: str) -> Walk:
    return parsed(Walk, words, "ursa walk")


def shown(capsys, call) -> str:
    """A page of help, its frames left out."""
    with pytest.raises(SystemExit) as stop:
        call()
    assert stop.value.code == 0
    return " ".join(re.sub("[─-╿]", " ", capsys.readouterr().out).split())


def test_words_become_values_and_what_is_left_out_stays_unset():
    assert walk() == Walk()
    assert walk("here", "--steps", "3", "--speed", "2") == Walk(Path("here"), 3, 2.0)
    assert walk("--load", "back", "0.5", "tail", "1").load == {"back": 0.5, "tail": 1.0}
    assert walk("--leg.no-stiff", "--leg.spare").leg == Leg(stiff=False, spare=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--steps", "abc"], "--steps = 'abc': want a whole number"),
        (["--steps", "1e6"], "--steps = '1e6': want a whole number"),
        (["--steps", "None"], "--steps = 'None': want a whole number"),
        (["--speed", "fast"], "--speed = 'fast': want a number"),
        (["--gait", "hop"], "--gait = 'hop': want one of trot, bound"),
        (["--steps"], "--steps has no value: want --steps INT"),
        (["--load", "back", "heavy"], "--load: want [STR FLOAT [STR FLOAT ...]]"),
        (["--load", "back"], "--load: want [STR FLOAT [STR FLOAT ...]]"),
    ],
)
def test_a_value_that_makes_no_sense_is_one_line_with_what_is_allowed(words, said):
    with pytest.raises(UserError) as caught:
        walk(*words)
    assert str(caught.value) == f"{said}; see ursa walk --help"


def test_a_value_of_pages_is_shortened():
    with pytest.raises(UserError) as caught:
        walk("--steps", "q" * 10_000)
    assert len(str(caught.value)) < 200


def test_an_unset_value_is_shown_as_what_it_would_be(capsys):
    page = shown(capsys, lambda: walk("--help"))
    assert "usage: ursa walk [-h] [OPTIONS] [PATH]" in page
    assert "--steps INT how many (default: none)" in page
    assert "--load [STR FLOAT [STR FLOAT ...]] (default: none)" in page
    assert "--speed FLOAT (default: 1.0)" in page


def test_a_switch_that_is_on_says_by_name_what_is_on(capsys):
    page = shown(capsys, lambda: walk("--help"))
    assert "--leg.no-stiff not stiff is an ablation (default: stiff on)" in page
    assert "--leg.spare (default: False)" in page


def test_every_switch_of_a_run_reads_rightly_whichever_way_it_is_shown(capsys):
    paper = shown(capsys, lambda: command.parse(["--preset", "paper", "--help"]))
    literal = shown(capsys, lambda: command.parse(["--preset", "literal", "--help"]))
    safety = "--behavior.no-safety no safety is an ablation: lambda_safe = 0 (default: safety on)"
    assert safety in paper
    assert re.search(r"--velocity\.gated gated: the terms as printed; .*\(default: False\)", paper)
    assert re.search(r"--velocity\.no-gated gated: the terms .* \(default: gated on\)", literal)


def test_no_help_of_a_setting_gives_the_number_of_one_preset(capsys):
    page = shown(capsys, lambda: command.parse(["--help"]))
    assert "batch * length are the dream starts of an update (default: 8)" in page
    assert str(Config().train.batch * Config().train.length) not in page.replace(
        "default: 1024", ""
    )


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_no_page_of_help_speaks_of_none_or_of_classes(name, capsys):
    page = shown(capsys, lambda: cli.main([*name.split(), "--help"]))
    assert f"usage: ursa {name}" in page
    assert "None" not in page
    assert "<class" not in page


def test_where_tyro_does_not_tell_of_refusals_its_own_answer_stands(monkeypatch, capsys):
    monkeypatch.delattr(importlib.import_module("tyro._errors"), "on_parse_error")
    with pytest.raises(SystemExit) as stop:
        walk("--steps", "abc")
    assert stop.value.code == 2
    assert "'abc': want a whole number" in capsys.readouterr().err


def test_a_refusal_that_tells_other_things_is_left_to_tyro(monkeypatch, capsys):
    def changed(event):
        raise AttributeError("display_name")

    monkeypatch.setattr("ursa.flags.sentence", changed)
    with pytest.raises(SystemExit) as stop:
        walk("--steps", "abc")
    assert stop.value.code == 2
    assert "'abc': want a whole number" in capsys.readouterr().err
    assert sentence(object()) is None


def test_what_is_no_option_is_answered_with_the_nearest(capsys):
    with pytest.raises(SystemExit) as stop:
        walk("--stebs", "3")
    assert stop.value.code == 2
    assert "--steps INT" in capsys.readouterr().err
