"""Processes that are killed at random: run as `python -m log.kills SCENE FOLDER SEED TRIALS ...`.

Its own program, so that the processes it forks are small: no JAX, no test runner. Most
victims count the lines of our code that they run and kill themselves at a random one, which
repeats exactly; the others are killed from outside, wherever they happen to be, inside SQLite as
well. Prints what was counted, as JSON.
"""

import fcntl
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np

from log.logs import KIND, LAYOUT, oracle, oracles, served, step
from ursa.errors import UserError
from ursa.log import store
from ursa.log.ledger import Ledger
from ursa.log.store import Log, Recorder
from ursa.shared import handover, place, ring

PACKAGE = Path(store.__file__).parents[1]
ROOMS = ("shared", "gate", "log", "channel", "emulator", "live")
OURS = tuple(f"{PACKAGE / room}{os.sep}" for room in ROOMS)  # whose lines are counted


def forked(work, rng, lines, sabotage):
    """Fork a process that does `work(tell, ready)` until it is killed; returns all that it told.

    A third counts its lines from the start, a third from when it is ready, and a third is killed
    from outside. With a sabotage all count from when they are ready: the same every time.
    """
    inward, outward = os.pipe()
    way = "ready" if sabotage else rng.choice(("start", "ready", "outside"))
    at_line, after = rng.randint(1, lines if way == "start" else 200), rng.random() * 0.015
    child = os.fork()
    if child == 0:
        try:
            os.close(inward)
            arm = {way: lambda: sys.settrace(trap(at_line))}
            arm.get("start", int)()
            work(
                lambda number: os.write(outward, number.to_bytes(8, "little")),
                arm.get("ready", int),
            )
        finally:
            os._exit(1)
    os.close(outward)
    if way == "outside":
        time.sleep(after)  # only spreads the kills; nothing that is checked depends on it
        os.kill(child, signal.SIGKILL)
    with os.fdopen(inward, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return np.frombuffer(said[: len(said) // 8 * 8], "<u8").tolist(), os.WIFSIGNALED(status)


def trap(lines):
    """A tracer that kills this process when it enters or runs so many lines of ours."""
    left = lines

    def line(frame, event, _):
        nonlocal left
        left -= event == "line"
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return line

    return lambda frame, event, _: line if frame.f_code.co_filename.startswith(OURS) else None


def log(folder, rng, trials, sabotage):
    """Writers of one ledger, killed one after another."""
    counted = {"kills": 0, "acknowledged": 0, "lost": 0, "changed": 0, "alarms": 0}
    told = 0
    for trial in range(trials):
        if trial % 10 == 0:  # or checking all of it each time takes for ever
            counted["acknowledged"] += told
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            told = 0
        sizes = random.Random(rng.random())

        def work(tell, ready, sizes=sizes):
            ledger = Ledger(folder, KIND)
            ready()
            while True:
                first, end = ledger.end, ledger.end + sizes.randint(1, 20)
                if sabotage == "early":
                    tell(end)
                ledger.commit(first, oracles(first, end))
                tell(end)

        said, killed = forked(work, rng, 1500, sabotage)
        told = max([told, *said])
        found, faults, _ = served(folder)
        counted["kills"] += killed
        counted["lost"] += sum(number not in found for number in range(told))
        counted["changed"] += sum(found[number] != oracle(number) for number in found)
        counted["alarms"] += len(faults)
    return {**counted, "acknowledged": counted["acknowledged"] + told}


def stack(folder, rng, trials, sabotage):
    """Actor, ring and recorder: one of the two is killed, what was handed over arrives."""
    folder.mkdir()
    Recorder(folder, LAYOUT, slots=64).close()
    path = store.ring_of(folder)
    counted = {"kills": 0, "handed over": 0, "lost": 0, "changed": 0, "alarms": 0}
    real = Ledger.commit

    def act(tell, ready):
        writer = ring.Writer(path)
        ready()
        while True:
            if writer.put(step(writer.next)):
                tell(writer.next)

    def record(tell, ready):
        recorder = Recorder(folder, LAYOUT)
        now = 0.0
        if sabotage == "early":

            def commit(self, first, records):
                recorder._ring.release(first + len(records))
                return real(self, first, records)

            Ledger.commit = commit
        ready()
        while True:
            now += 1.0
            recorder.turn(now)

    try:
        for _ in range(trials):
            said, killed = forked(act, rng, 2000, sabotage)
            counted["handed over"] = max([counted["handed over"], *said])
            counted["kills"] += killed + forked(record, rng, 3000, sabotage)[1]
        last = Recorder(folder, LAYOUT)
        while last.flush(1e9):
            pass
        last.close()
        view = Log(folder, LAYOUT)
        found = {
            first + index: data
            for first, steps in view.steps(0, view.end())
            for index, data in enumerate(steps.row.observation[:, 0, 0].tolist())
        }
        counted["lost"] = sum(number not in found for number in range(counted["handed over"]))
        counted["changed"] = sum(number != value for number, value in found.items())
        counted["alarms"] = len(view.faults)
    finally:
        place.forget(folder)
    return counted


def hand(folder, rng, trials, sabotage):
    """Publishers that are killed: whoever reads sees whole snapshots, never fewer than before."""
    folder.mkdir()
    path = folder / "hand"
    whole = {"weights": np.zeros(20_000, np.float32), "bias": np.zeros(7, np.float32)}
    handover.create(path, capacity=len(handover.encode(whole)))
    reader = handover.Subscriber(path)
    counted = {"kills": 0, "published": 0, "torn": 0, "gone": 0}

    def publish(tell, ready):
        if sabotage == "in place":  # the newest snapshot is written over
            handover.PLACES = 1
            handover.Publisher._start = lambda self, place: handover.mapped.PAGE
        publisher = handover.Publisher(path)
        ready()
        while True:
            version = publisher.newest + 1
            arrays = {name: np.full_like(it, version) for name, it in whole.items()}
            publisher.publish(version, arrays)
            tell(version)

    for _ in range(trials):
        said, killed = forked(publish, rng, 300, sabotage)
        counted["kills"] += killed
        counted["published"] = max([counted["published"], *said])
        snapshot = reader.newer(0)
        if snapshot is None:
            counted["gone"] += counted["published"] > 0
            continue
        counted["gone"] += snapshot.version < counted["published"]
        values = np.concatenate([it.ravel() for it in snapshot.arrays.values()])
        counted["torn"] += bool((values != np.float32(snapshot.version)).any())
    return counted


def starts(folder, rng, trials, sabotage):
    """Six writers start at once on one folder; each says whether it won, and stays."""
    counted = {"trials": trials, "won": 0, "refused": 0}
    if sabotage == "no lock":
        fcntl.flock = lambda *_: None
    for trial in range(trials):
        answers, go = os.pipe(), os.pipe()
        children = []
        for _ in range(6):
            children.append(os.fork())
            if children[-1] == 0:
                start(folder / str(trial), answers, go)
        for end in (answers[1], go[0]):
            os.close(end)
        said = b""
        while len(said) < 6:
            said += os.read(answers[0], 6)
        os.close(go[1])  # now they may leave
        os.close(answers[0])
        for child in children:
            os.waitpid(child, 0)
        counted["won"] += said.count(b"w")
        counted["refused"] += said.count(b"r")
    return counted


def start(folder, answers, go):
    try:
        os.close(go[1])
        try:
            Ledger(folder, KIND)
            os.write(answers[1], b"w")
        except UserError as error:
            os.write(answers[1], b"r" if "is in use by" in str(error) else b"?")
        os.read(go[0], 1)
    finally:
        os._exit(0)


SCENES = {"log": log, "stack": stack, "hand": hand, "starts": starts}


def main(scene, folder, seed, trials, sabotage=""):
    rng = random.Random(int(seed))
    try:
        print(json.dumps(SCENES[scene](Path(folder), rng, int(trials), sabotage)))
    except UserError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
