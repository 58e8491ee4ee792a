"""Sleepers: who waits on a shared clock. While time stands still, silence is no hang."""

from collections.abc import Callable

from ursa.errors import UserError
from ursa.shared.clock import ANSWERED, ASKED, ATTENDS, KIND, PARTIES, VERSION, path_of, words_of
from ursa.shared.mapped import Mapped


class Sleepers:
    """A look at a shared clock, if there is one."""

    def __init__(self, clock: str) -> None:
        self._memory: Mapped | None = None
        self._path = None if clock == "wall" else path_of(clock)

    def of(self, party: str) -> Callable[[], bool]:
        """A question: whether a party sleeps on the clock just now."""
        return lambda: self._asleep(party)

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()

    def _asleep(self, party: str) -> bool:
        if self._path is None or party not in PARTIES:
            return False
        if self._memory is None:
            try:
                self._memory = Mapped(self._path, KIND, VERSION)
            except UserError:  # its keeper has not begun: who waits for it ends by itself
                return False
        words = words_of(self._memory, party)
        try:
            return words[ATTENDS] != 0 and words[ASKED] != words[ANSWERED]
        finally:
            words.release()
