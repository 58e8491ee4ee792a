"""An agent from a run: what it knows, what it does, what it refuses."""

import shutil
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import ursa
from runs import POINT, environment
from ursa import Agent
from ursa.agent import act as acting
from ursa.errors import UserError
from ursa.run.publish import FORMAT
from ursa.run.start import train
from ursa.run.train import begin
from ursa.run.trainer import Trainer

pytestmark = pytest.mark.usefixtures("quick")
STILL = np.zeros(7, np.float32)  # an observation of the point robot


@pytest.fixture(scope="module")
def agent(point):
    return Agent.load(point)


@pytest.fixture(autouse=True)
def fresh(agent):
    agent.reset()


def test_it_knows_its_settings_and_its_age(agent, point):
    assert agent.config == POINT
    assert (agent.seed, agent.steps) == (0, 640)
    assert Agent.load(point / "agent", seed=0).steps == 640


def test_its_skills_are_the_rows_of_its_repertoire(agent):
    assert agent.skills.shape == (64, 2)
    few = agent.thin(5)
    assert few.shape == (5, 2)
    known = {tuple(skill) for skill in agent.skills.tolist()}
    assert {tuple(skill) for skill in few.tolist()} <= known
    assert len({tuple(skill) for skill in few.tolist()}) == 5


def test_its_feature_map_finds_the_skills_of_the_postures_it_remembers(agent):
    known = agent.repertoire
    found = agent.feature(known.posture[: int(known.filled)])
    # R was encoded at the last refresh; the map has hardly moved since.
    assert np.abs(found - agent.skills).max() < 0.05 * np.ptp(agent.skills)


def test_it_acts_as_the_trained_networks_do(agent, point):
    trainer = Trainer(POINT)
    begin(trainer, point)
    policy = agent.policy
    learnt = trainer.learner.agent
    np.testing.assert_array_equal(policy.actor.mean.weight, learnt.actor.mean.weight[0])
    z = agent.skills[:2]
    rows = np.linspace(-1, 1, 2 * STILL.size, dtype=np.float32).reshape(2, -1)
    carry = acting.begin(policy, 2)
    _, wanted = acting.act(
        policy,
        carry,
        jnp.asarray(rows),
        jnp.ones(2, bool),
        jnp.asarray(z),
        jnp.zeros(()),
        jax.random.fold_in(jax.random.key(0), 0),
    )
    np.testing.assert_allclose(agent.act(rows, z), wanted, atol=1e-5)


def test_it_remembers_until_it_is_reset(agent):
    skill = agent.skills[0]
    first, second = agent.act(STILL + 0.5, skill), agent.act(STILL + 0.5, skill)
    assert first.shape == (2,)
    assert (np.abs(first) <= 1).all()
    assert (first != second).any()
    agent.reset()
    np.testing.assert_array_equal(agent.act(STILL + 0.5, skill), first)


def test_exploring_differs_from_the_most_likely_action(agent):
    skill = agent.skills[0]
    likely = agent.act(STILL, skill)
    agent.reset()
    assert (agent.act(STILL, skill, explore=True) != likely).any()


def test_one_robot_is_a_row_of_several(agent):
    skill = agent.skills[0]
    one = agent.act(STILL, skill)
    agent.reset()
    many = agent.act(STILL[None], skill[None])
    assert many.shape == (1, 2)
    np.testing.assert_array_equal(many[0], one)


def test_a_value_is_one_number_per_robot(agent):
    rows = np.repeat(STILL[None], 64, axis=0)
    found = agent.value(rows, agent.skills)
    assert found.shape == (64,)
    assert np.isfinite(found).all()
    assert found.std() > 0  # skills promise different things
    single = agent.value(STILL, agent.skills[0])
    assert single.shape == ()


@pytest.mark.parametrize(
    ("observation", "skill", "said"),
    [
        (STILL[:-1], np.zeros(2), "observation has shape"),
        (STILL, np.zeros(3), "skill has shape"),
        (np.stack([STILL, STILL]), np.zeros((1, 2)), "skill has shape"),
        (STILL + np.nan, np.zeros(2), "observation holds a number that is not finite"),
        (STILL, np.full(2, np.inf), "skill holds a number that is not finite"),
    ],
)
def test_what_does_not_fit_is_refused(agent, observation, skill, said):
    with pytest.raises(UserError, match=said):
        agent.act(observation, skill)


def test_other_robots_need_a_reset(agent):
    agent.act(STILL, agent.skills[0])
    with pytest.raises(UserError, match=r"2 observations, but 1 robots until now"):
        agent.act(np.stack([STILL, STILL]), agent.skills[:2])


def test_a_folder_without_an_agent_is_refused(tmp_path, point):
    with pytest.raises(UserError, match="holds no agent"):
        Agent.load(tmp_path)
    shutil.copy(point / "config.json", tmp_path)  # begun, nothing saved yet
    with pytest.raises(UserError, match="holds no agent"):
        Agent.load(tmp_path)
    with pytest.raises(UserError, match=r"unknown seed of .*: 3, but it has only seed 0"):
        Agent.load(point, seed=3)


def with_nan(data):
    held = safetensors.numpy.load(data)
    held["['actor'].mean.weight"] = np.full_like(held["['actor'].mean.weight"], np.nan)
    return safetensors.numpy.save(held, metadata=FORMAT)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:100], "cannot be read"),
        (lambda data: data.replace(b"mean.weight", b"mean.weirdo"), "lacks .*mean.weight"),
        (lambda data: with_nan(data), r"not finite: \['actor'\]\.mean\.weight"),
        (None, "is missing"),
    ],
)
def test_a_damaged_agent_is_refused(tmp_path, point, damage, said):
    out = tmp_path / "agent"
    shutil.copytree(point / "agent", out)
    file = out / "seed_0" / "agent.safetensors"
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(UserError, match=said):
        Agent.load(out)


def test_training_from_python_refuses_what_makes_no_sense(tmp_path):
    with pytest.raises(UserError, match="did you mean robot"):
        ursa.train("tiny", robt="point", out=tmp_path / "run")
    with pytest.raises(UserError, match=r"train\.batch = 0"):
        ursa.train("tiny", train={"batch": 0}, out=tmp_path / "run")
    with pytest.raises(UserError, match="leave out steps, out"):
        ursa.train(resume=tmp_path, steps=3, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_training_from_python_gives_the_agent_that_a_folder_gives(tmp_path, point):
    out = tmp_path / "run"
    changes = {"checkpoint_every": 128, "log_every": 48, "patience": 8}
    mine = train("tiny", robot="point", task="point", steps=640, train=changes, out=out, quiet=True)
    np.testing.assert_array_equal(mine.skills, Agent.load(point).skills)
    again = train(resume=out, quiet=True)
    np.testing.assert_array_equal(again.skills, mine.skills)


def test_ctrl_c_stops_a_process_cleanly_and_says_how_to_go_on(tmp_path):
    out = tmp_path / "run"
    words = ["train", "--robot", "point", "--task", "point", "--preset", "tiny"]
    words += ["--steps", "640", "--train.checkpoint-every", "128", "--train.log-every", "48"]
    program = (
        "import os, signal, sys\n"
        "from ursa.cli import main\n"
        "from ursa.run.collect import Collector\n"
        "step = Collector.step\n"
        "def hit(self, action):\n"
        "    if self.row is not None and not hit.done:\n"
        "        hit.done = True\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return step(self, action)\n"
        "hit.done = False\n"
        "Collector.step = hit\n"
        f"sys.exit(main({[*words, '--out', str(out)]!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 130, done.stderr
    assert f"stopped at step 4 of 640, all saved; go on with: ursa train --resume {out}" in (
        done.stderr
    )
    assert (out / "checkpoints" / "step_000000004").is_dir()
    assert (out / "agent" / "seed_0" / "agent.safetensors").exists()
