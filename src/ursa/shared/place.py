"""Place: on which file systems a run may keep its log, and where its shared memory lies."""

import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from ursa import durable
from ursa.claim import account, held
from ursa.errors import UserError

# Locks and shared memory do not work across machines, and a sync there may promise too much.
REMOTE = {
    *("9p", "afs", "ceph", "cifs", "davfs", "drvfs", "gfs2", "glusterfs", "gpfs", "lustre"),
    *("ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "vboxsf", "beegfs"),
    *("fuse.ceph", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs"),
    *("fuse.sshfs", "fuse.vmhgfs-fuse", "fuse.mergerfs", "fuse.gvfsd-fuse"),
}
MOUNTS = Path("/proc/self/mountinfo")
MEMORY = Path("/dev/shm")
IDENTITY = "identity"
SIGNATURE = "folder"  # in the memory of a run: where its files are
STAYS, KEPT = "clock", "clock.keeper.lock"  # of a shared clock, see `clock.py`


class Foreign(UserError):
    """A run that another account has: neither its memory nor its processes are ours."""

    def __init__(self, told: str, owner: str) -> None:
        super().__init__(told)
        self.owner = owner


def file_system(folder: Path, mounts: str) -> str:
    """The type of the file system that holds a folder, by the kernel's table; "" if it is silent.

    >>> table = "1 0 8:1 / / rw - ext4 /dev/sda rw\\n2 1 0:9 / /mnt/a\\\\040b rw - nfs4 host:/ rw"
    >>> file_system(Path("/mnt/a b/run"), table), file_system(Path("/home"), table)
    ('nfs4', 'ext4')
    """
    found, best = "", -1
    for line in mounts.splitlines():
        mount, _, kind = line.partition(" - ")
        words, kinds = mount.split(), kind.split()
        if len(words) < 5 or not kinds:
            continue
        point = Path(words[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        if folder.is_relative_to(point) and len(point.parts) >= best:  # a later mount hides
            found, best = kinds[0], len(point.parts)
    return found


def refuse_remote(folder: Path) -> None:
    """UserError if the folder is known to lie on another machine; other systems do not say."""
    mounts = MOUNTS.read_text(errors="replace") if MOUNTS.exists() else ""
    kind = file_system(folder.resolve(), mounts)
    if kind in REMOTE:
        raise UserError(
            f"{folder} lies on a network file system ({kind}), which can lose rows that it said "
            f"were kept: choose a folder on a disk of this machine, and copy it when the run ends"
        )


def shared(folder: Path) -> Path:
    """A folder for what the processes of one run share in memory; it outlives any of them.

    In memory if the machine offers that: a file on a disk is written back now and then, and a
    control loop that touches it meanwhile would wait. Its name follows from a number drawn once
    for the run, so that the memory of a deleted run of the same name is never taken for ours; and
    from the folder itself, so that a copy of it, number and all, is a run of its own.
    """
    name = _name(folder, _identity(folder))
    if not os.access(MEMORY, os.W_OK):
        (folder / "shared").mkdir(mode=0o700, exist_ok=True)
        return folder / "shared"
    found = MEMORY / name
    if not found.is_dir():
        _refuse_foreign(folder)
        found.mkdir(mode=0o700, exist_ok=True)
        _sign(found, folder)
    status = found.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        owner = account(status.st_uid)
        raise Foreign(
            f"{folder} is run from the account {owner}: its memory, {found}, is out of reach for "
            f"others. Go on in that account; or end the run there, which gives the memory back",
            owner,
        )
    return found


def begun(folder: Path) -> bool:
    """Whether a run has memory now. Unlike `shared` this makes nothing, in nobody's name."""
    path = folder / IDENTITY
    if not path.exists():
        return False
    if not os.access(MEMORY, os.W_OK):
        return (folder / "shared").is_dir()
    return (MEMORY / _name(folder, path.read_bytes().decode(errors="replace"))).is_dir()


def origin(folder: Path) -> str:
    """What a run is called by a learner on another machine: a copy of it is called otherwise.

    By the numbers that its folder and its `identity` have in their file system: they stay when the
    folder is moved there and when the machine is restarted. The number of the file system itself,
    good enough for memory, may be another after that.
    """
    identity = _identity(folder)
    numbers = [path.stat().st_ino for path in (folder, folder / IDENTITY)]
    return durable.sha256(f"{identity} {numbers}".encode())[:32]


def forget(folder: Path) -> None:
    """Give the memory of a run back at its orderly end, when every process has left.

    A clock that a living emulator keeps there stays, until the folder is gone and it is swept.
    """
    found = shared(folder)
    if not held(found / KEPT):
        shutil.rmtree(found, ignore_errors=True)
        return
    for path in found.iterdir():
        if not path.name.startswith(STAYS):
            path.unlink(missing_ok=True)


def sweep(folder: Path) -> list[Path]:
    """Give back the memory of runs whose folder is gone, and of which no process lives; which.

    `folder` is that of a run which begins: it may have been moved since its memory was made.
    """
    if not os.access(MEMORY, os.W_OK):
        return []
    _sign(shared(folder), folder)
    gone = [each for each in sorted(MEMORY.glob("ursa-*")) if _abandoned(each)]
    for each in gone:
        shutil.rmtree(each, ignore_errors=True)
    return gone


def _abandoned(memory: Path) -> bool:
    """Whether this is the memory of a run, ours, of a folder that is gone, and nobody uses it."""
    try:
        status = memory.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return False
        said = os.fsdecode((memory / SIGNATURE).read_bytes())
        if not said or _present(Path(said), memory.name):
            return False
        return not any(held(lock) for lock in memory.glob("*.lock"))
    except (OSError, ValueError):  # not signed, or just being made or taken away
        return False


def _present(folder: Path, name: str) -> bool:
    """Whether a folder is there and still the one that a memory of this name was made for."""
    path = folder / IDENTITY
    return path.exists() and _name(folder, path.read_bytes().decode(errors="replace")) == name


def _refuse_foreign(folder: Path) -> None:
    """Who may not write a run's files must not have its memory: its owner could not go on."""
    if not os.access(folder, os.W_OK):
        owner = account(folder.stat().st_uid)
        raise Foreign(f"{folder} belongs to the account {owner}: go on there", owner)


def _name(folder: Path, identity: str) -> str:
    status = folder.stat()
    return f"ursa-{durable.sha256(f'{identity} {status.st_dev} {status.st_ino}'.encode())[:32]}"


def _sign(memory: Path, folder: Path) -> None:
    """Leave word of whose memory it is; where there is no room for that, it is never swept."""
    temporary = memory / f"tmp.{SIGNATURE}.{os.getpid()}"
    with suppress(OSError):
        temporary.write_bytes(os.fsencode(folder.resolve()))
        os.replace(temporary, memory / SIGNATURE)


def _identity(folder: Path) -> str:
    path = folder / IDENTITY
    if not path.exists():
        with durable.room_for("the identity of a run", folder, 0):
            durable.write(folder / f"tmp.{IDENTITY}", secrets.token_hex(16).encode())
            durable.rename(folder / f"tmp.{IDENTITY}", path)
    said = path.read_bytes()
    if len(said) != 32 or not said.isalnum():
        raise UserError(
            f"{path} holds {said[:40]!r}, want 32 letters and digits: put it back from a copy of "
            "this run, or end every process of the run and only then remove it; a learner on "
            "another machine takes it for another run after that"
        )
    return said.decode()
