"""Commands: a grid over what is known, and which of it is near a skill."""

import numpy as np

from ursa.evaluate.rollout import Rollouts
from ursa.evaluate.tracking import commands, reachable, tracked

SKILLS = np.array([[-0.2, 1.0], [0.4, -1.0], [0.0, 0.0]])


def test_commands_are_a_grid_over_the_box_of_all_skills():
    found = commands(SKILLS, 3)
    assert found.shape == (9, 2)
    np.testing.assert_allclose(np.unique(found[:, 0]), [-0.2, 0.1, 0.4])
    np.testing.assert_allclose(np.unique(found[:, 1]), [-1.0, 0.0, 1.0])
    assert len({tuple(it) for it in found.tolist()}) == 9


def test_a_command_is_reachable_within_two_thresholds_of_a_skill():
    ruler = np.diag([10.0, 1.0])
    command = np.array([[0.0, 0.2], [0.0, 0.21], [0.02, 0.0], [0.3, 0.0]])
    # 0.2, 0.21 and 0.2 from (0, 0) by the ruler; (0.3, 0) is sqrt(1 + 1) from (0.4, -1)
    assert reachable(command, SKILLS, ruler, 0.1).tolist() == [True, False, True, False]


def roll(z, chance):
    """Rollouts that come to 0.9 of the command and chance in the end, and to 0.8 over all."""
    late, one = 0.9 * z + chance[:, None], np.zeros(len(z))
    return Rollouts(
        ret=one,
        posture=z,
        feature=z,
        joint_angle=z,
        speed=late[:, 0],
        yaw_rate=late[:, 1],
        whole=0.8 * z,
        unsafe=one,
        airborne=one,
        joint_speed=one,
        torque=one,
        power=one,
        hand=one > 0,
    )


def test_every_command_is_tried_so_many_times_by_other_chances():
    found, _ = tracked(roll, SKILLS, np.eye(2), 0.09, grid=3, repeats=2)
    assert found.late.shape == found.whole.shape == (9, 2, 2)
    for row, command in enumerate(commands(SKILLS, 3)):
        for repeat in range(2):
            np.testing.assert_allclose(found.late[row, repeat], 0.9 * command + 2 * row + repeat)
            np.testing.assert_allclose(found.whole[row, repeat], 0.8 * command)
    # Corners (-0.2, 1) and (0.4, -1) are skills; (0.1, 0) is 0.1 from (0, 0), (-0.2, 0) is 0.2.
    assert np.flatnonzero(found.reachable).tolist() == [2, 4, 6]
