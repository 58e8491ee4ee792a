"""Logbook: the file that the processes of one role write to, one after the other.

It is opened once, before there is a robot to look after, and read by a thread of its own: whoever
starts a process, or tells how one ended, waits for no disk.
"""

import os
from collections.abc import Callable
from pathlib import Path

from ursa.errors import UserError, shortened
from ursa.live.outlet import Outlet

MOST = 2000  # bytes at the end of it that are looked at
LONGEST = 300  # letters of a line that are told
PATIENCE = 1.0  # s in which the disk gives nothing, then nobody waits for last words


class Logbook:
    """Where a role writes, and what its last process said."""

    def __init__(self, path: Path, role: str, say: Callable[[str], None]) -> None:
        """UserError if it cannot be written."""
        self.path, self._role, self._say = path, role, say
        try:
            path.parent.mkdir(exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self.handle = os.open(path, flags, 0o644)
            self._told = os.fstat(self.handle).st_size  # what is before is of processes before
        except OSError as error:
            raise UserError(
                f"could not write to {path}: {error.strerror}; check the disk, and start again"
            ) from error
        self._outlet: Outlet[int] = Outlet(self._tell, f"log of {role}")

    def tell(self, lines: int) -> None:
        """Say the last lines of a process that has ended, as soon as the disk gives them."""
        self._outlet.put(lines)

    def close(self) -> None:
        """When the last words are out, or the disk gives none."""
        if self._outlet.close(PATIENCE):  # or else its thread still has the file in hand
            os.close(self.handle)

    def _tell(self, lines: int) -> None:
        found = self._read()[-lines:]
        if len(found) == 1:
            self._say(f"the last words of {self._role}: {found[0]}")
        elif found:
            self._say(f"the end of {self.path}:\n  " + "\n  ".join(found))

    def _read(self) -> list[str]:
        """What was written since this was last asked, or the end of that; without empty lines."""
        begun, self._told = self._told, os.fstat(self.handle).st_size
        first = max(min(begun, self._told), self._told - MOST)
        data = os.pread(self.handle, self._told - first, first)
        lines = data.decode(errors="replace").splitlines()
        return [shortened(each.rstrip(), LONGEST) for each in lines if each.strip()]
