"""The learner: what it sees of the log, how much it trains, and that a kill changes nothing."""

import random
from dataclasses import replace

import jax
import numpy as np
import pytest

from live.lessons import (
    CONFIG,
    LAYOUT,
    LIVE,
    Recording,
    begin,
    differing,
    drained,
    faster,
    leaves,
    lived,
)
from runs import Killed, lines, quickly
from ursa import checkpoint, replay
from ursa.errors import UserError
from ursa.live import rounds
from ursa.live.learning import Learning
from ursa.live.pace import UNSEEN, Pace, allowed, behind
from ursa.live.pilot import Pilot
from ursa.live.snapshot import memory
from ursa.live.student import Student
from ursa.log import record, rows, store
from ursa.log.ledger import Refused
from ursa.log.record import Mark
from ursa.log.store import Log
from ursa.log.watermark import Journal, entries
from ursa.shared import ring
from ursa.shared.handover import Publisher, Subscriber
from ursa.shared.pulse import Pulse

SEED = 20261115


@pytest.fixture(scope="module", autouse=True)
def quick():
    with quickly():
        yield


@pytest.fixture
def folder(tmp_path):
    return begin(tmp_path / "run")


# ---- a kill changes nothing ---------------------------------------------------------------------

ARRIVALS = (40, 24, 30, 1, 45, 20)  # rows that come between two looks at the log
SAVES = {1, 3}  # after which a checkpoint is made


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


def test_a_damaged_checkpoint_costs_time_and_nothing_else(folder, caplog):
    recording = Recording(folder)
    learning = Learning(folder, LIVE)
    for _ in range(2):
        recording.add(50)
        drained(learning)
        assert learning.save()
    wanted = leaves(learning.student)
    learning.close()
    newest = checkpoint.stored(folder / "checkpoints")[0] / "arrays.safetensors"
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 4
    newest.write_bytes(bytes(data))
    learning = Learning(folder, LIVE)
    assert differing(wanted, leaves(learning.student)) == []
    assert "set aside" in caplog.text
    learning.close()
    recording.close()


def test_a_log_that_lost_its_end_is_not_taken_for_the_whole(folder):
    recording = Recording(folder)
    recording.add(50)
    learning = Learning(folder, LIVE)
    drained(learning)
    learning.close()
    recording.close()
    for path in folder.glob("steps-*"):
        path.unlink()
    with pytest.raises(UserError, match="ends at step 0, but the learner had seen 50"):
        Learning(folder, LIVE)


def full_disk(monkeypatch, folder, caught):
    """A learner whose disk takes neither rounds nor checkpoints for a while; then it does."""
    recording = Recording(folder)
    recording.add(60)
    learning = Learning(folder, faster(checkpoint=0.0))
    refusals = {"note": 3, "save": 2}

    def refusing(name, act, error):
        def tried(*words, **named):
            if refusals[name]:
                refusals[name] -= 1
                raise error("the disk is full")
            return act(*words, **named)

        return tried

    note = refusing("note", Journal.note, Refused)
    monkeypatch.setattr(Journal, "note", note)
    monkeypatch.setattr(checkpoint, "save", refusing("save", checkpoint.save, UserError))
    monkeypatch.setattr("ursa.live.learning.time.sleep", lambda seconds: None)
    if not caught:
        monkeypatch.setattr("ursa.live.learning.Refused", KeyError)
    looks = iter(range(40))
    try:
        learning.run(lambda: next(looks) == 39)
    finally:
        learning.close()
        recording.close()
    return learning, refusals


def test_a_full_disk_delays_the_learner_and_ends_nothing(monkeypatch, folder):
    learning, refusals = full_disk(monkeypatch, folder, caught=True)
    assert refusals == {"note": 0, "save": 0}
    assert learning.student.updates == 14  # (60 - 32) / 2
    assert checkpoint.stored(folder / "checkpoints")
    monkeypatch.undo()
    again = Learning(folder, LIVE)
    assert differing(leaves(learning.student), leaves(again.student)) == []
    again.close()


def test_a_learner_that_does_not_expect_a_full_disk_dies_of_it(monkeypatch, folder):
    """Sabotage."""
    with pytest.raises(UserError, match="the disk is full"):
        full_disk(monkeypatch, folder, caught=False)


# ---- what it learns from ------------------------------------------------------------------------


def known(learning):
    """Skills in the repertoire."""
    return int(np.asarray(learning.student.learner.law.repertoire.filled)[0])


def taught(folder, **changes):
    """A learner that has seen ten ordinary steps, twenty of another kind, and ten more."""
    recording = Recording(folder)
    recording.add(10)
    recording.add(20, **changes)
    recording.add(34)
    learning = Learning(folder, LIVE)
    drained(learning)
    recording.close()
    learning.close()
    ring = learning.student.learner.ring
    return learning, np.asarray(ring.first)[0, 0], int(np.asarray(ring.written)[0])


def test_ordinary_steps_are_learnt_from_and_offered_to_the_repertoire(folder):
    learning, first, written = taught(folder)
    assert written == learning.student.column == 64
    assert known(learning) == 64
    assert np.flatnonzero(first).tolist() == [0, 50]


@pytest.mark.parametrize("mark", [Mark.HOMING, Mark.RISING])
def test_steps_on_the_way_home_or_up_commit_nothing_to_the_repertoire(folder, mark):
    learning, first, written = taught(folder, marks=mark)
    assert written == 64  # the world is learnt from them
    assert known(learning) == 44
    assert np.flatnonzero(first).tolist() == [0, 50]


@pytest.mark.parametrize("changes", [{"marks": Mark.INTERVENTION}, {"age": 30_000}])
def test_steps_that_the_gate_moved_or_chosen_on_stale_sensors_are_left_out(folder, changes):
    learning, first, written = taught(folder, **changes)
    assert written == 44
    assert known(learning) == 44
    assert np.flatnonzero(first).tolist() == [0, 10, 30]  # number 30 is column 10, and begins


def test_without_the_marks_the_way_home_would_become_skills(folder, monkeypatch):
    """Sabotage."""
    unpack = record.unpack

    def unmarked(*words):
        found = unpack(*words)
        return replace(found, marks=0 * found.marks)

    monkeypatch.setattr(record, "unpack", unmarked)
    learning, _, _ = taught(folder, marks=Mark.HOMING)
    assert known(learning) == 64


def gapped(folder):
    """The rows of a log in which ten numbers are missing after the twentieth."""
    recording = Recording(folder)
    recording.add(20)
    recording.gap(30)
    recording.add(15)
    recording.close()
    log = Log(folder, LAYOUT)
    whole = rows.read(log, 0, 45)
    pieces = [rows.read(log, *part) for part in ((0, 12), (12, 20), (20, 33), (33, 45))]
    log.close()
    return whole, pieces


def crossing(first):
    """Whether a window that holds the rows before and after the gap would run across it."""
    return not first[20, 0]


def test_no_sequence_runs_across_a_gap_in_the_log(folder):
    whole, pieces = gapped(folder)
    assert rows.count(whole) == 35
    assert not crossing(whole.first)
    assert np.flatnonzero(whole.first).tolist() == [0, 20]
    again = np.concatenate([it.first for it in pieces])
    np.testing.assert_array_equal(whole.first, again)  # wherever the rounds are cut


def test_a_reader_that_does_not_part_sequences_runs_across(folder, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(record, "parted", lambda steps: steps)
    whole, _ = gapped(folder)
    assert crossing(whole.first)


def test_a_row_that_is_no_number_is_left_out_and_parts_the_sequence(folder):
    recording = Recording(folder)
    recording.add(5)
    good = np.frombuffer(lived(5), LAYOUT.cell).copy()
    good["reward"] = np.nan
    recording._ledger.commit(5, [good.tobytes()])
    recording.add(5)
    recording.close()
    log = Log(folder, LAYOUT)
    found = rows.read(log, 0, 11)
    log.close()
    assert rows.count(found) == 10
    assert np.isfinite(found.reward).all()
    assert np.flatnonzero(found.first).tolist() == [0, 5]


def test_the_replay_is_the_log_to_the_bit(folder):
    learning, _, _ = taught(folder)
    log = Log(folder, LAYOUT)
    ring = learning.student.learner.ring
    again = replay.rebuild(ring, [(0, rows.seeded(rows.read(log, 0, 64)))])
    log.close()
    for name, field in vars(again).items():
        np.testing.assert_array_equal(np.asarray(field), np.asarray(getattr(ring, name)))


# ---- how much it trains -------------------------------------------------------------------------


def test_updates_stay_below_the_upper_bound_and_reach_it(folder):
    """Half an update per row after the 32 of the prefill: (96 - 32) / 2 = 32."""
    recording = Recording(folder)
    learning = Learning(folder, LIVE)
    done = []
    for count in (31, 1, 1, 1, 30, 32):
        recording.add(count)
        drained(learning)
        done.append(learning.student.updates)
    assert done == [0, 0, 0, 1, 16, 32]
    assert not learning.turn()
    learning.close()
    recording.close()


def test_the_first_rows_are_taken_in_before_any_update_is_allowed(folder):
    recording = Recording(folder)
    learning = Learning(folder, faster(ratio_most=0.001, ratio_least=0.0001))
    recording.add(63)
    assert not learning.turn()
    recording.add(1)
    assert learning.turn()
    assert (learning.student.column, learning.student.updates) == (64, 0)
    learning.close()
    recording.close()


@pytest.mark.parametrize("least", [1 / 64, 0.3, 0.0123])
@pytest.mark.parametrize("factor", [1.0001, 2.0, 50.0])
def test_nobody_waits_for_a_learner_that_has_done_all_it_may(least, factor):
    for column in range(0, 5000, 7):
        most = allowed(column, 100, 0, least * factor)
        assert not behind(column, 100, most, least)


def test_in_virtual_time_the_actor_waits_for_the_learner_and_on_a_wall_clock_never(folder):
    virtual, wall = (faster(clock=clock, ratio_least=0.25) for clock in ("shared:x", "wall"))
    paces = [Pace(folder, live, 32) for live in (virtual, wall)]
    assert [pace.ahead(UNSEEN) for pace in paces] == [False, False]
    assert [pace.ahead(UNSEEN + 1) for pace in paces] == [True, False]  # no learner yet
    pulse = Pulse(folder, "learner")
    pulse.beat(0, column=400, seen=400)
    assert [pace.ahead(400) for pace in paces] == [True, False]
    pulse.beat(91, column=400, seen=400)  # a quarter of 368 is 92
    assert [pace.ahead(400) for pace in paces] == [True, False]
    pulse.beat(92, column=400, seen=400)
    assert [pace.ahead(400) for pace in paces] == [False, False]
    for it in (*paces, pulse):
        it.close()


def test_a_learner_that_is_too_slow_for_a_minute_says_so_once_a_minute(folder, caplog):
    recording = Recording(folder)
    recording.add(64)
    learning = Learning(folder, faster(ratio_most=1e-4, ratio_least=0.5))
    learning.turn()
    assert learning.slow
    for now in (0.0, 30.0, 59.0, 61.0, 100.0, 122.0):
        learning._mind(now)
    said = [it.message for it in caplog.records if "updates per row" in it.message]
    assert said == ["0.0000 updates per row, want 0.5000"] * 2
    learning.live = faster(ratio_least=0.0)
    assert not learning.slow
    learning.close()
    recording.close()


# ---- what it publishes --------------------------------------------------------------------------


def test_what_the_actor_gets_is_what_the_learner_has(folder):
    recording = Recording(folder)
    recording.add(60)
    learning = Learning(folder, LIVE)
    drained(learning)
    pilot = Pilot(learning.student.plan, folder)
    assert pilot.known is None
    assert pilot.look()
    assert pilot.known is None  # not before the step is over
    pilot.take()
    assert pilot.known.version == len(list(entries(folder)))
    mine = jax.tree.leaves(jax.device_get(pilot.known.policy))
    agent = learning.student.learner.agent
    theirs = jax.tree.leaves(jax.device_get((agent.world.encoder, agent.world.rssm, agent.actor)))
    assert len(mine) == len(theirs)
    assert all((a == b[0]).all() for a, b in zip(mine, theirs, strict=True))
    assert pilot.known.skills.shape == (64, 2)
    observation = np.zeros((1, LIVE.observation), np.float32)
    action = pilot.act(observation, True, pilot.known.skills[0], 7)
    assert np.isfinite(action).all()
    assert np.abs(action).max() <= 1
    assert not pilot.look()  # nothing newer
    pilot.close()
    learning.close()
    recording.close()


def test_versions_count_up_over_lives_and_a_reboot(folder):
    recording = Recording(folder)
    versions = []
    for life_ in range(3):
        recording.add(40)
        learning = Learning(folder, LIVE)
        drained(learning)
        reader = Subscriber(memory(folder))
        versions.append(reader.newer(0).version)
        reader.close()
        learning.close()
        if life_ == 1:
            memory(folder).unlink()  # the memory of the machine is gone
    assert versions == sorted(set(versions))
    recording.close()


def test_rows_of_another_robot_are_refused(folder):
    with pytest.raises(UserError, match=r"live\.json has rows of .*observation=9"):
        Learning(folder, faster(observation=9))


def test_two_learners_on_one_folder_are_refused(folder):
    learning = Learning(folder, LIVE)
    with pytest.raises(UserError, match="in use by process"):
        Learning(folder, LIVE)
    learning.close()


def test_the_recorder_and_the_learner_agree_on_the_log(folder):
    """Rows that came through the ring, not past it."""
    recorder = store.Recorder(folder, LAYOUT, slots=16)
    writer = ring.Writer(store.ring_of(folder))
    for number in range(10):
        assert writer.put(lived(number))
    recorder.flush(0.0)
    log = Log(folder, LAYOUT)
    found = rows.read(log, 0, log.end())
    wanted = record.unpack(LAYOUT, [lived(number) for number in range(10)])
    np.testing.assert_array_equal(found.observation, wanted.row.observation)
    for it in (log, writer, recorder):
        it.close()
