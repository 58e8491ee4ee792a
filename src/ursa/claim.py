"""Claim: one process at a time may write something; the kernel forgets the claim of a dead one."""

import fcntl
import os
import platform
import time
from pathlib import Path

from ursa import durable
from ursa.errors import UserError


class Claim:
    """A lock file that this process holds until `close`, or until it dies, however it dies."""

    def __init__(
        self, path: Path, what: Path | None = None, advice: str = "choose another folder"
    ) -> None:
        """Take it; UserError says who has `what`, by default the path without its suffix."""
        with durable.room_for("a lock", path.parent, 0):
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said = os.pread(lock, 200, 0).decode(errors="replace").strip() or "another process"
            os.close(lock)
            raise UserError(
                f"{what or path.with_suffix('')} is in use by {said}: wait until it ends, or "
                f"{advice}"
            ) from None
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} on {platform.node()}, since {now}\n".encode(), 0)
        self._lock = lock

    def close(self) -> None:
        """Let others have it. The file stays: removing it would let two hold two of them."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def held(path: Path) -> bool:
    """Whether a living process holds the claim of this lock file. Asking disturbs nobody asking."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
