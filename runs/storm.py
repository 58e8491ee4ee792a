"""An emulated robot learns while everything goes wrong: `python runs/storm.py OUT [--rows N]`.

Starts `ursa robot emulate a1` with the faults of storm.toml (cable pulls, storms, pushes, flips,
NaN, frozen sensors, stop button, restarts: one every few seconds of the robot's time) and
`ursa robot train --preset laptop` on it over UDP, kills one of its processes at random again and
again, the supervisor included, and starts that one anew with `--resume`. In the end it says whether
rows and updates grew after every kill and after every fault of the script, whether any command left
the limits, whether a row was lost that was seen acknowledged, whether the learner can be computed
again from the log, and how the reward went. Exit code 1 if any of it is not as promised, or if one
of the five processes was never killed: then it was no storm. What is not as promised is said last.
"""

import argparse
import contextlib
import io
import itertools
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ursa.emulator import script
from ursa.errors import UserError
from ursa.gate import mailbox
from ursa.live import conduct, settings, stop_command, supervisor
from ursa.log import store, watermark
from ursa.shared import pulse

HERE = Path(__file__).parent
ROLES = ("gate", "actor", "recorder", "learner", "supervisor")
VICTIMS = (*ROLES, "actor", "recorder", "gate")  # these three more often
MORE = 20  # rows that must come after a kill before the next, and after a fault
LIMIT = 600.0  # s until a run that was hit must have gone on; a learner compiles and catches up
WAITING = 10  # rows that were sensed before a look and come to the disk after it
SCRIPT = HERE / "storm.toml"


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def recoveries(
    faults: Sequence[float], times: np.ndarray, numbers: np.ndarray, learnt: int
) -> list[float]:
    """Seconds from each fault until `MORE` rows had come; infinite if no update saw one of them.

    `times` and `numbers` are those of the rows; updates have seen the rows before `learnt`.
    """
    found = []
    for fault in faults:
        after = int(np.searchsorted(times, fault, side="right"))
        enough = after + MORE <= len(times) and numbers[after] < learnt
        found.append(float(times[after + MORE - 1] - fault) if enough else math.inf)
    return found


def victims(chance: random.Random) -> Iterator[str]:
    """Each of the five once, in any order; then by chance."""
    yield from chance.sample(ROLES, len(ROLES))
    while True:
        yield chance.choice(VICTIMS)


def unkept(found: Mapping[str, Any]) -> list[str]:
    """What of a verdict is not as promised, in words."""
    first, _, last = found["reward by thirds"]
    spared = [role for role, times in found["killed"].items() if not times]
    promises = {
        "nobody was killed": found["kills"] > 0,
        f"never killed: {', '.join(spared)}": not spared,
        "rows and updates did not grow after every kill": found["went on after"] == found["kills"],
        "nothing of the script happened": found["faults"] > 0,
        "rows and updates did not grow after every fault": (
            found["went on after faults"] == found["faults"]
        ),
        "rows are damaged or missing": found["damaged or missing rows"] == 0,
        "acknowledged rows were lost": found["acknowledged and lost"] == 0,
        "commands left the limits": found["robot"]["violations"] == 0,
        "the run did not end in order": found["run ended with"] == 0,
        "the learner cannot be computed again": found["replay"] == 0,
        "the reward did not grow": last > first,
    }
    return [said for said, kept in promises.items() if not kept]


class Storm:
    """The robot, the run on it, and what happened."""

    def __init__(
        self, out: Path, rows: int, seed: int, preset: str, ratio: float, more: list[str]
    ) -> None:
        self.out, self.folder, self.seed = out, out / "run", seed
        self.acknowledged = 0
        self.seen = 0  # rows that were seen acknowledged
        self.looked = 0.0  # s on the robot: what happened before must have been got over
        out.mkdir(parents=True)
        port, pose, clock = free_port(), free_port(), f"shared:{out / 'clock'}"
        self.robot = self._ursa(
            "robot.log", "robot", "emulate", "a1", "--port", port, "--pose-port", pose,
            "--clock", clock, "--faults", SCRIPT, "--seed", seed,
            "--report", out / "robot.json", "--every", 1,
        )  # fmt: skip
        self._until(lambda: (out / "clock").exists(), "the robot's clock")
        self.run = self._ursa(
            "run.log", "robot", "train", "--preset", preset, "--steps", rows, "--seed", seed,
            "--link", f"udp://127.0.0.1:{port}", "--clock", clock, "--out", self.folder,
            "--pose", f"udp://127.0.0.1:{pose}", "--acknowledge", "emulator",
            "--ratio-least", ratio, *more,
        )  # fmt: skip
        self.kills: list[dict[str, object]] = []

    def _ursa(self, log: str, *words: object) -> subprocess.Popen[bytes]:
        with (self.out / log).open("ab") as file:
            return subprocess.Popen(
                [sys.executable, "-m", "ursa", *map(str, words)],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            )  # fmt: skip

    def _until(self, true, what: str) -> bool:
        begun = time.monotonic()
        while not true():
            if time.monotonic() - begun > LIMIT:
                print(f"after {LIMIT:g} s still not: {what}", flush=True)
                return False
            self.care()
            time.sleep(0.1)
        return True

    def care(self) -> None:
        """Note the rows, and be the person who takes back what the stop button did."""
        self.seen = max(self.seen, self.progress("recorder"))
        with contextlib.suppress(UserError):  # no gate to hear it just now
            with contextlib.closing(mailbox.Listener(self.folder)) as ears:
                told = ears.newest()
            if told is not None and conduct.stopped_by_hand(told):
                with contextlib.redirect_stdout(io.StringIO()):
                    self.acknowledged += stop_command.stop(self.folder, acknowledge=True) == 0

    def progress(self, role: str) -> int:
        beat = pulse.last(self.folder, role)
        return 0 if beat is None else beat.progress

    def updates(self) -> int:
        """Ever begun, by the learner's journal: one that catches up after a kill adds none."""
        return sum(each.updates for each in self.rounds())

    def rounds(self) -> list[watermark.Watermark]:
        try:
            return list(watermark.entries(self.folder))
        except UserError:
            return []

    def book(self) -> dict[str, Any]:
        """What the robot wrote down last."""
        try:
            return json.loads((self.out / "robot.json").read_bytes())
        except FileNotFoundError:
            return {"time": 0.0, "start": 0.0}

    def faults(self, until: float) -> list[script.Happening]:
        """What the script did to the robot in so many seconds."""
        all_of_them = script.happenings(script.read(SCRIPT), self.seed)
        return list(itertools.takewhile(lambda it: it.time <= until, all_of_them))

    def goes_on(self, what: str, replaced=lambda: True) -> bool:
        """Whether rows and updates grow from here on, after all that happened until now."""
        looked, updates = self.book()["time"], self.updates()
        rows = self.progress("recorder") + WAITING

        def grown() -> bool:
            more = self.progress("recorder") >= rows + MORE and self.updates() > updates
            return self.over or (replaced() and more)

        went_on = self._until(grown, f"rows and updates after {what}")
        self.looked = self.looked if self.over else looked  # at the end there is no more to come
        return went_on

    @property
    def over(self) -> bool:
        return self.run.poll() is not None

    def hit(self, victim: str) -> bool | None:
        """Kill one, and see rows and updates grow; None: it was not there to be killed."""
        beat = None if victim == "supervisor" else pulse.last(self.folder, victim)
        pid = supervisor.pid_of(self.folder) if victim == "supervisor" else beat and beat.pid
        if not pid or self.over:
            return None
        begun, before = time.monotonic(), [self.progress("recorder"), self.updates()]
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        if victim == "supervisor":
            self.run.wait()
            self._until(lambda: self._alone(), "the others to end")
            self.run = self._ursa("run.log", "robot", "train", "--resume", self.folder)

        def replaced() -> bool:
            """Somebody else does its work."""
            now = pulse.last(self.folder, victim)
            return victim == "supervisor" or (now is not None and now.pid != pid)

        went_on = self.goes_on(f"{victim} was killed", replaced)
        told = {
            "victim": victim, "rows": before[0], "updates": before[1], "went_on": went_on,
            "seconds": round(time.monotonic() - begun, 1),
        }  # fmt: skip
        self.kills.append(told)
        print(json.dumps(told), flush=True)
        return went_on

    def _alone(self) -> bool:
        roles = ("gate", "actor", "recorder", "learner")
        beats = [pulse.last(self.folder, role) for role in roles]
        return not any(beat and Path(f"/proc/{beat.pid}").exists() for beat in beats)

    def verdict(self) -> dict[str, object]:
        """What is left, read from the files."""
        layout = settings.read(self.folder).layout
        end, faults = store.audit(self.folder, layout)
        log = store.Log(self.folder, layout)
        runs = list(log.steps(0, end))
        log.close()
        parts = [steps for _, steps in runs]
        numbers = np.concatenate([first + np.arange(len(steps.time)) for first, steps in runs])
        times = np.concatenate([steps.time for steps in parts]) / 1e9
        book, faults_told = self.book(), self.faults(self.looked)
        learnt_of = max((each.visible for each in self.rounds() if each.updates), default=0)
        instants = [book["start"] + each.time for each in faults_told]
        after = recoveries(instants, times, numbers, learnt_of)
        reward = np.concatenate([steps.row.reward.reshape(-1) for steps in parts])
        unsafe = ~np.concatenate([steps.row.safe.reshape(-1) for steps in parts])
        learnt = np.concatenate([steps.marks for steps in parts]) == 0
        thirds = [np.arange(len(reward)) * 3 // len(reward) == third for third in range(3)]
        replay = subprocess.run(
            [sys.executable, "-m", "ursa", "replay", str(self.folder)], capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        return {
            "seed": self.seed, "rows": end, "damaged or missing rows": len(faults),
            "acknowledged": self.seen,
            "acknowledged and lost": self.seen - int((numbers < self.seen).sum()),
            "faults": len(after), "went on after faults": sum(s <= LIMIT for s in after),
            "slowest after a fault": max(map(float, np.round(after, 1)), default=0.0),
            "rows marked": int((~learnt).sum()), "updates": self.updates(),
            "stops taken back": self.acknowledged, "kills": len(self.kills),
            "went on after": sum(k["went_on"] is True for k in self.kills),
            "killed": {role: sum(k["victim"] == role for k in self.kills) for role in ROLES},
            "reward by thirds": [round(float(reward[t & learnt].mean()), 4) for t in thirds],
            "unsafe by thirds": [round(float(unsafe[t & learnt].mean()), 4) for t in thirds],
            "run ended with": self.run.returncode, "replay": replay.returncode,
            "replay said": (replay.stdout + replay.stderr).strip().splitlines()[-1:],
            "robot": book,
        }  # fmt: skip

    def close(self) -> None:
        for process in (self.run, self.robot):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=300)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--preset", default="laptop")
    parser.add_argument("--ratio", type=float, default=0.25, help="updates per row, at least")
    parser.add_argument(
        "--calm", type=float, default=8.0, help="s of the robot's between kills, on average"
    )
    told, more = parser.parse_known_args()  # the rest is for `ursa robot train`
    chance = random.Random(told.seed)
    coming = victims(chance)
    storm = Storm(told.out, told.rows, told.seed, told.preset, told.ratio, more)
    try:
        storm._until(lambda: storm.over or storm.progress("learner") > 0, "a first update")
        while not storm.over:
            pause = storm.book()["time"] + chance.expovariate(1 / told.calm)
            while storm.book()["time"] < pause and not storm.over:
                storm.care()
                time.sleep(0.2)
            victim = next(coming)
            if (went_on := storm.hit(victim)) is None:  # between two lives: soon again
                coming = itertools.chain([victim], coming)
            elif not went_on:
                break
    finally:
        storm.close()
    found = storm.verdict()
    (told.out / "storm.json").write_text(json.dumps({**found, "hits": storm.kills}, indent=1))
    print(json.dumps(found, indent=1))
    wrong = unkept(found)
    for said in wrong:
        print(f"not as promised: {said}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
