"""Wrong input is answered with name, value and what is allowed; nothing moves, nothing is lost."""

import re
from dataclasses import replace

import jaxtyping
import numpy as np
import pytest

from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.body import marked
from ursa.robot.damage import Damage
from ursa.robot.disturbance import Disturbance
from ursa.robot.go2 import GO2
from ursa.robot.registry import body
from ursa.robot.simulator import MuJoCoEngine

NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def no_type_checker(monkeypatch):
    """A user has no type checker before the body: what it would catch must be caught behind it."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def refused(message: str):
    return pytest.raises(UserError, match=re.escape(message))


def small(robot="a1", count: int = 2, **options):
    return body(robot, count, threads=1, **options)


@pytest.mark.parametrize("tick", [0.05, 0.025, 0.01, 0.004, 0.00025, 1e-6, 0.0, -0.005, NAN, INF])
def test_a_tick_that_physics_cannot_be_trusted_with_is_refused(tick):
    with refused("use 0.002 (faithful) or 0.005 (fast)") as caught:
        MuJoCoEngine(A1, tick=tick)
    assert str(caught.value).startswith(f"tick = {tick}")


@pytest.mark.parametrize("tick", [0.0005, 0.001, 0.002, 0.0025, 0.005])
def test_a_tick_from_half_to_five_milliseconds_that_divides_the_period_is_taken(tick):
    assert MuJoCoEngine(A1, threads=1, tick=tick).tick == tick


@pytest.mark.parametrize("rate", [7.0, 20.0, 30.0, 50.0, 60.0, 333.0, 400.0, 2000.0])
def test_the_ticks_that_are_recommended_are_accepted(rate):
    fast_robot = replace(A1, control_rate=rate)
    with pytest.raises(UserError) as caught:
        MuJoCoEngine(fast_robot, tick=0.1)
    offers = re.findall(r"([\d.]+) \(fa", str(caught.value).partition("; use ")[2])
    assert offers
    for offer in offers:
        assert MuJoCoEngine(fast_robot, threads=1, tick=float(offer)).tick <= 0.005


def test_at_30_hz_the_recommended_ticks_are_17_and_7_parts_of_the_period():
    with refused("use 0.001960784314 (faithful) or 0.004761904762 (fast)"):
        MuJoCoEngine(replace(A1, control_rate=30.0))


def test_commands_faster_than_the_finest_tick_are_refused():
    with refused("control_rate = 5000.0 Hz"):
        MuJoCoEngine(replace(A1, control_rate=5000.0))


@pytest.mark.parametrize("robot", ["a1", "point"])
@pytest.mark.parametrize(
    "which",
    [np.array([True]), np.ones(3, bool), np.array([1, 0]), np.ones((2, 2), bool), True, [0, 1]],
)
def test_marks_are_one_boolean_per_robot(robot, which):
    it = small(robot)
    before = it.save()
    for act in (it.rest, it.carry, lambda which: it.damage([Damage(joint=0)], which)):
        with refused("want 2 booleans, one per robot"):
            act(which)
    after = it.save()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_marks_may_be_a_list_and_none_marks_all():
    assert marked([True, False], 2).tolist() == [True, False]
    assert marked(None, 3).tolist() == [True, True, True]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"robot": "go2"}, "saved state is of robot go2; this body has robot a1"),
        ({"robot": replace(A1, name="a1 mini")}, "of robot a1 mini; this body has robot a1"),
        ({"tick": 0.002}, "of tick 0.002 s; this body has tick 0.005 s"),
        ({"count": 3}, "of count 3; this body has count 2"),
        ({"robot": "point"}, "of robot point, tick 0 s; this body has robot a1, tick 0.005 s"),
        ({"disturbance": Disturbance(latency=0.01)}, "pending is float64[2, 2, 12], this body has"),
    ],
)
def test_a_state_of_another_body_is_refused_with_the_difference(other, message):
    it = small()
    before = it.save()
    with refused(message):
        it.restore(small(**other).save())
    after = it.save()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("robot", ["a1", "point"])
def test_an_incomplete_state_is_refused_with_what_is_missing(robot):
    it = small(robot)
    state = it.save()
    with refused("saved state lacks "):
        it.restore({})
    with refused("saved state lacks injury.angle: restore what save()"):
        it.restore({name: value for name, value in state.items() if name != "injury.angle"})
    with refused("saved state has injury.mood, which this body does not know"):
        it.restore(state | {"injury.mood": np.zeros(2)})
    with refused("saved state is a list"):
        it.restore([])
    with refused("injury.angle is float32"):
        it.restore(state | {"injury.angle": state["injury.angle"].astype(np.float32)})


def test_a_saved_state_says_whose_it_is():
    state = small("go2", 3).save()
    assert state["robot"].tobytes() == b"go2"
    assert (state["count"], state["tick"]) == (3, 0.005)


def test_a_state_of_another_engine_is_refused_with_what_is_missing():
    pytest.importorskip("pybullet", reason="PyBullet is not installed: make setup")
    with refused("saved state lacks engine.lock_goal, engine.physics, engine.warning"):
        small(tick=0.002).restore(small(engine="pybullet", tick=0.002).save())


def test_worlds_of_bullet_are_saved_in_the_same_shape_whatever_they_touch():
    pytest.importorskip("pybullet", reason="PyBullet is not installed: make setup")
    it = small(engine="pybullet")
    shapes, sizes = set(), set()
    for action in np.random.default_rng(0).uniform(-1, 1, (30, 2, 12)):
        it.step(action)
        state = it.save()
        shapes.add(state["engine.world"].shape)
        sizes |= set(state["engine.world_size"].tolist())
    assert len(shapes) == 1
    assert len(sizes) > 1  # or the test could not fail


@pytest.mark.parametrize("robot", ["a1", "point"])
def test_damage_is_given_as_values_not_as_text(robot):
    it = small(robot)
    with refused('damage "FL" is text: give parse("FL", spec)'):
        it.damage("FL")
    with refused("want a sequence of Damage"):
        it.damage(Damage(joint=0))
    with refused("want a sequence of Damage"):
        it.damage([0, 1])
    with refused("damage of joint 99: the joints of"):
        it.damage([Damage(joint=99)])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"joint": 0, "kind": "locked", "value": NAN}, "value = nan, want a finite number (rad)"),
        ({"joint": 0, "kind": "locked", "value": INF}, "value = inf"),
        ({"joint": 0, "kind": "locked", "value": "open"}, 'value = "open"'),
        ({"joint": 0, "kind": "weak", "value": "half"}, 'weak damage with "half": say how much'),
        ({"joint": "FL.hip"}, 'damage of joint "FL.hip": want its index'),
        ({"joint": 0.5}, "damage of joint 0.5: want its index"),
    ],
)
def test_an_impossible_damage_is_refused(settings, message):
    with refused(message):
        Damage(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"friction": 0.5}, "disturbance.friction = 0.5, want 2 finite numbers"),
        ({"friction": (0.5, INF)}, "disturbance.friction = (0.5, inf), want 2 finite numbers"),
        ({"mass": (NAN, 1.0)}, "disturbance.mass = (nan, 1.0), want 2 finite numbers"),
        ({"mass": (1.0, 1.0, 1.0)}, "want 2 finite numbers"),
        ({"mass": (2.0, 1.0)}, "disturbance.mass = (2.0, 1.0), want 0 < low <= high"),
        ({"push_interval": 0.0}, "disturbance.push_interval = 0.0, want a number > 0"),
        ({"push": "hard"}, 'disturbance.push = "hard", want a number >= 0'),
    ],
)
def test_an_impossible_disturbance_is_refused(settings, message):
    with refused(message):
        Disturbance(**settings)


def test_settling_takes_a_time_and_somebody_who_estimates():
    with refused("settle = -0.1, want a number >= 0"):
        small(settle=-0.1)
    with refused("point estimates no velocity: leave out settle"):
        small("point", settle=0.05)


@pytest.mark.parametrize("name", ["latency", "jitter"])
def test_a_delay_that_would_be_rounded_away_is_refused(name):
    with refused(f"disturbance.{name} = 0.002 s is lost in a physics tick of 0.005 s"):
        small(disturbance=Disturbance(**{name: 0.002}))
    small(disturbance=Disturbance(**{name: 0.002}), tick=0.002)
    small(disturbance=Disturbance(**{name: 0.004}))  # nearer to one tick than to none


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("tick_clip", -0.2, "robot a1: tick_clip = -0.2, want a number > 0; None is off"),
        ("filter_cutoff", -5.0, "robot a1: filter_cutoff = -5.0, want a number > 0; None is off"),
        ("rest_height", -0.1, "robot a1: rest_height = -0.1, want a number >= 0"),
        ("rest_height", 0.0, "robot a1: rest_height = 0.0, want a number > 0"),
        ("foot_force", -1.0, "robot a1: foot_force = -1.0, want a number >= 0"),
        ("foot_force", NAN, "robot a1: foot_force = nan"),
        ("control_rate", INF, "robot a1: control_rate = inf"),
    ],
)
def test_an_impossible_robot_is_refused_by_name_and_field(field, value, message):
    with refused(message):
        replace(A1, **{field: value})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("foot_radius", 0.0, "leg FR: foot_radius = 0.0, want a number > 0"),
        ("upper_length", -0.2, "leg FR: upper_length = -0.2, want a number > 0"),
        ("lower_length", NAN, "leg FR: lower_length = nan, want a number > 0"),
        ("foot_mass", -0.1, "leg FR: foot_mass = -0.1, want a number >= 0"),
        ("origin", (0.0, NAN, 0.0), "leg FR: origin = (0.0, nan, 0.0), want 3 finite numbers"),
        ("offset", INF, "leg FR: offset = inf, want a finite number"),
        ("links", A1.legs[0].links[:2], "leg FR: 2 links, want hip, upper, lower"),
    ],
)
def test_an_impossible_leg_is_refused_by_name_and_field(field, value, message):
    with refused(message):
        replace(A1.legs[0], **{field: value})


@pytest.mark.parametrize("field", ["lower", "upper", "low", "high", "stance", "kp", "armature"])
@pytest.mark.parametrize("value", [NAN, INF, "0.1", None])
def test_joint_numbers_are_finite(field, value):
    with refused(f"joint FR.hip: {field} = "):
        replace(A1.joints[0], **{field: value})


def test_inertia_is_made_of_numbers():
    with refused("link: inertia (xx yy zz xy xz yz) = (nan, 1.0, 1.0, 0.0, 0.0, 0.0)"):
        replace(A1.trunk, inertia=(NAN, 1.0, 1.0, 0.0, 0.0, 0.0))
    with refused("link: center = (0.0, 0.0), want 3 finite numbers"):
        replace(A1.trunk, center=(0.0, 0.0))


@pytest.mark.parametrize("robot", ["a1", "point"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 1.5}, "count = 1.5, want a whole number >= 1"),
        ({"count": "3"}, 'count = "3", want a whole number >= 1'),
        ({"count": 0}, "count = 0, want a whole number >= 1"),
        ({"count": True}, "count = True, want a whole number >= 1"),
        ({"tick": "fast"}, 'tick = "fast", want a number > 0'),
        ({"threads": -1}, "threads = -1, want a whole number >= 0"),
        ({"threads": 0.5}, "threads = 0.5, want a whole number >= 0"),
        ({"seed": -1}, "seed = -1, want a whole number from 0 to"),
        ({"seed": 0.5}, "seed = 0.5, want a whole number from 0 to"),
        ({"seed": 2**64}, "seed = 18446744073709551616, want a whole number from 0 to"),
        ({"disturbance": {"push": 30.0}}, "disturbance = {'push': 30.0}: want a Disturbance"),
        ({"motion": False}, "motion = False: want a MotionConfig"),
        ({"engine": None}, 'unknown engine "None": valid are mujoco, pybullet'),
    ],
)
def test_bodies_are_asked_for_in_whole_numbers(robot, options, message):
    with refused(message):
        body(robot, **options)


def test_a_body_needs_a_robot():
    with refused("robot = None: want a name (a1, go2, point) or a RobotSpec"):
        body(None)


def test_two_good_robots_are_still_good():
    for spec in (A1, GO2):
        it = small(spec)
        it.damage([Damage(joint=np.int64(1))], np.array([True, False]))
        it.step(np.zeros((2, 12)))
        assert it.restore(it.save()).count == 2
