"""Stop: Ctrl-C and SIGTERM end a run between two columns, with everything saved. No JAX."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_signal() -> Iterator[Callable[[], bool]]:
    """Whether a signal has asked for the end; a second signal ends the process at once.

    Outside the main thread nothing can be caught, and the answer stays no.
    """
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def ask(number: int, _: Any) -> None:
        asked.append(number)
        if len(asked) > 1:  # handlers change here only: one that waits behind this keeps its own
            restore()
            signal.raise_signal(number)
            return
        print("\nursa: saving; once more to stop at once", file=sys.stderr, flush=True)

    try:
        for number in SIGNALS:
            signal.signal(number, ask)
        yield lambda: bool(asked)
    finally:
        restore()
