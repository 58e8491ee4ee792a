"""The actor: what it senses, what it wishes, which rows it leaves."""

import numpy as np

from live.puppets import Puppet
from live.walks import STEPS, Scripted, actor_on, rows, told, walk, walked
from ursa.gate import wired
from ursa.robot import gait
from ursa.robot.a1 import A1

FELT = ("observation", "reward", "cost", "posture", "safe")


def worst(felt, packets):
    """The largest difference between rows and lock-step's outcomes, by field."""
    outcomes = walk()[1]
    return {
        name: max(
            np.abs(
                np.asarray(getattr(felt.row, name)[index, 0], float)
                - np.asarray(getattr(outcomes[index], name)[0], float)
            ).max()
            for index in range(len(felt.row.reward))
        )
        for name in FELT
    }


def test_the_actor_feels_exactly_what_lock_step_feels_on_the_same_sensors(tmp_path):
    _, _, felt = walked(tmp_path, packets=False)
    assert len(felt.row.reward) == STEPS
    off = worst(felt, packets=False)
    assert off["observation"] == 0.0  # float32 on both sides
    assert off["reward"] < 1e-6  # stored as float32
    assert off["cost"] < 1e-6
    assert off["posture"] < 1e-6
    assert off["safe"] == 0.0


def test_through_the_bytes_of_the_wire_it_feels_the_same_to_three_digits(tmp_path):
    """float32 angles, torque in steps of 1/256 N m: the packet rounds."""
    _, _, felt = walked(tmp_path, packets=True)
    off = worst(felt, packets=True)
    assert off["observation"] < 1e-3
    assert off["reward"] < 1e-3
    assert off["cost"] < 1e-4
    assert off["posture"] < 1e-4
    assert off["safe"] == 0.0


def test_an_actor_that_sees_only_the_newest_state_would_feel_something_else(tmp_path, monkeypatch):
    """Sabotage: the estimator needs every cycle of the gate, not one in twenty-five."""
    whole = wired._ticks
    monkeypatch.setattr(wired, "_ticks", lambda spec, states: whole(spec, states[-1:]))
    _, _, felt = walked(tmp_path, packets=False)
    assert worst(felt, packets=False)["observation"] > 0.01


def test_its_wishes_are_the_joint_targets_of_lock_step(tmp_path):
    _, puppet, _ = walked(tmp_path, packets=False)
    targets = walk()[3]
    assert len(puppet.wishes) == STEPS
    for wish, target in zip(puppet.wishes, targets, strict=True):
        np.testing.assert_array_equal(wish, target)


def test_rows_say_which_action_skill_and_policy_led_there(tmp_path):
    _, _, felt = walked(tmp_path, packets=False)
    actions = np.array(walk()[0], np.float32)
    np.testing.assert_array_equal(felt.row.action[1:, 0], actions[: STEPS - 1])
    assert felt.row.first[:, 0].tolist() == [True] + [False] * (STEPS - 1)
    assert felt.policy.tolist() == [0] + [3] * (STEPS - 1)
    assert felt.marks.tolist() == [0] * STEPS
    changed = [n for n in range(2, STEPS) if (felt.skill[n] != felt.skill[n - 1]).any()]
    assert all((n - 1) % 5 == 0 for n in changed)  # kept for the five steps of the period
    assert {tuple(z) for z in felt.skill[1:].tolist()} <= {(0.5, -0.5), (1.0, 2.0)}


def test_before_the_first_policy_it_acts_by_chance_that_follows_from_seed_and_number(tmp_path):
    puppet, pilot = Puppet(told(False)), Scripted()
    pilot.known = None
    actor = actor_on(puppet, tmp_path, pilot)
    for _ in range(6):
        actor.turn()
    felt = rows(actor)
    wanted = [gait.random(A1, number, 0) for number in range(5)]
    np.testing.assert_allclose(felt.row.action[1:, 0], np.array(wanted), atol=1e-6)
    assert felt.policy.tolist() == [0] * 6
    assert (felt.skill == 0).all()


def test_the_recurrent_state_is_cleared_only_where_a_sequence_begins(tmp_path):
    puppet, pilot = Puppet(told(False)), Scripted()
    actor = actor_on(puppet, tmp_path, pilot)
    for _ in range(12):  # over two changes of skill
        actor.turn()
    assert pilot.firsts == [True] + [False] * 11


def test_a_policy_that_gives_no_number_moves_nothing(tmp_path):
    puppet, pilot = Puppet(told(False)), Scripted(bad=(3,))
    actor = actor_on(puppet, tmp_path, pilot)
    for _ in range(8):
        actor.turn()
    assert all(np.isfinite(wish).all() for wish in puppet.wishes)
    felt = rows(actor)
    assert np.flatnonzero(felt.row.first[:, 0]).tolist() == [0, 4]
