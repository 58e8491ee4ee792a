"""Mapped: a file that several processes see as memory, and that outlives each of them.

Not `multiprocessing.shared_memory`: up to Python 3.12 a process that merely looks at such a block
takes it away from everybody when it ends.
"""

import mmap
import os
import struct
import zlib
from pathlib import Path

from ursa import durable
from ursa.errors import UserError

PAGE = 4096  # bytes before the first payload: constants, then words that change
CONSTANTS = struct.Struct("<8sIIQQQI")  # kind, format, unused, three numbers, CRC
WORDS = 1024  # where the words that change begin


class Mapped:
    """Memory shared through a file: `bytes` to copy from and to, `words` of 64 bits."""

    def __init__(self, path: Path, kind: bytes, version: int) -> None:
        """Look at a file that `create` made; UserError if it is missing, foreign or damaged."""
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise UserError(
                f"{path} cannot be opened: {error.strerror}; start the recorder and the learner "
                f"of this run first"
            ) from error
        try:
            size = os.fstat(handle).st_size
            head = os.pread(handle, CONSTANTS.size, 0)
            self.numbers = _numbers(path, head, kind, version, size)
            self._memory = mmap.mmap(handle, size)
        finally:
            os.close(handle)
        self.bytes = memoryview(self._memory)
        # Native words: each is one aligned store, where a packed one would go byte by byte.
        self.words = self.bytes[WORDS:PAGE].cast("Q")

    def close(self) -> None:
        """Look away; the file and what others see of it stay."""
        self.words.release()
        self.bytes.release()
        self._memory.close()


def create(
    path: Path, kind: bytes, version: int, numbers: tuple[int, int], size: int, words: list[int]
) -> None:
    """Make the file, with zeros after its first page; whoever sees the name sees all of it."""
    total = PAGE + size
    head = CONSTANTS.pack(kind, version, 0, *numbers, total, 0)
    head = head[:-4] + struct.pack("<I", zlib.crc32(head[:-4]))
    with durable.room_for(path.name, path.parent, total):
        temporary = path.with_name(f"tmp.{path.name}")
        temporary.unlink(missing_ok=True)
        with open(temporary, "xb", opener=_private) as file:
            file.write(head.ljust(WORDS, b"\0") + struct.pack(f"={len(words)}Q", *words))
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, total)  # or a full disk kills by SIGBUS later
            else:
                file.truncate(total)
        os.replace(temporary, path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _numbers(path: Path, head: bytes, kind: bytes, version: int, size: int) -> tuple[int, int]:
    """The two numbers a maker left, if everything about the file is as it was made."""
    hint = "stop every process of this run, remove the file and start again"
    if len(head) < CONSTANTS.size or zlib.crc32(head[:-4]) != int.from_bytes(head[-4:], "little"):
        raise UserError(f"{path} is damaged: {hint}")
    found, form, _, first, second, total, _ = CONSTANTS.unpack(head)
    if (found, form) != (kind, version):
        raise UserError(
            f"{path} is {found.decode(errors='replace')} {form}, this version of ursa reads "
            f"{kind.decode()} {version}: {hint}"
        )
    if size != total:
        raise UserError(f"{path} has {size} bytes, it was made with {total}: {hint}")
    return first, second
