"""A trial on a robot behind its gate: it stands and follows; an interrupted one is made again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from live.standing import LIVE, TASK, arena_on, standing
from ursa.errors import UserError
from ursa.gate.modes import Mode, Order
from ursa.gate.wired import Wired
from ursa.live import stander
from ursa.live.stander import Stander
from ursa.repair import play as playing
from ursa.repair.adaptation import hurt
from ursa.repair.command import interrupted as said_of
from ursa.robot import gait
from ursa.robot.a1 import A1
from ursa.robot.damage import parse
from ursa.task.task import judge


def test_it_stands_up_and_follows_and_again_from_running(small):
    engine = standing(small)
    place = arena_on(engine)
    assert small.modes == [Mode.DAMP]  # nobody has moved yet
    outcome = place.start()
    assert small.modes == [Mode.DAMP, Mode.STAND, Mode.RUN]
    assert engine.running
    assert outcome.safe[0]
    assert 0.2 < outcome.reading.height[0] < 0.35
    place.step(gait.stand(A1)[None])
    assert engine.trouble == ""
    place.start()
    assert small.modes == [Mode.DAMP, Mode.STAND, Mode.RUN, Mode.STAND, Mode.RUN]


def test_nobody_stands_up_without_orders(small):
    """Sabotage: wishes alone never move a limp robot."""
    engine = small.engine()
    for _ in range(40):
        engine.idle()
    assert small.modes == [Mode.DAMP]
    assert not engine.running


def test_a_trial_on_the_robot_returns_the_sum_of_its_rewards(small, monkeypatch):
    monkeypatch.setattr(playing, "STEPS", 12)
    place, rewards = arena_on(standing(small)), []

    def choose(outcome, step):
        rewards.append(outcome.reward[0])
        return gait.stand(A1)[None]

    trial = playing.play(place, choose)
    assert trial.unsafe == 0.0
    assert trial.ret == pytest.approx(sum(rewards[1:]) + place_reward(place), abs=1e-9)


def place_reward(place):
    """Of the last step."""
    judged = judge(TASK, place.reading, place.reading)
    return float(judged.reward[0])


def test_a_robot_that_lies_on_its_back_is_not_started_but_somebody_is_told(small, monkeypatch):
    monkeypatch.setattr(stander, "LONG", 3.0)
    monkeypatch.setattr(stander, "LONGEST", 5.0)
    said = []
    engine = standing(small, said)
    engine.set_down(engine)
    small.doll.state = replace(small.doll.state, quaternion=np.array([0.0, 1.0, 0.0, 0.0]))
    small.state = replace(small.state, seen=replace(small.state.seen, state=small.doll.state))
    with pytest.raises(UserError, match="did not stand up within 5 s"):
        engine.set_down(engine)
    assert len(said) == 2
    assert said[0] == "the robot stands up now; keep clear"  # the first time
    assert "set it on its belly" in said[1]
    assert not engine.running


def stopped(small, monkeypatch, blind):
    """A trial in which somebody presses stop."""
    monkeypatch.setattr(playing, "STEPS", 6)
    engine = standing(small)
    if blind:
        monkeypatch.setattr(type(engine), "diverged", lambda self: np.zeros(1, bool))
    place = arena_on(engine)

    def choose(outcome, step):
        if step == 3:
            small.orderer.order(Order.DAMP)
        return gait.trot(A1, step)[None]

    return playing.play(place, choose)


def test_a_trial_that_the_gate_ended_counts_for_nothing(small, monkeypatch):
    trial = stopped(small, monkeypatch, blind=False)
    assert np.isnan(trial.ret)
    assert small.modes[-1] is Mode.RUN  # it stood up again and went on


def test_a_trial_blind_to_the_gate_would_count(small, monkeypatch):
    """Sabotage."""
    assert np.isfinite(stopped(small, monkeypatch, blind=True).ret)


def test_a_trial_does_not_go_on_with_what_a_dead_gate_told_last(small):
    engine = standing(small)
    engine.set_down(engine)
    assert not engine.diverged()[0]
    spoken = engine.told
    engine.told = replace(spoken, now=spoken.now - 0.2)
    assert not engine.diverged()[0]
    engine.told = replace(spoken, now=spoken.now - 0.3)  # nothing for more than a quarter second
    assert engine.told.mode is Mode.RUN
    assert engine.diverged()[0]


def test_nobody_waits_for_a_robot_to_stand_whose_gate_is_dead(small):
    def dead():
        raise UserError("the gate ended with code -9")

    engine = small.engine()
    stand = Stander(Path("runs/a1"), LIVE, small.orderer, small.wishes, print, dead)
    with pytest.raises(UserError, match="ended with code -9"):
        stand(engine)


def test_damage_that_only_the_motors_could_show_is_refused(small):
    place = arena_on(standing(small))
    hurt(place, [parse("FL.upper", A1)])  # held at its nominal angle on the way to the robot
    with pytest.raises(UserError, match="weak, limp and locked motors"):
        hurt(place, [parse("FL.upper:limp", A1)])


def interrupted(small, monkeypatch, stops, repeats=playing.REPEATS):
    """A trial whose first so many rollouts are stopped in their third step."""
    monkeypatch.setattr(playing, "STEPS", 6)
    place, made = arena_on(standing(small)), []

    def once():
        made.append(0)

        def choose(outcome, step):
            made[-1] += 1
            if step == 2 and len(made) <= stops:
                small.orderer.order(Order.DAMP)
            return gait.trot(A1, step)[None]

        return playing.play(place, choose)

    return playing.persistent(once, repeats), made


def test_a_rollout_that_the_gate_interrupted_ends_there_and_is_made_again(small, monkeypatch):
    trial, made = interrupted(small, monkeypatch, stops=2)
    assert made == [3, 3, 6]
    assert np.isfinite(trial.ret)
    assert trial.interruptions == 2


def test_after_three_repetitions_it_is_given_up_and_is_no_measurement(small, monkeypatch):
    trial, made = interrupted(small, monkeypatch, stops=9)
    assert len(made) == 4
    assert np.isnan(trial.ret)
    assert trial.interruptions == 4
    assert said_of(trial) == ", interrupted 4 times: no measurement"


def test_without_repetitions_one_stop_would_use_a_trial_up(small, monkeypatch):
    """Sabotage."""
    trial, made = interrupted(small, monkeypatch, stops=2, repeats=0)
    assert made == [3]
    assert np.isnan(trial.ret)


def test_a_rollout_that_nobody_interrupted_is_made_once(small, monkeypatch):
    trial, made = interrupted(small, monkeypatch, stops=0)
    assert (made, trial.interruptions, said_of(trial)) == ([6], 0, "")


@pytest.mark.parametrize("real", [True, False])
def test_a_robot_taken_out_of_its_hands_is_nothing_that_physics_did(
    small, monkeypatch, caplog, real
):
    """Sabotage: an engine that is not known as real."""
    monkeypatch.setattr(Wired, "real", real)
    stopped(small, monkeypatch, blind=False)
    assert ("physics diverged" in caplog.text) is not real


# ---- words ------------------------------------------------------------------------------------
