"""A fallen robot gets up by its script, on whichever side it lies."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ursa.errors import UserError
from ursa.robot import gait, getup, motion
from ursa.robot.a1 import A1
from ursa.robot.disturbance import Disturbance
from ursa.robot.getup import Rise, advance
from ursa.robot.go2 import GO2
from ursa.robot.motion import target_of
from ursa.robot.point import POINT
from ursa.robot.registry import body
from ursa.robot.spec import Posture

BACK, LEFT, RIGHT = (np.array(it, float) for it in ((0, 0, -1), (0, -1, 0), (0, 1, 0)))
ROUND = sum(posture.time for posture in A1.roll[:-1])  # 3.2 s
SOFT = replace(A1, joints=tuple(replace(joint, kp=0.4 * joint.kp) for joint in A1.joints))


def dropped(count, rolls, seed):
    """A1s at the gate's lowered gains, on floors and with loads that differ, 1 s after a drop."""
    varied = Disturbance(friction=(0.8, 1.2), mass=(0.8, 1.2))
    robots = body(SOFT, count, tick=0.005, threads=1, disturbance=varied, seed=seed)
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1, 1, (count, 12))
    roll = np.resize(rolls, count) + rng.uniform(-0.4, 0.4, count)
    qpos = robots.engine.batch.bind("qpos")
    qpos[:, :3] = 0, 0, 0.3
    qpos[:, 3:7] = 0
    qpos[:, 3], qpos[:, 4] = np.cos(roll / 2), np.sin(roll / 2)
    qpos[:, 7:] = target_of(SOFT, actions)
    robots.engine.batch.forward()
    robots._motion = motion.begin(qpos[:, 7:])
    for _ in range(20):
        reading = robots.step(actions)
    return robots, reading


def risen(robots, reading, seconds=15.0, step=advance):
    """Which of those that lay there stand in the end: (lay, stand)."""
    lay = reading.rotation[:, 2, 2] < math.cos(1.3)
    rises = [Rise()] * robots.count
    for _ in range(round(seconds * 20)):
        found = [step(A1, rise, up) for rise, up in zip(rises, reading.rotation[:, 2], strict=True)]
        rises = [rise for rise, _ in found]
        reading = robots.step(np.array([action for _, action in found]))
    robots.close()
    return lay, np.array([rise.done(A1) for rise in rises]) & (reading.rotation[:, 2, 2] > 0.8)


def test_from_its_back_and_either_side_an_a1_gets_up_at_the_gains_the_gate_leaves_it():
    lay, stand = risen(*dropped(24, (math.pi, math.pi / 2, -math.pi / 2), seed=5))
    assert lay.sum() >= 12
    assert stand[lay].all()


def test_one_that_only_holds_its_stance_or_does_not_look_where_up_is_stays_down():
    def stands(spec, rise, up):
        return Rise(), gait.stand(spec)

    def blind(spec, rise, up):
        return advance(spec, rise, np.array([up[0], -abs(up[1]), up[2]]))  # left, it thinks

    for careless in (stands, blind):
        lay, stand = risen(*dropped(12, (-math.pi / 2,), seed=6), seconds=5, step=careless)
        assert lay.sum() >= 4
        assert not stand[lay].all()


def test_the_left_side_is_the_mirror_image_of_the_right():
    mirrored = np.array([3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8])  # FR FL BR BL
    outward = np.where(np.arange(12) % 3 == 0, -1.0, 1.0)
    left, right = Rise(), Rise()
    for _ in range(70):
        left, one = advance(A1, left, LEFT)
        right, other = advance(A1, right, RIGHT)
        np.testing.assert_allclose(one[mirrored] * outward, other, atol=1e-12)
        assert (left.left, right.left) == (True, False)


def test_a_round_lasts_as_long_as_its_postures_then_it_rests_and_looks_again():
    rise, actions = Rise(), []
    for _ in range(75):
        rise, action = advance(A1, rise, BACK)
        actions.append(action)
    stance = gait.stand(A1)
    rests = [step for step, action in enumerate(actions) if np.array_equal(action, stance)]
    assert round(ROUND * 20) == 64
    assert rests == list(range(64, 74))  # half a second
    np.testing.assert_array_equal(actions[74], actions[0])
    rise, _ = advance(A1, replace(rise, step=73), LEFT)
    assert rise == Rise(step=0, left=True)


def test_half_way_up_it_brings_its_legs_under_it_for_a_second_and_stands_for_another():
    rise, _ = advance(A1, Rise(), BACK)
    actions, done = [], []
    for _ in range(42):
        rise, action = advance(A1, rise, np.array([0.0, 0.9, 0.31]))
        actions.append(action)
        done.append(rise.done(A1))
    wide = motion.target_of(A1, actions[0][None])[0].reshape(4, 3)
    np.testing.assert_allclose(wide[:, 0], [-0.4, 0.4, -0.4, 0.4], atol=1e-9)
    assert all(np.array_equal(action, actions[0]) for action in actions[:20])
    assert all(np.array_equal(action, gait.stand(A1)) for action in actions[20:])
    assert done == [False] * 40 + [True] * 2
    again, _ = advance(A1, rise, LEFT)  # it fell once more
    assert again == Rise(step=0, left=True)


def test_every_posture_is_one_the_robot_can_be_asked_for():
    low, high = A1.of_joints("low")[:3], A1.of_joints("high")[:3]
    for posture in A1.roll:
        for hip, *rest in (posture.below, posture.above):
            for value, least, most in zip((hip, *rest), low, high, strict=True):
                assert least <= value <= most
            assert low[0] <= -hip <= high[0]


def test_what_cannot_be_a_script_is_said():
    one = Posture(below=(0, 0, 0), above=(0, 0, 0), time=1.0)
    assert getup.HALF_WAY == 0.3
    assert GO2.roll == POINT.roll == ()
    for spec, roll in ((A1, (one,)), (POINT, (one, one))):
        with pytest.raises(UserError, match=r"roll has \d postures.*want legs, postures that"):
            replace(spec, roll=roll)
    with pytest.raises(UserError, match="posture: time = 0"):
        replace(one, time=0.0)
