"""A simulated A1 behind the gate stands up, trots and lies down, and the gate finds no fault."""

import jaxtyping
import numpy as np
import pytest

from gate.gated import LIMITS, PERIOD
from ursa.gate import gate, machine
from ursa.gate.heard import Wish
from ursa.gate.limits import Limits, limits_of
from ursa.gate.machine import GateState
from ursa.gate.modes import Kind, Mode, Order
from ursa.gate.wire import SERVO, State, decode_command, decode_state, encode_command, encode_state
from ursa.robot import gait, motion
from ursa.robot.a1 import A1
from ursa.robot.engine import Impairment
from ursa.robot.simulator import MuJoCoEngine


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


class Robot:
    """MuJoCo behind the two packets. Limp is a robot whose motors give nothing."""

    def __init__(self) -> None:
        self.engine = MuJoCoEngine(A1, 1, tick=PERIOD, threads=1)
        self.ticks = self.engine.look()
        self.count = 0
        self.chance = np.random.default_rng(4)

    def says(self) -> bytes:
        now = {name: getattr(self.ticks, name)[0, -1] for name in ("quaternion", "acceleration")}
        state = State(
            **now,
            tick=2000 * self.count,
            gyro=self.ticks.gyro[0, -1] + 1e-3 * self.chance.normal(size=3),
            angle=self.ticks.joint_angle[0, -1],
            speed=self.ticks.joint_speed[0, -1],
            torque=self.ticks.torque[0, -1],
            temperature=np.full(12, 30.0),
            mode=np.full(12, SERVO),
            foot_force=np.zeros(4),
        )
        return encode_state(state)

    def hears(self, data: bytes) -> None:
        command = decode_command(data)
        limp = bool((command.kp == 0).all())
        none, zero = np.zeros((1, 12), bool), np.zeros((1, 12))
        self.engine.impair(Impairment(strength=zero + (not limp), locked=none, angle=zero))
        target = self.ticks.joint_angle[0, -1] if limp else command.angle
        self.ticks = self.engine.advance(target[None, None])
        self.count += 1


def day(limits: Limits) -> tuple[float, float, GateState]:
    """Up, four seconds of trot, down again: metres walked, height of the trunk, the gate's book."""
    robot, state, now = Robot(), machine.begin(limits), 7.0
    orders = {5: Order.STAND, 800: Order.RUN, 2800: Order.LIE_DOWN}
    walked, wish, path = 0.0, None, motion.begin(limits.stance[None])
    for count in range(3800):
        now += PERIOD
        if count % 25 == 0:
            if state.mode is Mode.RUN:
                action = gait.trot(A1, (count - 800) // 25)[None]
                path, _ = motion.advance(A1, motion.MotionConfig(), path, action, 25)
            wish = Wish(angle=path.target[0], sequence=count, time=now)
        order = (orders[count],) if count in orders else ()
        command, state, _ = gate.step(limits, now, decode_state(robot.says()), wish, order, state)
        robot.hears(encode_command(command))
        if count == 2799:
            walked = float(robot.engine.truth().position[0, 0])
    height = float(robot.engine.truth().position[0, 2])
    robot.engine.close()
    return walked, height, state


def all_went_well(walked: float, height: float, state: GateState) -> bool:
    """It got somewhere, it lies, and nothing but clamps was ever asked of the gate."""
    clamps = {kind.value for kind in Kind if kind.value.startswith("clamped")}
    calm = set(state.counts.named) - clamps == {"mode"} and state.counts[Kind.MODE] == 4
    return walked > 0.6 and height < 0.16 and state.mode is Mode.DAMP and calm


def test_a_trot_passes_and_an_order_lays_it_down(fast):
    walked, height, state = day(LIMITS)
    assert all_went_well(walked, height, state), (walked, height, state.counts.named)


def test_limits_too_narrow_for_a_trot_stop_it(fast):
    assert not all_went_well(*day(limits_of(A1, {"overspeed": 3.0})))
