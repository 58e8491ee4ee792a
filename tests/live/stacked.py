"""A whole run with stub actor, stub learner and a robot of arithmetic, to be killed in any part."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from log.logs import LAYOUT
from ursa.live import settings
from ursa.live.settings import Live, Modules, Patience, Restarts
from ursa.log import store
from ursa.shared import keeper, place, pulse

TESTS = Path(__file__).parents[1]
LIMIT = 120.0  # s for anything to happen: only a stack that does not go on at all takes so long
# A busy machine may hold up any process for seconds: whoever is brisk takes that for a hang.
PATIENT = Patience(gate=20.0, recorder=20.0, learner=20.0, actor=20.0, start=LIMIT, end=60.0)
BRISK = Patience(gate=2.0, recorder=2.0, learner=2.0, actor=2.0, start=60.0, end=20.0)
STUBS = Modules(
    recorder="live.stub_recording", actor="live.stub_acting", learner="live.stub_learning"
)
AGAIN = Restarts(first=0.01, most=0.1, healthy=5.0, window=600.0, allowed=1000)


def free_port():
    """Below those that the kernel gives to whoever asks for any: it is still free when it is used,
    and while a robot is switched off."""
    while True:
        port = secrets.choice(range(10_000, 30_000))
        with (
            suppress(OSError),
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found,
        ):
            found.bind(("127.0.0.1", port))
            return port


def live_of(folder, **changes):
    """Settings of a run with stubs on a clock of its own."""
    plain = Live(
        link=f"udp://127.0.0.1:{free_port()}",
        clock=f"shared:{folder / 'clock'}",
        acknowledge="emulator",
        modules=STUBS,
        patience=PATIENT,
        restarts=AGAIN,
        blackbox=1.0,
        skill=LAYOUT.skill,
        **vars(LAYOUT.sizes),
    )
    found = replace(plain, **changes)
    if found.virtual:
        return found
    return replace(found, patience=replace(found.patience, gate=0.0))  # a wall clock bears no more


def spawn(log, *words):
    """A Python process of ours that finds the stubs; what it says goes to a file."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    with open(log, "ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", *map(str, words)],
            stdout=file,
            stderr=file,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            cwd=TESTS,
        )


def until(true, what, limit=LIMIT):
    """Wait for something observed; the limit is for a stack that stands still."""
    begun = time.monotonic()
    while not (found := true()):
        if time.monotonic() - begun > limit:
            raise AssertionError(f"after {limit:g} s still not: {what}")
        time.sleep(0.01)
    return found


class Stack:
    """A robot and a supervised run in a folder."""

    def __init__(self, folder, live):
        self.folder, self.live = folder, live
        settings.write(folder, live)
        self.robot = self.supervisor = None
        self.switch_on()

    def switch_on(self):
        """A robot, on the floor, in the place of any that was there."""
        if self.robot is not None:
            self.robot.wait()
        port, clock = self.live.link.rpartition(":")[2], self.live.clock.partition(":")[2]
        self.robot = spawn(self.folder / "robot.log", "live.stub_robot", port, clock)
        until(Path(clock).exists, "a clock")

    def another(self, sabotage=""):
        """One more supervisor on the folder, perhaps one with a protection removed."""
        words = ("live.stub_supervisor", self.folder, sabotage) if sabotage else None
        words = words or ("ursa.live.supervisor", self.folder)
        return spawn(self.folder / "supervisor.log", *words)

    def start(self, sabotage=""):
        self.supervisor = self.another(sabotage)

    def pid(self, role):
        if role in ("supervisor", "robot"):
            return getattr(self, role).pid
        beat = pulse.last(self.folder, role)
        return None if beat is None else beat.pid

    def progress(self, role):
        beat = pulse.last(self.folder, role)
        return 0 if beat is None else beat.progress

    def alive(self, role):
        """The pid of a role whose process lives and has shown it."""
        pid = self.pid(role)
        return pid if pid and Path(f"/proc/{pid}").exists() else None

    def grows(self, limit=LIMIT):
        """Rows on disk, rounds of the learner and cycles of the gate all grow from here on."""
        for role, more in (("recorder", 5), ("learner", 1), ("gate", 20)):
            self.passes(role, more, limit)

    def passes(self, role, more, limit=LIMIT):
        """A role gets on by so much, from where it is when it shows life."""
        until(lambda: self.pid(role), f"{role} lives\n{self.said()}", limit)
        begun = self.progress(role)
        until(
            lambda: self.progress(role) >= begun + more,
            f"{role} goes on after {begun}\n{self.said()}",
            limit,
        )

    def stored(self):
        """Rows on disk, when nobody runs."""
        log = store.Log(self.folder, LAYOUT)
        try:
            return log.end()
        finally:
            log.close()

    def said(self):
        """The end of what everybody wrote, for a test that fails."""
        logs = [self.folder / "supervisor.log", *sorted((self.folder / "logs").glob("*.log"))]
        return "\n".join(f"{log.name}: {log.read_text()[-800:]}" for log in logs if log.exists())

    def end(self):
        """End in order; returns the supervisor's exit code."""
        self.supervisor.send_signal(signal.SIGTERM)
        return self.supervisor.wait(LIMIT)

    def fell(self):
        """Kill all but the robot."""
        if self.supervisor is not None:
            self.supervisor.kill()
            self.supervisor.wait()
            for role in ("gate", "recorder", "learner", "actor"):
                if pid := self.pid(role):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def close(self):
        self.fell()
        self.robot.kill()
        self.robot.wait()
        keeper.forget(Path(self.live.clock.partition(":")[2]))
        place.forget(self.folder)
        shutil.rmtree(self.folder)


@contextmanager
def stacked(folder, **changes):
    """A stack that is gone afterwards, whatever happened to it."""
    stack = Stack(folder, live_of(folder, **changes))
    try:
        yield stack
    finally:
        stack.close()


def recorded(folder):
    """Every row that a reader serves, by number; and what is wrong with the log."""
    log = store.Log(folder, LAYOUT)
    found = {
        first + index: value
        for first, steps in log.steps(0, log.end())
        for index, value in enumerate(steps.row.observation[:, 0, 0].tolist())
    }
    faults = log.faults
    log.close()
    return found, faults
