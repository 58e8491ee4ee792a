"""Clock: what time it is, for every process of a run, and how to sleep until it is later.

`Wall` is the machine's steady time. `Shared` is virtual time in mapped memory: the emulator
keeps it (`keeper.py`), and it moves only while every party that attends is asleep. So time runs
as fast as the slowest of them, and what happens does not depend on the speed of the machine.
"""

import contextlib
import os
import select
import time
from pathlib import Path
from typing import Protocol, runtime_checkable

from ursa.claim import Claim, held
from ursa.errors import UserError, unknown
from ursa.shared import mapped, place

KIND, VERSION = b"ursaclck", 1
# Who may attend; woken in this order.
PARTIES: tuple[str, ...] = ("gate", "actor", "recorder", "learner", "supervisor", "watcher")
NOW, FIRST, WIDTH = 0, 8, 8  # words: the time; where the parties' own begin; how many each has
# One writer for each word: the party, but for ANSWERED and DISMISSED, which are the keeper's.
ATTENDS, UNTIL, ASKED, PULSE, ANSWERED, DISMISSED = range(6)
SECOND = 10**9  # time is kept in whole nanoseconds
GLANCE = 50  # ms between two looks at the memory, should a nudge have been lost
GONE = 30.0  # real seconds without a keeper, then a sleeper gives up
# Linux stops its monotonic clock while the computer sleeps; a robot does not stop meanwhile.
STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Gone(UserError):
    """Nobody keeps a clock: no mistake of who waits for it, and it may be kept again."""


@runtime_checkable
class Clock(Protocol):
    """Monotonic seconds, virtual or not."""

    def now(self) -> float: ...

    def wait(self, until: float) -> float:
        """Sleep until then, at least; returns the time at which one wakes."""
        ...

    def alive(self) -> None:
        """Say that one is busy and not dead; virtual time goes on standing still meanwhile."""
        ...

    def close(self) -> None: ...


class Wall:
    """The machine's own time: no step of the calendar moves it, and its own sleep counts."""

    def now(self) -> float:
        return time.clock_gettime(STEADY)

    def wait(self, until: float) -> float:
        while (left := until - self.now()) > 0:
            time.sleep(left)
        return self.now()

    def alive(self) -> None:
        """Nobody waits for us: nothing to say."""

    def close(self) -> None:
        """Nothing to give back."""


class Shared:
    """Virtual time, seen by one party; while the party is awake, time stands still."""

    def __init__(self, path: Path, party: str, gone: float = GONE) -> None:
        if party not in PARTIES:
            raise unknown("party of a shared clock", party, PARTIES)
        if not path.exists():
            raise Gone(
                f"clock {path}: nobody keeps it; start `ursa robot emulate a1 --clock "
                f"shared:{path}` first, or take --clock wall"
            )
        self._claim: Claim | None = claimed(path, party)
        self._mapped = mapped.Mapped(path, KIND, VERSION)
        self._path, self._gone = path, gone
        self._words = words_of(self._mapped, party)
        self._mine, self._keeper = Bell(path, party), Bell(path, "keeper")
        self._attend()

    def now(self) -> float:
        return self._mapped.words[NOW] / SECOND

    def wait(self, until: float) -> float:
        words, instant = self._words, round(until * SECOND)
        self.alive()
        if instant > self._mapped.words[NOW]:
            self._ask(instant)
            heard = time.monotonic()
            while words[ANSWERED] != words[ASKED]:
                if self._mine.listen(GLANCE):
                    continue
                if words[DISMISSED] == words[ATTENDS]:  # held up for too long, and awake again
                    self._ask(instant)
                if kept(self._path):
                    heard = time.monotonic()
                elif time.monotonic() - heard > self._gone:
                    raise Gone(f"clock {self._path}: its keeper is gone; start the emulator")
            words[PULSE] = time.monotonic_ns()
        return self.now()

    def alive(self) -> None:
        self._words[PULSE] = time.monotonic_ns()
        if self._words[DISMISSED] == self._words[ATTENDS]:
            self._attend()

    def close(self) -> None:
        """Attend no longer; time goes on without this party."""
        if self._claim is not None:
            self._words[ATTENDS] = 0
            self._keeper.ring()
            self._mine.close()
            self._keeper.close()
            self._words.release()
            self._mapped.close()
            self._claim.close()
            self._claim = None

    def _attend(self) -> None:
        words = self._words
        words[PULSE] = time.monotonic_ns()
        words[ASKED] = words[ANSWERED]  # awake: time stands still from here on
        words[ATTENDS] = max(words[DISMISSED], words[ATTENDS]) + 1
        self._keeper.ring()

    def _ask(self, instant: int) -> None:
        if self._words[DISMISSED] == self._words[ATTENDS]:
            self._attend()
        self._words[UNTIL] = instant
        self._words[ASKED] = self._words[ANSWERED] + 1
        self._keeper.ring()


class Bell:
    """A named pipe: whoever rings wakes the one who listens. A lost ring costs a glance only."""

    def __init__(self, path: Path, name: str) -> None:
        pipe = path.with_name(f"{path.name}.{name}")
        with contextlib.suppress(FileExistsError):
            os.mkfifo(pipe, 0o600)
        # Both ends are held open, so that the other one may come and go.
        self._pipe = os.open(pipe, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._poll = select.poll()
        self._poll.register(self._pipe, select.POLLIN)

    def ring(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full: it has been rung often enough
            os.write(self._pipe, b"!")

    def listen(self, milliseconds: int) -> bool:
        """Whether it rang, waiting for so long at most."""
        if not self._poll.poll(milliseconds):
            return False
        with contextlib.suppress(BlockingIOError):
            os.read(self._pipe, 4096)
        return True

    def close(self) -> None:
        os.close(self._pipe)


def open_clock(spec: str, party: str) -> Clock:
    """The clock that a user named: `wall`, or `shared:PATH` as the emulator keeps it."""
    if spec == "wall":
        return Wall()
    return Shared(path_of(spec), party)


def path_of(spec: str) -> Path:
    """The file of a shared clock; of a run folder, the one in its shared memory."""
    kind, _, path = spec.partition(":")
    if kind != "shared" or not path:
        raise UserError(
            f'clock "{spec}": want wall, or shared:PATH with the path that the emulator was '
            "given (ursa robot emulate a1 --clock shared:PATH)"
        )
    folder = Path(path)
    return place.shared(folder) / "clock" if folder.is_dir() else folder


def words_of(memory: mapped.Mapped, party: str) -> memoryview:
    """A party's own words."""
    first = FIRST + WIDTH * PARTIES.index(party)
    return memory.words[first : first + WIDTH]


def lock_of(path: Path, party: str) -> Path:
    """Held by a party while it lives: the kernel lets go of it, whatever way the party dies."""
    return path.with_name(f"{path.name}.{party}.lock")


def kept(path: Path, party: str = "keeper") -> bool:
    """Whether a living process holds this part."""
    return held(lock_of(path, party))


def claimed(path: Path, party: str) -> Claim:
    """Hold this part, or UserError if a living process does."""
    for _ in range(20):  # somebody may be looking just now whether we live
        with contextlib.suppress(UserError):
            return Claim(lock_of(path, party), path)
        time.sleep(0.01)
    return Claim(lock_of(path, party), path)
