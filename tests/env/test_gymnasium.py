"""The Gymnasium face: registered ids, both interfaces, hands instead of resets."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import ursa.env
from ursa.env.single import UrsaEnv
from ursa.env.vector import UrsaVectorEnv
from ursa.errors import UserError
from ursa.robot.disturbance import Disturbance

EAST, STILL = np.array([1.0, 0.0], np.float32), np.zeros(2, np.float32)


def points(count=2, radius=0.5):
    env = UrsaVectorEnv(count, "point", "point", radius=radius)
    env.reset()
    return env


def leave(env, *actions, steps=12):
    """Twelve steps east are half a metre, see test_arena.py."""
    for _ in range(steps):
        result = env.step(np.array(actions))
    return result


@pytest.mark.parametrize("name", sorted(ursa.env.IDS))
def test_every_id_passes_gymnasiums_own_check(name):
    env = gymnasium.make(name)  # pytest turns every warning into an error
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("name", sorted(ursa.env.IDS))
def test_every_id_makes_robots_that_never_terminate(name):
    env = gymnasium.make_vec(name, num_envs=3, vectorization_mode="vector_entry_point")
    assert isinstance(env.unwrapped, UrsaVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    assert env.metadata["render_fps"] == 20
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    for _ in range(10):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert observation in env.observation_space
        assert reward.shape == (3,)
        assert not terminated.any()
        assert not truncated.any()
        total = np.sum(list(info["reward_terms"].values()), axis=0)
        np.testing.assert_allclose(total, reward, atol=1e-6)
        assert (info["safe"] == (info["cost"] <= 0)).all()
        assert info["interventions"].tolist() == [0, 0, 0]
    env.close()


def test_a_step_outside_is_truncated_and_a_mask_helps_only_the_marked():
    env = points()
    _, _, terminated, truncated, info = leave(env, EAST, EAST)
    assert truncated.tolist() == [True, True]
    assert not terminated.any()
    assert info["interventions"].tolist() == [0, 0]
    observation, info = env.reset(options={"reset_mask": np.array([True, False])})
    assert info["true_position"][:, 0].tolist() == [0.0, pytest.approx(0.50025, abs=1e-5)]
    assert info["velocity"][:, 0] == pytest.approx(1.0, abs=0.01)  # carried, not stopped
    assert info["interventions"].tolist() == [1, 0]
    assert observation.shape == (2, env.arena.layout.size)
    _, _, _, truncated, _ = env.step(np.array([EAST, EAST]))
    assert truncated.tolist() == [False, True]


def test_a_reset_without_a_mask_sets_everyone_down():
    env = points()
    leave(env, EAST, STILL)
    _, info = env.reset()
    assert not info["true_position"].any()
    assert not info["velocity"].any()
    assert info["interventions"].tolist() == [1, 0]


@pytest.mark.parametrize("mask", [np.array([1, 0]), np.array([True]), np.array([[True, True]])])
def test_a_wrong_mask_is_refused(mask):
    with pytest.raises(UserError, match="want 2 booleans, one per robot"):
        points().reset(options={"reset_mask": mask})


def test_a_mask_and_a_seed_do_not_go_together():
    with pytest.raises(UserError, match="give one of the two"):
        points().reset(seed=1, options={"reset_mask": np.array([True, True])})


def test_one_robot_alone_does_what_it_does_in_a_crowd():
    single = gymnasium.make("ursa/A1-Forward-v0", threads=1)
    vector = gymnasium.make_vec("ursa/A1-Forward-v0", num_envs=2, threads=1)
    alone, _ = single.reset(seed=0)
    crowd, _ = vector.reset(seed=0)
    np.testing.assert_allclose(alone, crowd[1], atol=1e-6)
    for action in np.random.default_rng(0).uniform(-1, 1, (5, 12)).astype(np.float32):
        alone, reward, terminated, truncated, info = single.step(action)
        crowd, rewards, _, _, infos = vector.step(np.stack([-action, action]))
        np.testing.assert_allclose(alone, crowd[1], atol=1e-6)
        assert reward == pytest.approx(rewards[1])
        assert (terminated, truncated) == (False, False)
        assert info["cost"] == pytest.approx(infos["cost"][1])
        assert info["reward_terms"]["yaw"] == pytest.approx(infos["reward_terms"]["yaw"][1])
        assert info["posture"].shape == (13,)
    single.close()
    vector.close()


def test_a_single_robot_that_left_is_carried_back_by_reset_and_set_down_by_a_seed():
    env = UrsaEnv("point", "point", radius=0.5)
    env.reset(seed=0)
    for _ in range(12):
        _, _, terminated, truncated, _ = env.step(EAST)
    assert (terminated, truncated) == (False, True)
    _, info = env.reset()
    assert info["true_position"].tolist() == [0.0, 0.0, 0.0]
    assert info["velocity"][0] == pytest.approx(1.0, abs=0.01)
    assert info["interventions"] == 1
    _, info = env.reset()  # nobody was stuck: begin anew
    assert info["velocity"].tolist() == [0.0, 0.0, 0.0]
    for _ in range(12):
        env.step(EAST)
    _, info = env.reset(seed=0)
    assert info["velocity"].tolist() == [0.0, 0.0, 0.0]
    assert info["interventions"] == 2


def test_gymnasiums_own_vector_of_single_robots_works_too():
    env = gymnasium.make_vec(
        "ursa/Point-v0",
        num_envs=2,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
        radius=0.5,
    )
    env.reset()
    _, _, _, truncated, _ = leave(env, EAST, STILL)
    assert truncated.tolist() == [True, False]
    _, info = env.reset(options={"reset_mask": truncated})
    assert info["interventions"].tolist() == [1, 0]
    env.close()


def test_a_seed_repeats_the_disturbance_and_another_one_changes_it():
    env = UrsaVectorEnv(1, "a1", "forward", threads=1, disturbance=Disturbance(angle_noise=0.05))

    def after(seed):
        env.reset(seed=seed)
        return env.step(np.zeros((1, 12)))[0]

    first, other, again = after(1), after(2), after(1)
    assert (first == again).all()
    assert (first != other).any()
    env.close()


def test_a_bad_action_is_refused_by_robot_and_joint_and_nothing_moves():
    env = UrsaVectorEnv(2, "a1", "forward", threads=1)
    before, _ = env.reset(seed=0)
    action = np.zeros((2, 12))
    action[1, 4] = np.nan
    with pytest.raises(UserError, match=r"action of robot 1, joint FL.upper is nan"):
        env.step(action)
    with pytest.raises(UserError, match=r"action has shape \(2, 5\)"):
        env.step(np.zeros((2, 5)))
    assert (env.arena.reading.joint_angle == env.arena.body.rest().joint_angle).all()
    assert (env.reset()[0] == before).all()
    env.close()


def test_a_robot_can_be_looked_at():
    env = gymnasium.make("ursa/A1-Forward-v0", render_mode="rgb_array", threads=1)
    env.reset()
    try:
        picture = env.render()
    except UserError as missing:  # no GL here: its message says what to install
        pytest.skip(str(missing))
    assert picture.dtype == np.uint8
    assert picture.shape == (480, 640, 3)
    assert picture.std() > 10  # something is to be seen
    env.close()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"robot": "a2"}, "unknown robot"),
        ({"task": "fly"}, "unknown task"),
        ({"engine": "unity"}, 'unknown engine "unity": valid are mujoco, pybullet'),
        ({"render_mode": "human"}, 'unknown render_mode "human": valid are rgb_array'),
    ],
)
def test_wrong_settings_are_answered_with_the_valid_ones(settings, told):
    with pytest.raises(UserError, match=told):
        UrsaEnv(**settings)


def test_importing_the_ids_loads_no_simulator():
    program = (
        "import sys, gymnasium, ursa.env\n"
        "assert set(ursa.env.IDS) <= set(gymnasium.registry)\n"
        "print(sorted({'mujoco', 'jax', 'pybullet'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
