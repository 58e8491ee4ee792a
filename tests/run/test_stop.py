"""A first signal asks, a second one insists."""

import os
import signal
import threading

import pytest

from ursa.run.stop import on_signal


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
