"""A robot behind its gate as an arena: it stands up, follows, and adapts."""

import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from live.small import Small
from runs import A1 as CONFIG
from runs import quickly
from ursa.env.arena import Arena
from ursa.errors import UserError
from ursa.gate.modes import Mode, Order
from ursa.gate.wired import Wired
from ursa.live import adapt_command, settings, stander
from ursa.live.adapt_command import adapted
from ursa.live.settings import Live
from ursa.live.stander import Stander
from ursa.live.trials import Trials
from ursa.repair import play as playing
from ursa.repair.adaptation import hurt
from ursa.robot import gait
from ursa.robot.a1 import A1
from ursa.robot.damage import parse
from ursa.robot.legged import LeggedBody
from ursa.run.agent import Agent
from ursa.run.train import train
from ursa.task import registry as tasks
from ursa.task.task import judge

LIVE = Live(acknowledge="emulator")
TASK = tasks.task("forward", A1)


@pytest.fixture
def small(tmp_path):
    stack = Small(tmp_path / "run")
    yield stack
    stack.close()


def standing(small, said=None):
    """An engine whose robot is made to stand, by the orders of a supervisor."""
    engine = small.engine()
    heard = [] if said is None else said
    engine.set_down = Stander(Path("runs/a1"), LIVE, small.orderer, small.wishes, heard.append)
    return engine


def arena_on(engine):
    set_down, engine.set_down = engine.set_down, None
    body = LeggedBody(engine)
    engine.set_down = set_down
    return Arena(body, TASK, radius=None)


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
    assert len(said) == 1
    assert "set it on its belly" in said[0]
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


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """An agent that has only just begun, with the skills it has by then."""
    calls, out = iter(range(10**6)), tmp_path_factory.mktemp("agent") / "run"
    with quickly(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("ursa.evaluate.pilot.BLOCK", 8)
        train(CONFIG, out, quiet=True, stop=lambda: next(calls) == 16)
        yield Agent.load(out)


def test_a_robot_adapts_over_its_link(small, agent, monkeypatch, capsys):
    monkeypatch.setattr(playing, "STEPS", 2)
    monkeypatch.setattr("ursa.repair.adaptation.AGAIN", 1)
    options = {"trials": 2, "prior": "value", "unsafe_limit": 1.0}
    found = adapted(agent, standing(small), "FL.upper", **options)
    assert len(found.search.attempts) == 2
    assert found.body == "a1"
    assert np.isfinite(found.after.ret).all()
    out = capsys.readouterr().out
    assert out.startswith(
        "2 skills to try, then the best before and the best now 1 times each: 0:00"
    )
    assert [line.partition(" of 2")[0] for line in out.splitlines()[1:]] == ["trial 1", "trial 2"]
    assert all(re.search(r", ETA 0:\d\d$", line) for line in out.splitlines()[1:])
    assert small.modes.count(Mode.STAND) == 5  # for the damage, two trials, and twice again


def limits_for(agent, folder, monkeypatch, **flags):
    """The gate's limits with which `ursa robot adapt` would go to the robot."""
    seen = []

    def gated(out, live, say):
        seen.append(live.gate_limits())
        raise UserError("enough")

    monkeypatch.setattr(adapt_command, "gated", gated)
    monkeypatch.setattr(adapt_command, "keep_programs", lambda: None)
    monkeypatch.setattr(Agent, "load", lambda *arguments: agent)
    with pytest.raises(UserError, match="enough"):
        adapt_command.adapt(folder, link="udp://127.0.0.1:1", unfinished=True, **flags)
    return seen[0]


def test_a_broken_robot_keeps_the_limits_it_has_learnt_with(agent, tmp_path, monkeypatch):
    settings.write(tmp_path, Live(limits={"reach": 0.1, "late_hold": 3, "rate": 6.0}))
    (tmp_path / "agent").mkdir()
    for folder in (tmp_path, tmp_path / "agent"):
        found = limits_for(agent, folder, monkeypatch, limits={"rate": 2.0, "late_stop": 12.0})
        assert (found.reach, found.late_hold, found.rate, found.late_stop) == (0.1, 3, 2.0, 12)


def test_without_a_look_at_the_run_it_would_have_the_widest(agent, tmp_path, monkeypatch):
    """Sabotage."""
    settings.write(tmp_path, Live(limits={"reach": 0.1}))
    monkeypatch.setattr(adapt_command, "inherited", lambda folder: {})
    assert limits_for(agent, tmp_path, monkeypatch).reach == 0.2


def test_a_run_that_was_never_on_a_robot_has_no_limits_to_keep(tmp_path):
    assert adapt_command.inherited(tmp_path) == {}


class Watch(Wired):
    """An engine of which only the clock matters."""

    told = None

    def __init__(self):
        self.time, self.clock = 100.0, self

    def now(self):
        return self.time


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_time_left_follows_from_the_steps_made_and_the_time_they_took():
    watch, screen = Watch(), Terminal()
    trials = Trials(watch, 4, 10, screen)
    assert trials.line() == "0% rollout 1 of 4, step 0 of 10, -, ETA -"
    watch.time += 3.0  # it stood up
    for _ in range(10):
        watch.time += 0.2
        trials.step()
    assert trials.left == pytest.approx(15.0)  # 5 s for 10 steps, 30 to go
    assert trials.line() == "25% rollout 2 of 4, step 0 of 10, -, ETA 0:15"
    assert screen.getvalue().count("rollout 1 of 4") == 3  # every half second: at 3.2, 3.8, 4.4 s
    trials.step()
    trials.over(2)  # stopped after one step: 20 of 40 are behind us
    assert trials.left == pytest.approx(5.0)
