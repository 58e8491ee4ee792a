"""The A1 in PyBullet: our frames, honest motors, damage, and worlds that repeat bit by bit."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.bullet import BulletEngine
from ursa.robot.damage import impairment, injure, parse, sound
from ursa.robot.go2 import GO2
from ursa.robot.legged import LeggedBody
from ursa.robot.motion import action_of

pytest.importorskip("pybullet", reason="PyBullet is not installed: make setup")
STANCE = A1.of_joints("stance")
ALL = np.array([True])
GRAVITY = 9.81


def hold(engine: BulletEngine, seconds: float, angle=STANCE):
    ticks = round(seconds / engine.tick)
    return engine.advance(np.tile(angle, (engine.count, ticks, 1)))


def wild(seed: int, count: int, steps: int, ticks: int = 25) -> np.ndarray:
    """Random targets over the whole range, a new one every control step."""
    chance = np.random.default_rng(seed)
    low, high = A1.of_joints("low"), A1.of_joints("high")
    return np.repeat(chance.uniform(low, high, (count, steps, 12)), ticks, axis=1)


def hurt(engine: BulletEngine, text: str) -> None:
    damages, count = parse(text, A1), engine.count
    which, angle = np.ones(count, bool), engine.look().joint_angle[:, -1]
    engine.impair(impairment(injure(sound(count, 12), damages, which, angle)))


def test_it_stands_where_it_was_set_down():
    engine = BulletEngine(A1)
    seen = hold(engine, 1.0)
    x, y, z = engine.truth().position[0]
    assert abs(x) < 0.02
    assert abs(y) < 0.02
    assert 0.25 < z < 0.29
    assert seen.contact[0, -1].all()
    np.testing.assert_allclose(seen.acceleration[0, -50:].mean(axis=0), [0, 0, GRAVITY], atol=0.2)
    np.testing.assert_allclose(engine.truth().foot_height, 0.0, atol=1e-3)


def test_frames_are_those_of_the_trunk_as_bullet_itself_tells_them():
    engine = BulletEngine(A1)
    seen = engine.advance(wild(0, 1, 20))
    world = engine._worlds[0]
    # The IMU link sits in the origin of the trunk, unturned: Bullet's word on that frame.
    imu = world._do("getLinkState", world.robot, 0, 1, 1)  # velocities, fresh
    truth, (x, y, z, w) = engine.truth(), imu[5]
    np.testing.assert_allclose(truth.position[0], imu[4], atol=1e-6)
    np.testing.assert_allclose(truth.velocity[0], imu[6], atol=1e-6)
    quaternion = seen.quaternion[0, -1]
    np.testing.assert_allclose(quaternion * np.sign(quaternion[0] * w), [w, x, y, z], atol=1e-6)
    toes = [world._do("getLinkState", world.robot, link, 0, 1)[4][2] for link in world.foot_of]
    np.testing.assert_allclose(truth.foot_height[0], np.array(toes) - 0.02, atol=1e-5)


def test_rear_names_of_the_description_are_our_back_legs():
    engine = BulletEngine(A1)
    info = [
        engine._worlds[0]._do("getJointInfo", 1, index)[1] for index in engine._worlds[0].joints
    ]
    assert info[6:9] == [b"RR_hip_joint", b"RR_upper_joint", b"RR_lower_joint"]
    wanted = [joint.upper for joint in A1.joints]
    limits = [engine._worlds[0]._do("getJointInfo", 1, it)[9] for it in engine._worlds[0].joints]
    np.testing.assert_allclose(limits, wanted)


def test_an_accelerometer_feels_the_fall_and_not_gravity():
    engine = BulletEngine(A1)
    engine.push(np.array([[0.0, 0.0, 5 * A1.mass * GRAVITY]]))
    hold(engine, 0.1)  # thrown up
    seen = hold(engine, 0.1)
    assert not seen.contact.any()
    np.testing.assert_allclose(seen.acceleration[0, -20:].mean(axis=0), 0.0, atol=1.0)


def test_no_motor_works_beyond_its_line():
    engine = BulletEngine(A1, 2, clip=False)
    before = engine.look().joint_speed
    seen = engine.advance(wild(1, 2, 30))
    speed = np.concatenate([before, seen.joint_speed], axis=1)[:, :-1]  # when the tick began
    assert np.abs(speed).max() > 12.0
    peak, fastest = 33.5, 21.0
    assert np.abs(seen.torque).max() <= peak
    assert (seen.torque <= peak * (1.0 - speed / fastest) + 1e-9).all()
    assert (seen.torque >= -peak * (1.0 + speed / fastest) - 1e-9).all()


def test_the_tick_clip_bounds_the_torque_at_rest():
    target = A1.of_joints("high")  # far from the stance
    free, clipped = BulletEngine(A1, clip=False), BulletEngine(A1)
    first = {e.clip: hold(e, e.tick, target).torque[0, 0] for e in (free, clipped)}
    upper = 4  # 80 N m/rad x 0.2 rad; without the clip 80 x 2.77 rad, more than the motor has
    assert first[True][upper] == pytest.approx(16.0)
    assert first[False][upper] == pytest.approx(33.5)


def test_friction_is_the_product_of_foot_and_floor():
    engine = BulletEngine(A1)
    world = engine._worlds[0]
    frictions = [
        world._do("getDynamicsInfo", world.robot, link)[1]
        * world._do("getDynamicsInfo", world.floor, -1)[1]
        for link in world.foot_of
    ]
    np.testing.assert_allclose(frictions, 0.8)


def test_on_ice_a_push_makes_it_slide():
    engine = BulletEngine(A1, 2)
    engine.vary(np.array([1.0, 0.01]), np.ones(2))
    hold(engine, 0.5)
    engine.push(np.tile([0.0, 30.0, 0.0], (2, 1)))
    hold(engine, 0.05)
    # 30 N on 12.5 kg for 50 ms: 0.12 m/s if nothing holds it.
    firm, sliding = engine.truth().velocity[:, 1]
    assert sliding == pytest.approx(0.12, abs=0.03)
    hold(engine, 0.3)
    assert abs(engine.truth().velocity[0, 1]) < 0.02 < engine.truth().velocity[1, 1]
    assert firm > 0.0


def test_a_heavier_trunk_weighs_on_the_knees():
    engine = BulletEngine(A1, 2)
    engine.vary(np.ones(2), np.array([1.0, 2.0]))
    seen = hold(engine, 1.0)
    light, heavy = seen.torque[:, -1, A1.columns("lower")].mean(axis=1)
    # 12.45 kg against 17.17 kg on the same legs, which carry nearly all of it.
    assert heavy / light == pytest.approx(17.17 / 12.45, abs=0.15)


def test_a_seized_joint_creeps_to_its_angle_and_stays():
    engine = BulletEngine(A1)
    hold(engine, 0.5)
    hurt(engine, "FL.upper:locked=1.5")
    seen = hold(engine, 0.1)
    assert np.abs(seen.joint_speed[0, 5:, 4]).max() < 3.2
    angle = hold(engine, 0.5).joint_angle[0, -1, 4]
    assert angle == pytest.approx(1.5, abs=0.01)
    angles = engine.advance(wild(2, 1, 10)).joint_angle[0, :, 4]
    np.testing.assert_allclose(angles, 1.5, atol=0.02)
    hurt(engine, "undamaged")
    assert hold(engine, 0.5).joint_angle[0, -1, 4] == pytest.approx(0.9, abs=0.1)


def test_limp_motors_give_nothing_and_weak_ones_their_share():
    engine = BulletEngine(A1, 1)
    target = STANCE + 0.1
    full = hold(engine, engine.tick, target).torque[0, 0]
    engine.place(ALL)
    hurt(engine, "FL:limp+FR:weak=0.5")
    seen = hold(engine, engine.tick, target).torque[0, 0]
    np.testing.assert_array_equal(seen[3:6], 0.0)
    np.testing.assert_allclose(seen[:3], full[:3] / 2)
    np.testing.assert_array_equal(seen[6:], full[6:])


def test_carried_home_it_moves_on_as_before():
    engine = BulletEngine(A1)
    engine.advance(wild(3, 1, 20))
    before, angles = engine.truth(), engine.look()
    engine.carry(ALL)
    after = engine.truth()
    np.testing.assert_allclose(after.position[0], [0.0, 0.0, before.position[0, 2]], atol=1e-12)
    np.testing.assert_allclose(after.velocity, before.velocity, atol=1e-12)
    np.testing.assert_array_equal(engine.look().joint_angle, angles.joint_angle)


def test_a_saved_world_goes_on_with_the_same_bits_in_another_engine():
    engine = BulletEngine(A1, 2)
    engine.vary(np.array([0.5, 1.0]), np.array([1.2, 1.0]))
    engine.advance(wild(4, 2, 10))
    hurt(engine, "BL.upper:locked")
    engine.advance(wild(5, 2, 10))
    state = engine.save()
    onward = wild(6, 2, 10)
    first = engine.advance(onward)
    engine.restore(state)
    other = BulletEngine(A1, 2)
    other.restore(state)
    for again in (engine.advance(onward), other.advance(onward)):
        np.testing.assert_array_equal(again.joint_angle, first.joint_angle)
        np.testing.assert_array_equal(again.quaternion, first.quaternion)
        np.testing.assert_array_equal(again.acceleration, first.acceleration)
        np.testing.assert_array_equal(again.contact, first.contact)


def test_a_world_gone_mad_is_reported_and_built_anew():
    body = LeggedBody(engine := BulletEngine(A1, 2))
    stand = np.tile(action_of(A1, STANCE), (2, 1))
    world = engine._worlds[1]
    world._do("resetBaseVelocity", world.robot, (np.nan, 0.0, 0.0), (0.0, 0.0, 0.0))
    reading = body.step(stand)
    assert body.rescued.tolist() == [False, True]
    assert np.isfinite(reading.joint_angle).all()
    for _ in range(10):
        reading = body.step(stand)
    assert not body.rescued.any()
    assert reading.truth is not None
    assert (reading.truth.position[:, 2] > 0.24).all()


def test_other_robots_and_odd_ticks_are_refused():
    with pytest.raises(UserError, match='a1 only, not of "go2"'):
        BulletEngine(GO2)
    for tick in (0.0, 0.0015, 0.005, 0.1):  # none, not a part of 0.05 s, too coarse for PD
        with pytest.raises(UserError, match=rf"tick = {tick} s: want a part .* at most 0\.0025 s"):
            BulletEngine(A1, tick=tick)
    with pytest.raises(UserError, match="count = 0, want a whole number >= 1"):
        BulletEngine(A1, 0)
    with pytest.raises(UserError, match=r"\(1, 12\).*\(2, 12\)"):
        BulletEngine(A1, 2).restore(BulletEngine(A1, 1).save())
    BulletEngine(replace(A1, control_rate=50.0))  # an A1 commanded faster is still an A1


def test_without_pybullet_the_answer_is_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pybullet", None)
    with pytest.raises(UserError, match=r"in a clone: make setup, or pip install '\.\[bullet\]'"):
        BulletEngine(A1)
