"""The learner: how much it trains, and what it publishes."""

import jax
import numpy as np
import pytest

from live.lessons import LAYOUT, LIVE, Recording, begin, drained, faster, lived
from ursa.errors import UserError
from ursa.live.learning import Learning
from ursa.live.pace import UNSEEN, Pace, allowed, behind
from ursa.live.pilot import Pilot
from ursa.live.snapshot import memory
from ursa.log import record, rows, store
from ursa.log.store import Log
from ursa.log.watermark import entries
from ursa.shared import ring
from ursa.shared.handover import Subscriber
from ursa.shared.pulse import Pulse

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def folder(tmp_path):
    return begin(tmp_path / "run")


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
