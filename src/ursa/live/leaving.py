"""Leaving: a signal ends a block there and then, and no other cuts its end short."""

from types import FrameType

from ursa.live.child import Ending


class Leaving(Ending):
    """As an `Ending`, for who computes for long and looks at nothing meanwhile: the first signal
    raises KeyboardInterrupt wherever it is. All others until `close` do nothing."""

    def begin(self) -> None:
        """The end begins, for whatever reason: from now on the first does nothing, either."""
        self._over = True

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if not self._over:
            self._over = True
            raise KeyboardInterrupt
