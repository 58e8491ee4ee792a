"""`ursa robot adapt`: what it tries, tells, keeps and goes on from."""

import json
import re
from dataclasses import asdict

import numpy as np
import pytest

from live.standing import NEVER, standing
from runs import A1 as CONFIG
from runs import quickly
from ursa.adapt.ite import Trial
from ursa.errors import UserError
from ursa.evaluate.study import refuse_unfinished
from ursa.gate import mailbox
from ursa.gate.modes import Mode
from ursa.live import adapt_command, past, settings
from ursa.live.adapt_command import adapted
from ursa.live.lift import Lift
from ursa.live.past import Past
from ursa.live.settings import Live
from ursa.live.trials import Kept
from ursa.repair import command
from ursa.repair import play as playing
from ursa.repair.adaptation import Again
from ursa.robot.a1 import A1
from ursa.run.agent import Agent
from ursa.run.train import train
from ursa.shared import place as shared_place


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
    options, said, lift = short(monkeypatch), [], Lift(A1, 0.0)
    kept = Kept(tmp_path, said.append)
    found = adapted(agent, standing(small), "FL.upper", said.append, kept, lift, Past(), **options)
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
    lift.ended(3, 2.8502, True)  # had it fallen for the third time and got up
    rise = {"kind": "rise", "number": 3, "seconds": 2.85, "up": True}
    assert rise.items() <= written(tmp_path)[-1].items()


def written(folder):
    lines = (folder / "trials.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def lost_gate(agent, small, folder, monkeypatch, after=2):
    """What is on disk of so many rollouts when the gate is gone in the next one."""
    engine, rollouts = standing(small), iter(range(10))
    whole = playing.play

    def play(*arguments):
        if next(rollouts) == after:
            raise UserError("the gate is gone")
        return whole(*arguments)

    options = short(monkeypatch)
    kept = Kept(folder, print, damage="FL.upper")
    with monkeypatch.context() as patch:
        patch.setattr(playing, "play", play)
        with pytest.raises(UserError, match="the gate is gone"):
            adapted(agent, engine, "FL.upper", print, kept, NEVER, Past(), **options)
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


@pytest.mark.parametrize("after", [1, 2, 3])
def test_what_was_made_before_a_kill_is_told_and_not_made_again(
    small, agent, tmp_path, monkeypatch, capsys, after
):
    lost_gate(agent, small, tmp_path, monkeypatch, after)
    told, made, stood = capsys.readouterr().out, [], small.modes.count(Mode.STAND)
    known = past.read(tmp_path, {"damage": "FL.upper"}, print)
    assert known.count == after
    whole = playing.play
    monkeypatch.setattr(playing, "play", lambda *it: made.append(whole(*it)) or made[-1])
    kept = Kept(tmp_path, print, resumed=True, damage="FL.upper")
    found = adapted(
        agent, standing(small), "FL.upper", print, kept, NEVER, known, **short(monkeypatch)
    )
    assert len(made) == 4 - after  # two trials, and once each again
    assert small.modes.count(Mode.STAND) - stood == 1 + len(made)  # for the damage, and each
    lines = [it for it in capsys.readouterr().out.splitlines() if " of " in it][1:]
    earlier = [it for it in lines if it.endswith(", by an earlier start")]
    assert (len(lines), len(earlier)) == (4, after)
    before = [it.partition(", ETA")[0] for it in told.splitlines() if it.startswith("trial ")]
    assert before == [it.partition(", by an")[0] for it in earlier if it.startswith("trial")]
    rows = [it["row"] for it in written(tmp_path) if it["kind"] == "trial"]
    assert rows == [it.skill for it in found.search.attempts]
    assert [it["kind"] for it in written(tmp_path)].count("trial") == 2


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


def test_the_median_is_of_those_that_came_to_their_end_and_their_number_is_said():
    ret, unsafe = np.array([4.0, np.nan, 1.0, 3.0, 2.0]), np.array([0.0, 1.0, 0.1, 0.2, 0.1])
    said = command._again("chosen after it", 7, Again(ret, unsafe))
    assert said.endswith(
        "return     2.50, median of 4 of 5 that came to their end (1.00 .. 4.00), unsafe 0.10"
    )
    none = command._again("chosen after it", 7, Again(np.full(5, np.nan), unsafe))
    assert none.endswith("return unknown: none of 5 rollouts came to its end")


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


def asked(folder, monkeypatch):
    """What is answered to who would adapt with the agent of a folder."""
    monkeypatch.setattr(adapt_command, "keep_programs", lambda: None)
    with pytest.raises(UserError) as caught:
        adapt_command.adapt(folder, link="udp://127.0.0.1:1")
    return str(caught.value)


def begun(folder, **changes):
    """A run on a robot that has saved nothing yet."""
    settings.write(folder, Live(**changes))
    (folder / "config.json").write_text(json.dumps(asdict(CONFIG)))
    return folder


def test_a_run_that_has_no_agent_yet_is_told_apart_with_what_to_do(tmp_path, monkeypatch):
    said = asked(begun(tmp_path), monkeypatch)
    assert said.startswith(f"{tmp_path} has published no agent yet: its learner does so every 60 s")
    assert said.endswith(f"go on with `ursa robot train --resume {tmp_path}`")
    (tmp_path / "agent").mkdir()  # the first one is just being written
    assert asked(tmp_path / "agent", monkeypatch) == said


def test_the_agent_of_a_learner_elsewhere_has_to_be_copied(tmp_path, monkeypatch):
    said = asked(begun(tmp_path, learner="tcp://127.0.0.1:8077"), monkeypatch)
    assert "its learner is on another machine (tcp://127.0.0.1:8077); copy the folder `ag" in said


def test_one_that_does_not_look_would_not_say_when_there_will_be_one(tmp_path, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(adapt_command, "refuse_unpublished", lambda folder: None)
    assert asked(begun(tmp_path), monkeypatch).startswith(f"{tmp_path} holds no agent")


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

    def gated(out, live, say, lift):
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
