"""Who lies for a while gets up by script; until then the policy may."""

import math

import jaxtyping
import numpy as np
import pytest

from ursa.emulator.rig import Rig
from ursa.gate import gate
from ursa.gate.heard import Wish
from ursa.gate.limits import limits_of
from ursa.gate.machine import begin
from ursa.gate.modes import Mode, Order
from ursa.gate.pose import finished
from ursa.live.riser import Riser
from ursa.robot import gait, motion
from ursa.robot.a1 import A1
from ursa.robot.go2 import GO2

UPRIGHT, BACK = np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0])


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def after(riser, *stretches):
    """Whether the script had each of the steps; stretches of (quaternion, steps)."""
    return [riser(one) is not None for one, steps in stretches for _ in range(steps)]


def test_after_eight_seconds_on_its_back_the_script_begins_and_not_before():
    riser = Riser(A1, 8.0)
    assert after(riser, (BACK, 170)) == [False] * 160 + [True] * 10
    assert riser.count == 1


def test_one_that_gets_up_by_itself_is_left_alone():
    riser = Riser(A1, 8.0)
    assert not any(after(riser, (BACK, 150), (UPRIGHT, 1), (BACK, 150), (UPRIGHT, 1)))
    assert riser.count == 0


def test_the_script_goes_on_until_the_robot_has_stood_for_a_second_then_the_policy_has_it():
    riser = Riser(A1, 8.0)
    led = after(riser, (BACK, 161 + 10), (UPRIGHT, 60))
    assert led == [False] * 160 + [True] * (11 + 40) + [False] * 20
    assert after(riser, (BACK, 160)) == [False] * 160  # and it is patient again
    assert riser(BACK) is not None
    assert riser.count == 2


def test_after_a_hand_it_watches_anew():
    riser = Riser(A1, 8.0)
    after(riser, (BACK, 165))
    riser.forget()
    assert after(riser, (BACK, 160)) == [False] * 160


@pytest.mark.parametrize("riser", [Riser(A1, 0.0), Riser(GO2, 8.0)], ids=["0 s", "no script"])
def test_without_a_script_or_when_told_never_it_waits_for_a_hand(riser):
    assert not any(after(riser, (BACK, 1000)))


def turned_over(ends: float, wait: float = 1.0, seconds: float = 12.0) -> tuple[Mode, float]:
    """The emulator's robot behind the gate, in virtual time: a hand turns it over, and then?"""
    limits, rig, state = limits_of(A1, {}), Rig(engine="mujoco", seed=3), begin(limits_of(A1, {}))
    riser, over, moved, wish = (
        Riser(A1, wait),
        False,
        motion.begin(A1.of_joints("stance")[None]),
        None,
    )
    stance = gait.stand(A1)
    fell = math.inf
    for cycle in range(20_000):
        now, packet, orders = cycle * limits.period, rig.say(), ()
        if state.mode is Mode.DAMP and now < fell:
            orders = (Order.STAND,)
        elif state.mode is Mode.STAND and finished(state.pose):
            orders = (Order.RUN,)
        elif state.mode is Mode.RUN and not over:
            over = rig.turn(-1.0) or rig.up() < ends
            fell = now if over else fell
        if cycle % 25 == 0:
            action = riser(packet.quaternion) if over else None
            moved = motion.begin(packet.angle[None]) if not over else moved
            wanted = stance if action is None else action
            moved, target = motion.advance(A1, motion.MotionConfig(), moved, wanted[None], 1)
            wish = Wish(angle=target[0, -1], sequence=cycle + 1, time=now)
        command, state, _ = gate.step(limits, now, packet, wish, list(orders), state)
        rig.tick(command)
        if now > fell + seconds:
            break
    up = rig.up()
    rig.close()
    return state.mode, up


@pytest.mark.timeout(300)
@pytest.mark.parametrize("ends", [-0.95, 0.0], ids=["on its back", "on its side"])
def test_the_emulated_robot_is_turned_over_and_stands_again_without_a_hand(ends):
    mode, up = turned_over(ends)
    assert mode is Mode.RUN
    assert up > 0.9


@pytest.mark.timeout(300)
def test_without_the_script_it_would_wait_for_one():
    """Sabotage."""
    _, up = turned_over(-0.95, wait=0.0, seconds=10.0)
    assert up < 0.3


def test_it_takes_for_fallen_whatever_its_gate_does():
    """Or a robot that leans would go limp after the gate's thirty seconds, and nobody had tried."""
    leaning = math.acos(limits_of(A1, {}).upright_least) + 1e-3  # where the gate stays soft
    quaternion = np.array([math.cos(leaning / 2), math.sin(leaning / 2), 0.0, 0.0])
    assert after(Riser(A1, 8.0), (quaternion, 161))[-1]
