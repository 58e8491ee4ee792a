"""Claim: one process at a time may write something; the kernel forgets the claim of a dead one."""

import fcntl
import os
import platform
import pwd
import stat
import time
from contextlib import suppress
from pathlib import Path

from ursa import durable
from ursa.errors import UserError

NAMED = 0.5  # seconds that a process may take from holding a claim to saying so
LOOKS = 3  # at a claim that is held, before it is believed
EVERYBODYS = stat.S_ISVTX | stat.S_IWOTH  # of a folder where every account may make files


class Claim:
    """A lock file that this process holds until `close`, or until it dies, however it dies."""

    def __init__(
        self, path: Path, what: Path | None = None, advice: str = "choose another folder"
    ) -> None:
        """Take it; UserError says who has `what`, by default the path without its suffix."""
        lock = _opened(path)
        holder = _taken(lock)
        if holder is not None:
            os.close(lock)
            raise UserError(
                f"{what or path.with_suffix('')} is in use by {holder}: wait until it ends, or "
                f"{advice}"
            )
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        with suppress(OSError):  # a full disk: the lock is held, whoever finds it so
            os.ftruncate(lock, 0)
            said = f"process {os.getpid()} on {platform.node()}, since {now}\n"
            os.pwrite(lock, said.encode(), 0)
        self._lock = lock

    def close(self) -> None:
        """Let others have it. The file stays: removing it would let two hold two of them."""
        if self._lock >= 0:
            with suppress(OSError):
                os.ftruncate(self._lock, 0)  # whoever is next is not taken for this process
            os.close(self._lock)
            self._lock = -1


def _taken(lock: int) -> str | None:
    """Take the claim of a lock file, or say who holds it.

    Who finds it held looks again: somebody may only have asked (`held`), or hold it and not have
    written its name over that of a dead one yet.
    """
    until, looks = time.monotonic() + NAMED, 0
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return None
        except BlockingIOError:
            said = os.pread(lock, 200, 0).decode(errors="replace").strip()
        looks += 1
        if said and looks >= LOOKS:
            return "".join(each if each.isprintable() else "?" for each in said)
        if time.monotonic() > until:
            return "another process"
        time.sleep(0.005)


def _opened(path: Path) -> int:
    """The lock file, made if there is none; in a folder that is everybody's it is everybody's, too.

    One that is there needs no room on the disk: who waits for room can be started anew meanwhile.
    It is opened without O_CREAT: in such a folder the kernel refuses that for a file of another
    account, whatever its mode.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            pass
        except PermissionError as error:
            raise UserError(
                f"{path} is a lock of the account {owner(path)}, and others may not take it: use "
                "that account, or have it removed there while nobody holds it"
            ) from error
        except OSError as error:
            raise UserError(
                f"could not open the lock {path}: {error.strerror or error}; check the disk"
            ) from error
        with durable.room_for("a lock", path.parent, 0), suppress(FileExistsError):
            lock = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
            if path.parent.stat().st_mode & EVERYBODYS == EVERYBODYS:
                os.fchmod(lock, 0o666)  # whoever comes next may be another account
            return lock


def account(uid: int) -> str:
    """The name of an account, or its number where it has none, as `sudo -u` takes it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"#{uid}"


def owner(path: Path) -> str:
    """The account that has a file or folder, or else the nearest folder that we may look at."""
    for each in (path.absolute(), *path.absolute().parents):
        with suppress(OSError):
            return account(each.stat().st_uid)
    return "somebody else"


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
