"""Secret: the key that a robot's machine and a learner's machine share, in a file of its owner's.

Whoever has it can send rows to the learner and policies to the robot. So it is made once for each
run, never sent, and not used when others could have read it.
"""

import os
import secrets
import stat
from pathlib import Path

from ursa import durable
from ursa.errors import UserError

NAME = "learner.key"
DIGITS = 64  # of sixteen: 256 bits


def place(folder: Path, said: str) -> Path:
    """Where the key of a run lies: where the settings say, or in its folder."""
    return Path(said) if said else folder / NAME


def make(path: Path) -> bytes:
    """The key in a file, which is made if it is not there."""
    if not path.exists():
        with durable.room_for("the key", path.parent, DIGITS):
            temporary = path.with_name(f"tmp.{path.name}")
            temporary.unlink(missing_ok=True)
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb") as file:
                file.write(secrets.token_hex(DIGITS // 2).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            durable.rename(temporary, path)
    return read(path)


def read(path: Path) -> bytes:
    """The key in a file; UserError if there is none, or others can read or write it."""
    copy = f"copy {NAME} from the learner's folder, for instance with scp -p"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe never opens
    except OSError as error:
        raise UserError(f"the key {path} cannot be read: {error.strerror}; {copy}") from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"the key {path} is no ordinary file: {copy}")
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid != os.getuid() or mode & 0o077:
            raise UserError(
                f"the key {path} has permissions {mode:03o} and belongs to user {status.st_uid}: "
                f"others may know it; want a file of yours that is 600. Make a new one (remove it "
                "at the learner and start the learner again), or chmod 600 if nobody else was here"
            )
        said = os.read(handle, DIGITS + 2).strip()
    finally:
        os.close(handle)
    if len(said) != DIGITS or not said.isalnum():
        raise UserError(f"the key {path} has {len(said)} letters and digits, want {DIGITS}: {copy}")
    return said
