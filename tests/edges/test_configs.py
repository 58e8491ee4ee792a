"""Bad settings: whatever is wrong, and wherever it is written, one screen says what and why.

Every setting is made wrong in every way it can be, and given in the three ways that users have:
to `ursa.train`, in a run's config.json, as a flag. Each answer names the setting, its value and
what is allowed, the exit code is 2, and nothing is written.
"""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import cattrs
import pytest

import ursa
from edges.bad_settings import Case, single, together
from ursa import cli
from ursa.errors import UserError
from ursa.presets import tiny
from ursa.run import settings

SECTIONS = {name for name, value in asdict(tiny()).items() if isinstance(value, dict)}
SINGLE, TOGETHER = list(single()), list(together())
OURS = ("want", "valid are", "choose a task", "leave out", "use the MuJoCo")
TYRO = ("Perhaps you meant",)
LINES, COLUMNS = 24, 100  # of a screen


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A folder in which a user works; nothing may appear there, and nothing is trained."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ursa.run.train.train", refuse_to_train)
    (tmp_path / "old").mkdir()
    return tmp_path


def lying(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(it), it.stat().st_mtime_ns) for it in folder.rglob("*") if it.is_file())


def screen(text: str) -> int:
    """Lines that a terminal takes for a text."""
    return sum(1 + len(line) // COLUMNS for line in text.splitlines())


def wrong_with(answer: str, says: tuple[str, ...]) -> list[str]:
    """What an answer lacks."""
    plain = " ".join(answer.replace("│", " ").split())
    plain = f"{plain} {plain.replace('-', '_')}"  # a flag has the one where a setting has the other
    lacking = [f"does not say {part!r}" for part in says if part not in plain]
    if not any(word in plain for word in (*OURS, *TYRO)):
        lacking.append("does not say what is allowed")
    if "Traceback" in answer:
        lacking.append("is a traceback")
    if screen(answer) > LINES:
        lacking.append(f"takes {screen(answer)} lines")
    return lacking


def by_python(bench: Path, changes: dict) -> str:
    try:
        ursa.train("tiny", out=bench / "new", quiet=True, **changes)
    except UserError as error:
        return str(error)
    raise AssertionError("it was accepted")


def by_file(bench: Path, changes: dict, capsys) -> str:
    """The same change in a run's config.json, which is then resumed."""
    raw = json.loads(json.dumps(asdict(tiny())))
    for name, value in changes.items():
        section, key = settings.SHORT.get(name, (name, None))
        both = isinstance(raw.get(name), dict) and isinstance(value, dict)
        raw[section] = {**raw[section], key: value} if key else value
        raw[section] = {**asdict(tiny())[name], **value} if both else raw[section]
    (bench / "old" / "config.json").write_text(json.dumps(raw))
    before = lying(bench)
    assert cli.main(["train", "--resume", str(bench / "old")]) == 2
    assert lying(bench) == before
    return capsys.readouterr().err


def by_flags(bench: Path, flags: list[str], capsys) -> str:
    words = ["train", "--preset", "tiny", "--out", str(bench / "new"), *flags]
    try:
        code = cli.main(words)
    except SystemExit as stop:  # tyro answers what is no flag
        code = stop.code
    assert code == 2
    return capsys.readouterr().err


def judged(cases, answer, bench: Path, empty: bool = True) -> str:
    """Every answer of a list of cases that is not as promised, a line each."""
    bad = []
    for case in cases:
        try:
            lacking = wrong_with(answer(case), case.says)
        except (Exception, AssertionError) as error:
            lacking = [f"{type(error).__name__}: {error}"[:200]]
        bad += [f"{case}: {it}" for it in lacking]
    if empty and lying(bench):
        bad.append(f"written: {lying(bench)}")
    return "\n".join(bad)


def in_files(case: Case) -> bool:
    """Whether JSON has a way to write it that differs from what the user typed."""
    return not (type(case.value) is int and case.value > 10**4000)


def in_shells(case: Case) -> bool:
    """Whether it can be typed and is still wrong then; a word of pages would be repeated whole."""
    if case.flag is None or len(case.flag) > 500 or "joints" in case.path:
        return False
    if case.path.removesuffix(case.path[-1]) in SECTIONS or case.path in SECTIONS:
        return False  # a section is no flag
    return case.way != "wrong type" or isinstance(case.value, str)


def typed(case: Case) -> tuple[str, ...]:
    """What the answer to a flag must hold: of a misspelt one, the flag that was meant."""
    if case.way != "misspelt":
        return case.says
    return f"--{case.path.replace('_', '-')}", f"--{case.path[:-1].replace('_', '-')}"


def test_there_are_hundreds_of_cases_in_every_way():
    assert len(SINGLE) >= 700
    assert len(TOGETHER) >= 20
    ways = {case.way for case in SINGLE}
    assert ways >= {"wrong type", "not a number", "infinite", "negative", "zero", "huge"}
    assert ways >= {"misspelt", "out of range"}


def test_python_is_answered_in_one_screen(bench):
    assert judged(SINGLE, lambda case: by_python(bench, case.changes), bench) == ""


def test_a_file_is_answered_in_one_screen(bench, capsys):
    cases = [case for case in SINGLE if in_files(case)]
    assert judged(cases, lambda case: by_file(bench, case.changes, capsys), bench, False) == ""


def test_flags_are_answered_in_one_screen(bench, capsys):
    cases = [replace(case, says=typed(case)) for case in SINGLE if in_shells(case)][::6]
    assert len(cases) >= 80
    assert judged(cases, lambda case: by_flags(bench, [case.flag], capsys), bench) == ""


def test_the_cases_of_one_file_are_those_of_a_process(bench):
    chosen = [case for case in SINGLE if in_shells(case)][::120]
    assert 3 <= len(chosen) <= 6
    for case in chosen:
        words = [sys.executable, "-m", "ursa", "train", "--out", "new", str(case.flag)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
    assert lying(bench) == []


@pytest.mark.parametrize(("changes", "says"), TOGETHER, ids=str)
def test_settings_that_exclude_each_other_are_told_apart(bench, capsys, changes, says):
    assert wrong_with(by_python(bench, changes), says) == []
    assert lying(bench) == []
    assert wrong_with(by_file(bench, changes, capsys), says) == []


def test_with_everything_wrong_the_answer_is_still_one_screen(bench):
    raw = asdict(tiny())
    changes = {
        name: dict.fromkeys(value, -1.5) if isinstance(value, dict) else -1.5
        for name, value in raw.items()
    }
    answer = by_python(bench, changes)
    assert screen(answer) <= LINES
    assert "more" in answer


def test_a_setting_given_twice_in_a_file_is_refused(bench, capsys):
    text = json.dumps(asdict(tiny()))
    (bench / "old" / "config.json").write_text(text.replace('"seed": 0', '"seed": 0, "seed": 1'))
    assert cli.main(["train", "--resume", "old"]) == 2
    assert '"seed" is there twice' in capsys.readouterr().err


# Sabotage: the same checks on a program without its protections


def test_without_the_limits_the_check_fails(bench, monkeypatch):
    monkeypatch.setattr("ursa.run.preflight.complaints", lambda config: [])
    some = [case for case in SINGLE if case.way in ("huge", "zero", "negative")]
    some = [case for case in some if case.path.startswith("world.")]
    found = judged(some, lambda case: by_python(bench, case.changes), bench)
    assert found.count("it would train") > 40


def test_with_unknown_keys_ignored_the_check_fails(bench, monkeypatch):
    monkeypatch.setattr(settings, "_CONVERTER", cattrs.Converter(forbid_extra_keys=False))
    some = [case for case in SINGLE if case.way == "misspelt"][:20]
    found = judged(some, lambda case: by_python(bench, case.changes), bench)
    assert found.count("it would train") == 20


def test_a_program_that_writes_before_it_checks_is_caught(bench, monkeypatch):
    from ursa.run import preflight

    check = preflight.check

    def untidy(config):
        Path("outputs").mkdir(exist_ok=True)
        Path("outputs/note").write_text("starting")
        return check(config)

    monkeypatch.setattr(preflight, "check", untidy)
    some = [case for case in SINGLE if case.path == "world.deter" and case.way == "zero"]
    found = judged(some, lambda case: by_python(bench, case.changes), bench)
    assert found.startswith("written: ")


def refuse_to_train(*_, **__):
    raise AssertionError("it would train")
