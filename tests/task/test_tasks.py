"""The three tasks of the project: what they reward, forbid and read."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from readings import readings, standing, turned
from ursa.config import Config, ForwardConfig, VelocityConfig
from ursa.errors import UserError
from ursa.robot.a1 import A1
from ursa.robot.go2 import GO2
from ursa.robot.point import POINT
from ursa.robot.reading import Truth
from ursa.task.forward import forward
from ursa.task.point import point
from ursa.task.registry import task
from ursa.task.task import judge
from ursa.task.velocity import velocity

ON_ITS_SIDE = turned("x", np.pi / 2)  # r_upr = 0.5
WALK = {"velocity": (0.15, 0.2, 0.0), "gyro": (0.0, 0.0, 0.4)}
EVERY_TASK = [(A1, "forward"), (A1, "velocity"), (GO2, "forward"), (POINT, "point")]


def only(terms, name):
    return float(terms[name][0])


def test_forward_reward_term_by_term():
    before = standing(A1, 1, torque=1.0)
    after = standing(A1, 1, torque=4.0, joint_speed=2.0, **WALK)
    got = judge(forward(A1), before, after)
    assert {name: pytest.approx(only(got.terms, name)) for name in got.terms} == {
        "upright": 1.0,
        "forward": 2.5,  # 5 x 0.15 / 0.3
        "lateral": -0.02,  # 0.5 x 0.2^2
        "yaw": -0.08,  # 0.5 x 0.4^2
        "speed": -0.048,  # 0.001 x 12 x 2^2
        "work": 0.0,
        "smooth": -0.108,  # 0.001 x 12 x 3^2
    }
    assert got.reward == pytest.approx(3.244)


def test_forward_pays_nothing_for_speed_on_the_side():
    fallen = standing(A1, 1, quaternion=ON_ITS_SIDE, joint_speed=2.0, **WALK)
    got = judge(forward(A1), fallen, fallen)
    assert [only(got.terms, name) for name in ("forward", "lateral", "yaw")] == [0.0, 0.0, 0.0]
    assert only(got.terms, "upright") == pytest.approx(0.5)
    assert only(got.terms, "speed") == pytest.approx(-0.048)  # effort is never free


@pytest.mark.parametrize(
    ("config", "term", "value"),
    [
        (ForwardConfig(speed="raw"), "forward", 0.75),  # 5 x 0.15 m/s
        (ForwardConfig(desired_speed=0.1), "forward", 5.0),  # full
        (ForwardConfig(lateral="absolute"), "lateral", -0.1),
        (ForwardConfig(yaw="absolute"), "yaw", -0.2),
    ],
)
def test_each_switch_of_the_forward_task_changes_its_term_alone(config, term, value):
    walking = standing(A1, 1, **WALK)
    default = judge(forward(A1), walking, walking).terms
    switched = judge(forward(A1, config), walking, walking).terms
    assert only(switched, term) == pytest.approx(value)
    assert {name for name in default if only(default, name) != only(switched, name)} == {term}


def test_running_backwards_costs_as_much_as_running_forwards_pays():
    back = standing(A1, 1, velocity=(-2.0, 0.0, 0.0))
    assert only(judge(forward(A1), back, back).terms, "forward") == -5.0


@pytest.mark.parametrize(
    ("kind", "standing_cost", "side_cost"), [("printed", -0.3, 0.2), ("hinged", 0.0, 0.2)]
)
def test_forward_cost(kind, standing_cost, side_cost):
    cost = forward(A1, ForwardConfig(cost=kind)).cost
    assert cost(standing(A1)) == pytest.approx(standing_cost)
    assert cost(standing(A1, quaternion=ON_ITS_SIDE)) == pytest.approx(side_cost)


@pytest.mark.parametrize("kind", ["printed", "hinged"])
def test_forward_is_safe_up_to_the_gate_the_gate_included(kind):
    """The paper says r_upr > 0.7; on the line itself the cost is 0, and 0 is safe."""
    tilts = np.linspace(0.6, 0.8, 41)  # r_upr
    quaternion = np.stack([np.sqrt(tilts), np.sqrt(1 - tilts), 0 * tilts, 0 * tilts], axis=1)
    reading = standing(A1, 41, quaternion=quaternion)
    got = judge(forward(A1, ForwardConfig(cost=kind)), reading, reading)
    assert not got.safe[tilts < 0.6999].any()
    assert got.safe[tilts > 0.7001].all()
    assert (got.safe == (got.cost <= 0)).all()


def test_phi_reads_all_joints_and_the_height():
    task = forward(A1)
    assert task.posture_names == (*A1.joint_names, "height")
    reading = standing(A1, 2, joint_angle=np.arange(24.0).reshape(2, 12), height=[0.2, 0.3])
    wanted = np.column_stack([np.arange(24.0).reshape(2, 12), [0.2, 0.3]])
    assert (task.posture(reading) == wanted).all()


def test_phi_may_read_the_front_legs_alone():
    joints = tuple(name for name in A1.joint_names if name.startswith("F"))
    task = forward(A1, ForwardConfig(joints=joints))
    assert task.posture_names == (*joints, "height")
    reading = standing(A1, 1, joint_angle=np.arange(12.0))
    assert task.posture(reading).tolist() == [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, A1.rest_height]]


def test_a_config_holds_the_choices_of_both_tasks():
    config = Config(forward=ForwardConfig(joints=("FL.hip",)), velocity=VelocityConfig(gated=True))
    assert task("forward", A1, config).posture_names == ("FL.hip", "height")
    splayed = standing(A1, 1).joint_angle.copy()
    splayed[:, 0::3] = 0.4
    bent = standing(A1, 1, joint_angle=splayed)
    gated, plain = (task("velocity", A1, it).cost(bent) for it in (config, None))
    np.testing.assert_allclose(gated - plain, 1.4)  # two gates that are shut


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: forward(A1, ForwardConfig(speed="fast")),
            'forward.speed "fast": valid are clipped, raw',
        ),
        (lambda: forward(A1, ForwardConfig(yaw="sqared")), "did you mean squared"),
        (lambda: forward(A1, ForwardConfig(cost="none")), "valid are hinged, printed"),
        (
            lambda: forward(A1, ForwardConfig(desired_speed=0.0)),
            "desired_speed = 0.0 m/s, want > 0",
        ),
        (lambda: forward(A1, ForwardConfig(joints=("FL.knee",))), "FL.hip, FL.lower, FL.upper"),
    ],
)
def test_a_wrong_choice_is_answered_with_the_valid_ones(make, told):
    with pytest.raises(UserError) as error:
        make()
    assert told in str(error.value)


def test_velocity_rewards_the_posture_terms_in_turn():
    stance = standing(A1, 1)
    got = judge(velocity(A1), stance, stance)
    assert got.reward == pytest.approx(1 + 1 + 0.988975 + 0.836617, abs=1e-6)
    splayed = stance.joint_angle.copy()
    splayed[:, 0::3] = 0.4  # hips: 1 - 0.4 / 0.786794 = 0.4916, below the gate
    reading = standing(A1, 1, joint_angle=splayed)
    got = judge(velocity(A1), reading, reading)
    assert [only(got.terms, name) for name in ("upright", "hip", "upper", "lower")] == [
        1.0,
        pytest.approx(0.491608, abs=1e-6),
        0.0,
        0.0,
    ]


def test_velocity_cost_does_not_jump_when_a_gate_shuts_unless_asked_to():
    splayed = standing(A1, 1).joint_angle.copy()
    splayed[:, 0::3] = 0.4
    reading = standing(A1, 1, joint_angle=splayed)
    assert velocity(A1).cost(reading) == pytest.approx(0.7 - 0.491608, abs=1e-6)
    literal = velocity(A1, VelocityConfig(gated=True)).cost(reading)
    assert literal == pytest.approx(0.7 - 0.491608 + 1.4, abs=1e-6)


@settings(max_examples=50)
@given(readings(A1, largest=3.0))
def test_both_velocity_costs_call_the_same_states_safe(reading):
    plain, literal = velocity(A1), velocity(A1, VelocityConfig(gated=True))
    assert ((plain.cost(reading) <= 0) == (literal.cost(reading) <= 0)).all()


def test_standing_is_safe_for_both_velocity_costs():
    for gated in (False, True):
        assert velocity(A1, VelocityConfig(gated=gated)).cost(standing(A1)) == 0.0


def test_phi_of_velocity_is_forward_speed_and_yaw_rate():
    left = standing(
        A1, 1, quaternion=turned("z", np.pi / 2), velocity=(0.0, 0.4, 0.0), gyro=(0, 0, -0.5)
    )
    np.testing.assert_allclose(velocity(A1).posture(left), [[0.4, -0.5]])
    assert velocity(A1).posture_names == ("forward_speed", "yaw_rate")


def test_point_is_paid_for_x_and_safe_while_slow_along_y():
    moving = standing(POINT, 3, velocity=[[0.6, 0.0, 0.0], [0.6, 0.6, 0.0], [-0.8, 0.5, 0.0]])
    got = judge(point(POINT), moving, moving)
    assert got.reward.tolist() == [0.6, 0.6, -0.8]
    np.testing.assert_allclose(got.cost, [-0.5, 0.1, 0.0], atol=1e-12)
    assert got.safe.tolist() == [True, False, True]
    assert got.posture.tolist() == [[0.6, 0.0], [0.6, 0.6], [-0.8, 0.5]]


@pytest.mark.parametrize(("spec", "name"), EVERY_TASK)
def test_a_robot_that_does_not_move_at_all_gets_finite_numbers(spec, name):
    still = standing(spec, 2)
    got = judge(task(name, spec), still, still)
    assert np.isfinite(got.reward).all()
    assert got.safe.all()


@pytest.mark.parametrize(("spec", "name"), EVERY_TASK)
@settings(max_examples=30)
@given(data=st.data())
def test_every_finite_reading_is_judged_finitely(spec, name, data):
    before, after = data.draw(readings(spec)), data.draw(readings(spec))
    got = judge(task(name, spec), before, after)
    for value in (got.reward, got.cost, got.posture, *got.terms.values()):
        assert np.isfinite(value).all()
    assert (got.safe == (got.cost <= 0)).all()


@pytest.mark.parametrize(("spec", "name"), EVERY_TASK)
@settings(max_examples=30)
@given(data=st.data())
def test_the_logged_terms_sum_to_the_reward(spec, name, data):
    before = data.draw(readings(spec, largest=100.0))
    after = data.draw(readings(spec, largest=100.0))
    got = judge(task(name, spec), before, after)
    assert np.abs(np.sum(list(got.terms.values()), axis=0) - got.reward).max() <= 1e-6


@pytest.mark.parametrize(("spec", "name"), EVERY_TASK)
def test_the_truth_is_not_looked_at(spec, name):
    rng = np.random.default_rng(2)
    changes = {"velocity": rng.normal(size=(2, 3)), "height": [0.1, 0.4]}
    lies = Truth(
        position=rng.normal(size=(2, 3)),
        velocity=rng.normal(size=(2, 3)),
        foot_height=rng.normal(size=(2, len(spec.legs))),
    )
    blind, seeing = standing(spec, 2, **changes), standing(spec, 2, **changes, truth=lies)
    a, b = judge(task(name, spec), blind, blind), judge(task(name, spec), seeing, seeing)
    assert (a.reward == b.reward).all()
    assert (a.cost == b.cost).all()
    assert (a.posture == b.posture).all()


@pytest.mark.parametrize(("spec", "name"), EVERY_TASK)
def test_each_robot_is_judged_by_itself(spec, name):
    rng = np.random.default_rng(3)
    changes = {
        "joint_angle": rng.normal(size=(4, spec.action_size)),
        "velocity": rng.normal(size=(4, 3)),
        "torque": rng.normal(size=(4, spec.action_size)),
    }
    together = standing(spec, 4, **changes)
    all_four = judge(task(name, spec), together, together)
    for row in range(4):
        alone = standing(spec, 1, **{what: value[row] for what, value in changes.items()})
        one = judge(task(name, spec), alone, alone)
        assert one.reward == pytest.approx(all_four.reward[row])
        assert one.cost == pytest.approx(all_four.cost[row])
