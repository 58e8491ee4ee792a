"""A robot behind its gate as an arena: it stands up, follows, and adapts."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from live.small import Small
from runs import A1 as CONFIG
from runs import quickly
from ursa.adapt.ite import Trial
from ursa.env.arena import Arena
from ursa.errors import UserError
from ursa.evaluate.study import refuse_unfinished
from ursa.gate import mailbox
from ursa.gate.modes import Mode, Order
from ursa.gate.wired import Wired
from ursa.live import adapt_command, settings, stander
from ursa.live.adapt_command import adapted
from ursa.live.settings import Live
from ursa.live.stander import Stander
from ursa.live.trials import Kept, Trials, teller
from ursa.repair import command
from ursa.repair import play as playing
from ursa.repair.adaptation import Again, hurt
from ursa.repair.command import interrupted as said_of
from ursa.robot import gait
from ursa.robot.a1 import A1
from ursa.robot.damage import parse
from ursa.robot.legged import LeggedBody
from ursa.run.agent import Agent
from ursa.run.train import train
from ursa.shared import place as shared_place
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


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """An agent that has only just begun, with the skills it has by then."""
    calls, out = iter(range(10**6)), tmp_path_factory.mktemp("agent") / "run"
    with quickly(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("ursa.evaluate.pilot.BLOCK", 8)
        train(CONFIG, out, quiet=True, stop=lambda: next(calls) == 16)
        yield Agent.load(out)


def short(monkeypatch):
    """Two trials of two steps, and one rollout each of the best before and now."""
    monkeypatch.setattr(playing, "STEPS", 2)
    monkeypatch.setattr("ursa.repair.adaptation.AGAIN", 1)
    return {"trials": 2, "prior": "value", "unsafe_limit": 1.0}


def test_a_robot_adapts_over_its_link(small, agent, tmp_path, monkeypatch, capsys):
    options, said = short(monkeypatch), []
    kept = Kept(tmp_path, said.append)
    found = adapted(agent, standing(small), "FL.upper", said.append, kept, **options)
    assert len(found.search.attempts) == 2
    assert found.body == "a1"
    assert np.isfinite(found.after.ret).all()
    out = capsys.readouterr().out
    assert out.startswith(
        "2 skills to try, then the best before and the best now 1 times each: 0:00"
    )
    begins = [line.partition(" of ")[0] for line in out.splitlines()[1:]]
    assert begins == ["trial 1", "trial 2", "again, best before, 1", "again, best now, 1"]
    assert said == [
        "compiling; the robot stays limp meanwhile",
        f"each rollout is written to {tmp_path / 'trials.jsonl'} as it ends",
    ]
    assert all(re.search(r", ETA 0:\d\d$", line) for line in out.splitlines()[1:])
    assert small.modes.count(Mode.STAND) == 5  # for the damage, two trials, and twice again


def written(folder):
    lines = (folder / "trials.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def lost_gate(agent, small, folder, monkeypatch):
    """What is on disk of two trials when the gate is gone in the third rollout."""
    engine, rollouts = standing(small), iter(range(10))
    whole = playing.play

    def play(*arguments):
        if next(rollouts) == 2:
            raise UserError("the gate is gone")
        return whole(*arguments)

    options = short(monkeypatch)
    monkeypatch.setattr(playing, "play", play)
    monkeypatch.setattr("ursa.repair.adaptation.play", play)
    kept = Kept(folder, print, damage="FL.upper")
    with pytest.raises(UserError, match="the gate is gone"):
        adapted(agent, engine, "FL.upper", print, kept, **options)
    return written(folder)


def test_each_rollout_is_on_disk_when_it_is_over_whatever_comes_next(
    small, agent, tmp_path, monkeypatch
):
    start, *trials = lost_gate(agent, small, tmp_path, monkeypatch)
    assert (start["kind"], start["damage"]) == ("start", "FL.upper")
    assert [(it["kind"], it["number"]) for it in trials] == [("trial", 1), ("trial", 2)]
    assert all(np.isfinite(it["return"]) and it["interruptions"] == 0 for it in trials)


def test_one_that_writes_at_its_end_only_would_lose_them(small, agent, tmp_path, monkeypatch):
    """Sabotage."""
    whole = Kept.write
    monkeypatch.setattr(
        Kept, "write", lambda self, **it: whole(self, **it) if it["kind"] == "start" else None
    )
    assert len(lost_gate(agent, small, tmp_path, monkeypatch)) == 1


def test_a_disk_that_takes_no_line_is_told_and_costs_no_trial(tmp_path):
    said = []
    kept = Kept(tmp_path / "missing", said.append)
    kept.write(kind="trial")
    assert len(said) == 2
    assert "not written down" in said[1]


def test_what_is_no_number_is_null_in_the_file(tmp_path):
    Kept(tmp_path, print).write(**adapt_command.results(Trial(float("nan"), interruptions=4)))
    line = written(tmp_path)[1]
    assert (line["return"], line["interruptions"]) == (None, 4)


# ---- interruptions ----------------------------------------------------------------------------


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


def test_the_median_is_of_those_that_came_to_their_end_and_their_number_is_said():
    ret, unsafe = np.array([4.0, np.nan, 1.0, 3.0, 2.0]), np.array([0.0, 1.0, 0.1, 0.2, 0.1])
    said = command._again("chosen after it", 7, Again(ret, unsafe))
    assert said.endswith(
        "return     2.50, median of 4 of 5 that came to their end (1.00 .. 4.00), unsafe 0.10"
    )
    none = command._again("chosen after it", 7, Again(np.full(5, np.nan), unsafe))
    assert none.endswith("return unknown: none of 5 rollouts came to its end")


@pytest.mark.parametrize("real", [True, False])
def test_a_robot_taken_out_of_its_hands_is_nothing_that_physics_did(
    small, monkeypatch, caplog, real
):
    """Sabotage: an engine that is not known as real."""
    monkeypatch.setattr(Wired, "real", real)
    stopped(small, monkeypatch, blind=False)
    assert ("physics diverged" in caplog.text) is not real


# ---- words ------------------------------------------------------------------------------------


def test_before_anything_is_loaded_it_says_that_the_robot_will_stand_up(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(adapt_command, "keep_programs", lambda: None)
    with pytest.raises(UserError):  # there is no agent
        adapt_command.adapt(tmp_path, link="udp://127.0.0.1:1")
    said = capsys.readouterr().err
    assert said.startswith("ursa: the robot at udp://127.0.0.1:1 WILL STAND UP AND WALK, when you")
    for word in ("s, space or Enter stops it", "a twice", "Ctrl-C"):
        assert word in said


def test_what_is_said_has_a_line_of_its_own_also_over_a_line_that_is_redrawn():
    screen, file = Terminal(), io.StringIO()
    for stream in (screen, file):
        teller(stream)("limp")
    assert screen.getvalue() == "\r\x1b[2Kursa: limp\n"
    assert file.getvalue() == "ursa: limp\n"


def test_it_says_why_the_robot_was_limp_when_its_run_ended(tmp_path):
    assert adapt_command.last_fault(tmp_path) == ""
    settings.write(tmp_path, Live())
    mailbox.create(tmp_path)
    (tmp_path / "agent").mkdir()
    gate = mailbox.Teller(tmp_path)
    gate.tell(mailbox.Told(cycle=1, now=1.0, mode=Mode.FAULT, since=0.5, fault="stop by order"))
    gate.close()
    for folder in (tmp_path, tmp_path / "agent"):
        assert adapt_command.last_fault(folder) == "stop by order"
    shared_place.forget(tmp_path)


def test_an_unfinished_run_on_a_robot_is_gone_on_with_there(agent, tmp_path):
    for folder in (tmp_path, tmp_path / "agent"):
        with pytest.raises(UserError, match=f"`ursa train --resume {folder}`"):
            refuse_unfinished(folder, agent)
    settings.write(tmp_path, Live())
    for folder in (tmp_path, tmp_path / "agent"):
        with pytest.raises(UserError, match=f"`ursa robot train --resume {tmp_path}`"):
            refuse_unfinished(folder, agent)


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
