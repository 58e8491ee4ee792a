"""A first signal asks, a second one insists; from the first instant of a run on."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from ursa import cli
from ursa.run.stop import COMPILING, Asked, on_signal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_asks_and_says_so(number, capsys):
    before = signal.getsignal(number)
    with on_signal() as asked:
        assert not asked()
        os.kill(os.getpid(), number)
        assert asked()
        assert "once more to stop at once" in capsys.readouterr().err
    assert signal.getsignal(number) == before


@pytest.fixture
def heeded():
    """Ctrl-C as in a terminal; a shell that starts tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_a_second_one_is_not_caught():
    with on_signal() as asked:
        os.kill(os.getpid(), signal.SIGINT)
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_without_a_signal_everything_is_as_before():
    before = signal.getsignal(signal.SIGTERM)
    with on_signal():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_another_thread_leaves_signals_alone():
    answers = []

    def ask():
        with on_signal() as asked:
            answers.append(asked())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert answers == [False]


def test_while_something_compiles_the_answer_says_that_it_takes_a_while(capsys):
    with on_signal() as asked, asked.answering(COMPILING):
        os.kill(os.getpid(), signal.SIGINT)
        assert "after the present compilation" in capsys.readouterr().err
    assert asked.answer != COMPILING


def test_a_start_that_is_asked_to_end_ends():
    asked = Asked()
    asked.early()
    asked.signals.append(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt, match="nothing was written"):
        asked.early()


def test_a_command_that_is_interrupted_says_what_it_knows(monkeypatch, capsys):
    for words, said in (((), "interrupted"), (("nothing was written",), "nothing was written")):

        def interrupted(*_, words=words):
            raise KeyboardInterrupt(*words)

        monkeypatch.setattr(cli, "dispatch", interrupted)
        assert cli.main([]) == 130
        assert capsys.readouterr().err == f"ursa: {said}\n"


# Ctrl-C while memory is collected, after JAX was loaded: what is raised there is printed and lost.
COLLECTING = """
import gc, os, signal, sys
from ursa.cli import main

def interrupt(phase, info):
    if "jax" in sys.modules:
        gc.callbacks.remove(interrupt)
        os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
gc.callbacks.append(interrupt)
sys.exit(main(sys.argv[1:]))
"""
TINY = ["train", "--robot", "point", "--task", "point", "--preset", "tiny", "--out", "run"]
NOTHING = "ursa: stopped before the run began; nothing was written\n"


def test_ctrl_c_while_memory_is_collected_ends_a_start_that_leaves_nothing(tmp_path):
    words = [sys.executable, "-c", COLLECTING, *TINY]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 130, done.stderr
    assert "ursa: stopping; once more to stop at once" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.stderr.endswith(NOTHING)
    assert not (tmp_path / "run").exists()


def test_a_signal_in_the_first_seconds_ends_a_start_that_leaves_nothing(tmp_path):
    words = [sys.executable, "-m", "ursa", *TINY]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert "loading JAX" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait(100) == 130, said
    assert said.endswith(NOTHING)
    assert not (tmp_path / "run").exists()
