"""The command line: it lists, it loads late, it names what is wrong."""

import inspect
import signal
import subprocess
import sys
import time

import pytest

from ursa import __version__, cli
from ursa.errors import UserError, unknown

FAKE = '''
from ursa.errors import UserError

def count(legs: int = 4) -> int:
    """Count legs."""
    if legs < 0:
        raise UserError(f"legs = {legs}, but a robot has 0 or more: pass --legs 4")
    return legs

def interrupted() -> None:
    """Stop in the middle."""
    raise KeyboardInterrupt
'''


@pytest.fixture
def fake(tmp_path, monkeypatch):
    (tmp_path / "fake_commands.py").write_text(FAKE)
    monkeypatch.syspath_prepend(str(tmp_path))
    table = {
        "count": cli.Command("fake_commands:count", "count legs"),
        "leg count": cli.Command("fake_commands:count", "count legs, in two words"),
        "stop": cli.Command("fake_commands:interrupted", "stop"),
        "absent": cli.Command("no_such_module:nothing", "never loaded"),
    }
    monkeypatch.setattr(cli, "COMMANDS", table)
    return table


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_command_with_a_line_each(argv, capsys):
    assert cli.main(argv) == 0
    printed = capsys.readouterr().out
    for name, command in cli.COMMANDS.items():
        assert f"  {name}" in printed
        assert command.summary in printed


def test_help_stays_under_eighty_columns():
    assert max(map(len, cli.overview(cli.COMMANDS).splitlines())) <= 80


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"ursa {__version__}\n"


def test_an_unknown_command_is_answered_with_the_valid_ones(capsys):
    assert cli.main(["docter"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        'ursa: unknown command "docter": valid are adapt, compare, demo, doctor, evaluate, look, '
        "replay, report, reproduce, robot adapt, robot check, robot emulate, robot learn, "
        "robot stop, robot train, train, watch; "
        "did you mean doctor?\n"
    )


def test_a_group_alone_lists_its_commands(capsys):
    assert cli.main(["robot"]) == 0
    printed = capsys.readouterr().out
    assert "robot check" in printed
    assert "  watch" not in printed


def test_a_wrong_word_in_a_group_is_named_whole(capsys):
    assert cli.main(["robot", "chek"]) == 2
    assert 'unknown command "robot chek"' in capsys.readouterr().err


def test_an_exit_code_is_passed_on(fake):
    assert cli.main(["count", "--legs", "6"]) == 6
    assert cli.main(["leg", "count"]) == 4


def test_a_user_error_is_one_line_and_code_2(fake, capsys):
    assert cli.main(["count", "--legs", "-1"]) == 2
    assert capsys.readouterr().err == (
        "ursa: legs = -1, but a robot has 0 or more: pass --legs 4\n"
    )


def test_an_option_that_there_is_not_is_code_2_and_the_nearest_is_named(fake, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["count", "--lgs", "6"])
    assert stop.value.code == 2
    assert "--legs" in capsys.readouterr().err


def test_a_value_that_makes_no_sense_is_one_line_and_code_2(fake, capsys):
    assert cli.main(["count", "--legs", "six"]) == 2
    assert capsys.readouterr().err == (
        "ursa: --legs = 'six': want a whole number; see ursa count --help\n"
    )


def test_the_help_of_a_command_shows_its_options_and_its_full_name(fake, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["leg", "count", "--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert "ursa leg count" in printed
    assert "--legs" in printed


def test_an_interrupt_is_quiet(fake, capsys):
    assert cli.main(["stop"]) == 130
    assert capsys.readouterr().err == "ursa: interrupted\n"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_listed_command_loads_and_explains_itself(name):
    assert inspect.getdoc(cli.COMMANDS[name].load())


def test_help_is_quick_and_a_process_agrees_with_the_function():
    times = []
    for _ in range(3):
        start = time.perf_counter()
        command = [sys.executable, "-m", "ursa", "--help"]
        done = subprocess.run(command, capture_output=True, text=True)
        times.append(time.perf_counter() - start)
        assert done.returncode == 0
        assert done.stdout == cli.overview(cli.COMMANDS) + "\n"
    assert min(times) < 0.5


def test_a_process_ends_with_the_code():
    done = subprocess.run([sys.executable, "-m", "ursa", "nothing"], capture_output=True)
    assert done.returncode == 2


@pytest.mark.parametrize("words", [["--help"], ["doctor", "--help"]])
def test_a_reader_that_has_gone_is_no_trouble(words):
    command = [sys.executable, "-m", "ursa", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe) as process:
        process.stdout.close()  # as `| head` does when it has seen enough
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


def test_unknown_offers_the_nearest_name():
    assert isinstance(unknown("robot", "a2", ["a1"]), UserError)
    assert str(unknown("robot", "a2", ["go2", "a1", "point"])) == (
        'unknown robot "a2": valid are a1, go2, point; did you mean a1?'
    )
    assert str(unknown("robot", "A1", ["a1"])) == (
        'unknown robot "A1": valid are a1; did you mean a1?'
    )


def test_unknown_recognises_a_name_of_several_words_by_its_first():
    one, two = ["doctor", "robot check"], ["doctor", "robot check", "robot list"]
    assert str(unknown("command", "robto", one)).endswith("did you mean robot check?")
    assert str(unknown("command", "robto", two)).endswith("did you mean robot?")
    assert str(unknown("command", "robot chekc", two)).endswith("did you mean robot check?")


def test_unknown_does_not_guess_wildly():
    assert "did you mean" not in str(unknown("command", "robto", ["doctor"]))
    assert str(unknown("task", "zzz", ["forward"])) == 'unknown task "zzz": valid are forward'
    assert str(unknown("task", "zzz", [])) == 'unknown task "zzz": none is registered'
