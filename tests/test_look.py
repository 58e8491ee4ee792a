"""`ursa look`: a table against chance and pictures, from any run, whatever came out of it."""

import json
import shutil
from types import SimpleNamespace

import jaxtyping
import numpy as np
import pytest

from runs import POINT, quickly
from ursa import Agent, cli, look
from ursa.evaluate.rollout import STEPS, aimless
from ursa.look import chosen, table
from ursa.run.train import train


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("look") / "run"
    calls = iter(range(10**6))
    with quickly():
        train(POINT, out, quiet=True, stop=lambda: next(calls) == 16)  # nothing is learnt yet
        yield out


def test_a_run_is_compared_with_chance_and_drawn(run, capsys):
    assert cli.main(["look", str(run), "--skills", "6"]) == 0
    printed = capsys.readouterr().out
    assert "6 skills" in printed
    assert "6 at random" in printed
    assert "UNTRAINED: no update was made yet" in printed
    for row in ("reward per step", "safe share of steps"):
        assert row in printed
    assert (run / "repertoire.png").read_bytes().startswith(b"\x89PNG")
    assert not (run / "coverage.png").exists()  # a point has no legs


def test_skills_to_try_are_known_ones_or_drawn_where_too_few_are_known(run):
    agent = Agent.load(run)
    known = {tuple(skill) for skill in agent.skills.tolist()}
    assert {tuple(skill) for skill in chosen(agent, 5).tolist()} <= known
    many = chosen(agent, len(known) + 1)
    assert many.shape == (len(known) + 1, 2)
    assert np.isfinite(many).all()


def test_an_agent_is_untrained_until_a_run_tells_of_an_update(run, tmp_path, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a stand-in is no agent
    agent = Agent.load(run)
    prefill = agent.config.train.prefill
    assert agent.steps <= prefill
    for steps, told, said in (
        (prefill, [], True),
        (prefill + 1, [], False),  # an agent without its run: nobody knows better
        (prefill + 1, [{"repertoire/filled": 0.0}], True),
        (prefill + 1, [{"repertoire/filled": 0.0}, {"actor/loss": 0.3}], False),
    ):
        lines = [json.dumps({"step": 9, "kind": "train", **each}) + "\n" for each in told]
        (tmp_path / "metrics.jsonl").write_text("".join(lines))
        lived = SimpleNamespace(steps=steps, config=agent.config)
        for place in (tmp_path, tmp_path / "agent"):
            assert look.untrained(lived, place).startswith("UNTRAINED") is said


def test_chance_is_the_same_every_time_and_earns_what_its_rewards_sum_to(run):
    agent = Agent.load(run)
    first, second = (aimless(agent.arena(3)) for _ in range(2))
    np.testing.assert_array_equal(first.ret, second.ret)
    other = aimless(agent.arena(3), seed=1)
    assert (first.ret != other.ret).all()
    # The point's reward is its speed along x; over the last 200 steps the mean is known apart.
    assert first.posture.shape == (3, 2)
    assert np.abs(first.ret / STEPS - first.posture[:, 0]).max() < 0.1
    row = table(agent, first, other).splitlines()[1].split()
    assert row[-2:] == [f"{first.ret.mean() / STEPS:.3f}", f"{other.ret.mean() / STEPS:.3f}"]


def test_a_count_of_skills_that_makes_no_sense_is_refused_by_its_name(run, capsys):
    for count in ("0", "-5"):
        assert cli.main(["look", str(run), "--skills", count]) == 2
        said = capsys.readouterr().err
        assert said == f"ursa: --skills = {count}, want a whole number >= 1\n"


def test_a_run_that_cannot_be_written_to_is_refused_before_it_is_loaded(run, capsys, monkeypatch):
    monkeypatch.setattr(Agent, "load", lambda *_: pytest.fail("it was loaded"))
    monkeypatch.setattr("os.access", lambda *_: False)
    assert cli.main(["look", str(run)]) == 2
    assert "its folder is not writable: pictures go there" in capsys.readouterr().err


def test_what_takes_long_is_said_meanwhile(run, capsys):
    assert cli.main(["look", str(run), "--skills", "2"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("loading and compiling")
    assert said[1] == f"trying 2 rollouts of {STEPS} steps, and as many at random ..."
    assert f"100%  {2 * STEPS}/{2 * STEPS}" in said[-2]
    assert said[-1] == "now at random, then drawing ..."


def test_a_folder_without_an_agent_is_refused(tmp_path, capsys):
    assert cli.main(["look", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"ursa: {tmp_path} holds no agent; give the folder of a run")  # at once
    shutil.rmtree(tmp_path)
