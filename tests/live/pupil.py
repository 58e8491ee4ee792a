"""A learner of arithmetic on a disk whose power fails: log, journal and checkpoints together.

Its rounds, its checkpoints and its way back are the real ones of `ursa.live.rounds`; what it learns
is a digest of everything it saw and in which portions, so that one bit less would show.
"""

import hashlib
import random
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from log.disk import Disk, watch
from log.logs import LAYOUT, step
from ursa.config import alone
from ursa.errors import UserError
from ursa.live import rounds
from ursa.live.student import Student
from ursa.log import rows as reading
from ursa.log import witness
from ursa.log.ledger import Ledger
from ursa.log.store import Log
from ursa.log.watermark import Journal, Watermark
from ursa.presets import preset

CONFIG = alone(preset("tiny"))
COUNTS = ("seen", "column", "rounds", "updates")


@dataclass(frozen=True)
class Told:
    """What somebody may rely on: steps and rounds on disk, rounds in a checkpoint."""

    steps: int = 0
    rounds: int = 0
    saved: int = 0


class Pupil(Student):
    """A student as `rounds.py` knows it."""

    config = CONFIG
    plan = SimpleNamespace(capacity=1 << 30)

    def __init__(self):
        self.mind, self.replay = np.zeros(16, np.uint8), b""
        self.seen = self.column = self.rounds = self.updates = 0

    def round(self, rows, seen, updates):
        data = b"" if rows is None else b"".join(getattr(rows, n).tobytes() for n in reading.NAMES)
        self.mind = digest(self.mind.tobytes() + data + bytes([updates]))
        self.replay += data if rows is None else rows.observation.tobytes()
        self.seen, self.column = seen, self.column + reading.count(rows)
        self.rounds, self.updates = self.rounds + 1, self.updates + updates

    def rest(self):
        self.rounds += 1
        return True

    def tree(self):
        return {"mind": self.mind, **{name: np.asarray(getattr(self, name)) for name in COUNTS}}

    def restore(self, tree, rows):
        self.mind = tree["mind"]
        for name in COUNTS:
            setattr(self, name, int(tree[name]))
        self.replay = b"".join(some.observation.tobytes() for _, some in rows)


def digest(data):
    return np.frombuffer(hashlib.blake2b(data, digest_size=16).digest(), np.uint8)


class School:
    """A recorder and a learner beside it, in one folder."""

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self.recorder, self.journal = Ledger(folder, LAYOUT.kind), Journal(folder)
        self.log, self.pupil = Log(folder, LAYOUT), Pupil()

    def record(self):
        end = self.recorder.end + self.rng.randint(1, 5)
        steps = [step(number) for number in range(self.recorder.end, end)]
        return self.recorder.commit(self.recorder.end, steps)

    def round(self):
        """One round, noted before it is made; how many there are."""
        mark = Watermark(visible=self.log.end(), updates=self.rng.randint(1, 9), version=1)
        self.journal.note(mark)
        rounds.make(self.pupil, self.log, mark)
        return self.pupil.rounds

    def save(self):
        self.journal.note(Watermark(visible=self.pupil.seen, updates=0, version=0))
        self.pupil.rest()
        rounds.save(self.pupil, self.folder)
        return self.pupil.rounds

    def resume(self):
        """As `Learning` does it: the newest checkpoint, then the rounds after it."""
        self.loaded = rounds.load(self.pupil, self.log, self.folder, self.journal.rounds)
        self.kept = self.pupil.rounds
        for _ in rounds.repeated(self.pupil, self.log, self.folder):
            pass
        return self

    def leave(self):
        """Without an orderly end."""
        self.recorder._leave()
        self.recorder.close()
        self.journal._ledger._leave()
        self.journal.close()
        self.log.close()


def recorded(patch, root, rng, sabotage=None):
    """A disk that watched two lives of a school, and what the pupil was after each round."""
    disk = Disk(root, told=Told())
    watch(patch, disk)
    if sabotage:
        sabotage(patch)
    minds = {0: (Pupil().mind.tobytes(), b"")}
    for _ in range(2):
        school = School(root, rng).resume()

        def note(school=school):
            minds[school.pupil.rounds] = school.pupil.mind.tobytes(), school.pupil.replay

        for _ in range(3):
            told(disk, steps=school.record())
            told(disk, rounds=school.round())
            note()
            hasty(school, disk, note)
            told(disk, saved=school.save())
            note()
        school.leave()
    disk.watching = False
    return disk, minds


def hasty(school, disk, note):
    """A round on steps whose witness is written but not synced yet: a reader sees them."""
    sync = witness.sync

    def looked(file):
        witness.sync = sync
        disk.told = Told(disk.told.steps, school.round(), disk.told.saved)
        note()
        sync(file)

    witness.sync = looked
    try:
        told(disk, steps=school.record())
    finally:
        witness.sync = sync


def told(disk, **news):
    disk.told = Told(**{**vars(disk.told), **news})
    disk.look("told")


def opened(folder, told, minds):
    """What is wrong when recorder and learner start on what a power cut left, and go on."""
    try:
        school = School(folder, random.Random(1))
    except UserError as error:
        return [f"it needs a hand: {error}"]
    try:
        school.resume()
    except UserError as error:
        school.leave()
        return [f"it needs a hand: {error}"]
    pupil, wrong = school.pupil, []
    if school.recorder.end < told.steps or school.recorder.faults:
        wrong.append(f"{school.recorder.end} steps, told {told.steps}; {school.recorder.faults}")
    if pupil.rounds < told.rounds or school.kept < told.saved:
        wrong.append(f"{pupil.rounds} rounds, {school.kept} of them kept; told {told}")
    if (pupil.mind.tobytes(), pupil.replay) != minds.get(pupil.rounds):
        wrong.append(f"the pupil of {pupil.rounds} rounds is another one")
    if alarms := list(folder.glob("checkpoints/*.damaged*")):
        wrong.append(f"false alarm: {alarms}")
    try:
        school.record()
        school.round()
        school.save()
        again = Pupil()
        rounds.load(again, school.log, folder, school.journal.rounds)
    except UserError as error:
        return [*wrong, f"it does not go on: {error}"]
    finally:
        school.leave()
    if (again.rounds, again.mind.tobytes()) != (pupil.rounds, pupil.mind.tobytes()):
        wrong.append("what it went on to is not there")
    return wrong
