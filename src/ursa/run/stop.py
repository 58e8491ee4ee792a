"""Stop: Ctrl-C and SIGTERM end a run between two columns, with everything saved. No JAX.

Signals are caught before JAX is loaded: it runs Python while memory is collected, and whatever
Ctrl-C raises in there is lost.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STARTING = "stopping; once more to stop at once"
SAVING = "saving; once more to stop at once"
COMPILING = (
    "saving after the present compilation, which may take a minute or two; "
    "once more to stop after it without saving"
)


class Asked:
    """Whether signals have asked for the end, and what the first of them is answered."""

    def __init__(self) -> None:
        self.answer = SAVING
        self.signals: list[int] = []

    def __call__(self) -> bool:
        return bool(self.signals)

    def early(self) -> None:
        """End here if asked: for the stages of a start that has written nothing."""
        if self.signals:
            raise KeyboardInterrupt("stopped before the run began; nothing was written")

    @contextmanager
    def answering(self, answer: str) -> Iterator[None]:
        """A block in which the end is a while away, or means something else."""
        before, self.answer = self.answer, answer
        try:
            yield
        finally:
            self.answer = before


@contextmanager
def on_signal() -> Iterator[Asked]:
    """Whether a signal has asked for the end; a second signal ends the process at once.

    Outside the main thread nothing can be caught, and the answer stays no.
    """
    asked = Asked()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def ask(number: int, _: Any) -> None:
        asked.signals.append(number)
        if len(asked.signals) > 1:  # handlers change here only: one that waits keeps its own
            restore()
            signal.raise_signal(number)
            return
        with suppress(RuntimeError, OSError):  # it came while something else was being printed
            print(f"\nursa: {asked.answer}", file=sys.stderr, flush=True)

    try:
        for number in SIGNALS:
            signal.signal(number, ask)
        yield asked
    finally:
        restore()
