"""Ward: one process in the care of the supervisor: started, watched, ended, started again."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ursa.live import backoff, child
from ursa.live.backoff import Backoff, End
from ursa.live.logbook import Logbook
from ursa.live.outlet import unfailing
from ursa.live.settings import Live
from ursa.shared import pulse

Say = Callable[[str], None]
LOGS = "logs"
WORDS, LAST_WORDS = 1, 5  # lines of its log that are told at an end; when it is given up
AT_WORK = ("learner", "actor")  # a mistake in the middle of it comes back with the same data
SAFE = {"PYTHONSAFEPATH": "1"}  # nothing is imported from the folder that one stands in
PAUSE = 0.02  # s between two looks
GONE_TIME = 1.0  # s for a killed process to be gone; one that a disk holds fast may take for ever
STACKS_TIME = 0.2  # s that a hung process gets to write down where it is


class Ward:
    """A role and the process that plays it now."""

    def __init__(
        self, folder: Path, live: Live, role: str, say: Say, sleeps: Callable[[], bool]
    ) -> None:
        """`sleeps`: whether it waits for a clock that stands still, which is no hang."""
        pulse.create(folder, role)
        self.role, self._folder, self._live = role, folder, live
        self._say, self._sleeps = unfailing(say), sleeps
        self._log = Logbook(folder / LOGS / f"{role}.log", role, self._say)
        self._watch = pulse.Watch(folder, role)
        self.backoff = Backoff()
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = self._heard = 0.0  # when it was started; when it last showed life
        self._number = 0  # of the last beat
        self._first, self._hung = True, False  # no beat of this process yet; we killed it for that
        self._after = 0.0  # not to be started before
        self._worked = False  # it has shown life since this supervisor began

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def beat(self) -> pulse.Beat | None:
        """The last sign of life, also of the process before."""
        return self._watch.last()

    @property
    def silent(self) -> float:
        """Seconds it may still be silent; below 0 it hangs."""
        patience = self._live.patience
        allowed = patience.start if self._first else getattr(patience, self.role)
        return allowed - (time.monotonic() - self._heard)

    def start(self) -> None:
        """Start its process now. No file is opened here: a disk that hangs holds nobody up."""
        module = getattr(self._live.modules, self.role)
        last = self.beat
        self._number = 0 if last is None else last.number
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(self._folder)],
            stdin=subprocess.DEVNULL,
            stdout=self._log.handle,
            stderr=self._log.handle,
            start_new_session=True,
            env={**os.environ, child.SUPERVISOR: str(os.getpid()), **SAFE},
        )
        self._begun = self._heard = time.monotonic()
        self._first, self._hung = True, False

    def look(self) -> bool:
        """Notice what happened, start again what is due; False: it is hopeless."""
        now = time.monotonic()
        if self._process is None:
            if now < self._after:
                return True
            try:
                self.start()
            except OSError as error:  # no memory, too many processes: perhaps later
                self._begun = now
                return self._failed(f"could not be started ({error.strerror})")
            return True
        code = self._process.poll()
        if code is not None:
            self._hear(now)
            return self._failed(f"ended with {_named(code)}")
        return self._failed(self._kill_hung()) if self.hangs() else True

    def hangs(self) -> bool:
        """Whether its process shows no life for too long. Ask often: a beat counts when seen."""
        if self.ended():
            return False
        now = time.monotonic()
        if not self._hear(now) and self._sleeps():
            self._heard = now
        return self.silent < 0

    def working(self) -> bool:
        """Whether its process has come to its work: until it has compiled and found the others, it
        has nothing that an end could cost."""
        self._hear(time.monotonic())
        beat = self.beat
        return not self._first and beat is not None and not beat.said.get("waiting")

    def ask(self) -> None:
        """Ask it to end."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    @property
    def left(self) -> bool:
        """Whether its last process ended in order, and nobody has noticed an end since."""
        return self._process is not None and self._process.poll() == 0

    def outlast(self, seconds: float) -> None:
        """Wait for the end of its process; killed if it hangs, or takes longer than that."""
        begun = time.monotonic()
        while not self.ended() and time.monotonic() - begun < seconds:
            self.relieve()
            time.sleep(PAUSE)
        self.kill()

    def relieve(self) -> None:
        """At an end: kill its process if it hangs. Nobody starts another."""
        if self.hangs():
            self._say(f"{self.role} {self._kill_hung()}")

    def kill(self) -> None:
        """End it now; nobody waits for one that does not even end of that."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GONE_TIME)

    @property
    def code(self) -> int:
        """Of an ended process; 0 if there was none, as if killed if it does not end."""
        if self._process is None:
            return 0
        code = self._process.poll()
        return -signal.SIGKILL if code is None else code

    def close(self) -> None:
        self._watch.close()
        self._log.close()

    def _hear(self, now: float) -> bool:
        """Whether its process has beaten since this was last asked."""
        beat = self.beat
        if beat is None or beat.number == self._number:
            return False
        self._number, self._heard, self._first, self._worked = beat.number, now, False, True
        return True

    def _kill_hung(self) -> str:
        """Kill it, after it wrote down where it is; in words, what happened."""
        assert self._process is not None
        silent, self._hung = time.monotonic() - self._heard, True
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(child.STACKS)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STACKS_TIME)
        self.kill()
        return f"hung for {silent:.1f} s and was killed"

    def _failed(self, how: str) -> bool:
        now, rule = time.monotonic(), self._live.restarts
        self.backoff = backoff.failed(rule, self.backoff, self._end(now - self._begun))
        self._process = None
        why = backoff.hopeless(rule, self.backoff)
        if why:
            self._say(f"{self.role} {how}, {why}: giving up (see {self._log.path})")
            self._log.tell(LAST_WORDS)
            return False
        wait = backoff.delay(rule, self.backoff)
        self._after = now + wait
        self._say(f"{self.role} {how}; starting it again in {wait:.1f} s (see {self._log.path})")
        self._log.tell(WORDS)
        return True

    def _end(self, lived: float) -> End:
        """How its process ended, for who decides about another."""
        code = None if self._process is None else self._process.poll()
        if code != child.MISTAKE:
            killed = code == -signal.SIGKILL and not self._hung
            return End(lived=lived, killed=killed, lacking=code == child.LATER)
        beat, place = self.beat, None
        if self.role in AT_WORK and beat is not None and not self._first:
            # A learner that has made no update yet may have found the disk full, which passes.
            place = beat.progress if beat.progress or self.role == "actor" else None
        # What worked before and does not now may come back: a cable that was pulled.
        return End(lived=lived, early=not self._worked, place=place)


def _named(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
