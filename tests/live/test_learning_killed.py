"""A learner that is killed again and again becomes the same, bit for bit."""

import random
from dataclasses import replace

import pytest

from live.lessons import CONFIG, LIVE, Recording, begin, differing, drained, leaves
from runs import Killed, lines, quickly
from ursa import checkpoint
from ursa.live import rounds
from ursa.live.learning import Learning
from ursa.live.student import Student
from ursa.log.watermark import Journal, entries
from ursa.shared.handover import Publisher

pytestmark = pytest.mark.usefixtures("quick")
SEED = 20261115
ARRIVALS = (40, 24, 30, 1, 45, 20)  # rows that come between two looks at the log
SAVES = {1, 3}  # after which a checkpoint is made


@pytest.fixture
def folder(tmp_path):
    return begin(tmp_path / "run")


class Fate:
    """Counts instants of a learner; at the chosen one it dies."""

    def __init__(self, patch, instant=None):
        self.count, self.instant, self.met = 0, instant, []
        for owner, name in (
            (Journal, "note"),
            (Student, "round"),
            (Student, "rest"),
            (Publisher, "publish"),
            (checkpoint, "save"),
        ):
            self._around(patch, owner, name)

    def _around(self, patch, owner, name):
        act = getattr(owner, name)

        def surrounded(*words, **named):
            self.pass_by(f"before {name}")
            found = act(*words, **named)
            self.pass_by(f"after {name}")
            return found

        patch.setattr(owner, name, surrounded)

    def pass_by(self, kind):
        self.count += 1
        self.met.append(kind)
        if self.count == self.instant:
            raise Killed


def life(folder, recording, stage, begun):
    """Go on learning from stage to stage; yields before each, so that a death can be survived."""
    learning = Learning(folder, LIVE)
    try:
        while stage[0] < len(ARRIVALS):
            if not begun[0]:
                recording.add(ARRIVALS[stage[0]])
                begun[0] = True
            drained(learning)
            if stage[0] in SAVES and not saved(learning):
                assert learning.save()
            stage[0], begun[0] = stage[0] + 1, False
        return leaves(learning.student)
    finally:
        learning.close()


def saved(learning):
    """Whether the checkpoint of this stage was made before the death: the last round was a rest."""
    last = list(entries(learning.folder))[-1]
    return last.updates == last.version == 0 and learning.student.seen == last.visible


def lives(monkeypatch, folder, deaths):
    """A run that dies at these instants, each counted from its last birth."""
    recording, stage, begun = Recording(folder), [0], [False]
    deaths, met = list(deaths), []
    while True:
        with monkeypatch.context() as patch:
            fate = Fate(patch, deaths.pop(0) if deaths else None)
            try:
                found = life(folder, recording, stage, begun)
            except Killed:
                met.append(fate.met[-1])
                continue
        recording.close()
        return found, met, fate.count


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a learner becomes that nobody kills: its leaves, its journal, its lines."""
    place = begin(tmp_path_factory.mktemp("lessons") / "run")
    with quickly(), pytest.MonkeyPatch.context() as patch:
        found, _, instants = lives(patch, place, [])
    return found, list(entries(place)), lines(place), instants


def survived(monkeypatch, folder, undisturbed, seed, deaths=3):
    """In what a learner killed at random differs from the undisturbed one."""
    rng = random.Random(seed)
    print("seed", seed)
    wanted, journal, told, instants = undisturbed
    found, met, _ = lives(monkeypatch, folder, [rng.randint(1, instants) for _ in range(deaths)])
    wrong = differing(wanted, found)
    wrong += [] if list(entries(folder)) == journal else ["journal"]
    wrong += [] if lines(folder) == told else ["lines"]
    return wrong, met


@pytest.mark.parametrize("seed", [SEED, SEED + 1, SEED + 2, SEED + 3])
def test_a_learner_killed_at_random_instants_becomes_the_same_bit_for_bit(
    monkeypatch, folder, undisturbed, seed
):
    wrong, met = survived(monkeypatch, folder, undisturbed, seed)
    assert met
    assert wrong == []


def forgetting(monkeypatch, item):
    """Sabotage: a learner that does not take one thing along."""
    restore, repeated = Student.restore, rounds.repeated

    def partly(student, tree, rows):
        newborn = Student(CONFIG)
        if item == "rows":
            rows = [(n, replace(it, reward=0 * it.reward)) for n, it in rows]
        restore(student, tree, rows)
        if item == "updates":
            student.updates = 0
        for part in ("agent", "law"):
            if item == part:
                object.__setattr__(student.learner, part, getattr(newborn.learner, part))

    monkeypatch.setattr(Student, "restore", partly)
    if item == "journal":
        monkeypatch.setattr(rounds, "repeated", lambda *words: list(repeated(*words))[:0])


@pytest.mark.parametrize("item", ["agent", "law", "rows", "updates"])
def test_a_learner_that_forgets_one_thing_becomes_another(monkeypatch, folder, undisturbed, item):
    forgetting(monkeypatch, item)
    rng = random.Random(SEED)
    instants = undisturbed[3]
    late = [rng.randint(3 * instants // 4, instants - 4)]  # after a checkpoint
    found, met, _ = lives(monkeypatch, folder, late)
    assert met
    assert differing(undisturbed[0], found)


def test_a_watermark_that_comes_after_its_round_does_not_tell_what_was_done(
    monkeypatch, folder, undisturbed
):
    """Sabotage: the round in which the learner dies is unknown to the next; rows may have come."""
    note = Journal.note
    noted = []

    def later(journal, watermark):
        noted.append(watermark)
        if len(noted) > 1:
            note(journal, noted.pop(0))

    recording = Recording(folder)
    recording.add(60)
    monkeypatch.setattr(Journal, "note", later)
    learning = Learning(folder, LIVE)
    drained(learning)
    before = leaves(learning.student)
    learning.close()
    monkeypatch.undo()
    recording.add(30)  # the robot walks on
    learning = Learning(folder, LIVE)
    assert differing(before, leaves(learning.student))
    learning.close()
    recording.close()
