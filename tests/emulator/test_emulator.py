"""Gate and emulated A1 in lock-step: it stands, trots, and survives what its script does to it."""

from dataclasses import replace

import jaxtyping
import numpy as np
import pytest

from emulator.emulated import LIMITS, Pilot, driven
from ursa.emulator.audit import is_limp
from ursa.emulator.emulator import Emulator
from ursa.emulator.script import parse
from ursa.errors import UserError
from ursa.gate import gate, link, seen
from ursa.gate.limits import limits_of
from ursa.gate.modes import Kind, Mode
from ursa.gate.packet import COMMAND, sealed
from ursa.gate.wire import BRAKE, SERVO, Refused, State, decode_state, encode_command
from ursa.robot.a1 import A1


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def emulated(*faults: dict, seed: int = 3, engine: str = "mujoco", **sections) -> Emulator:
    script = parse({"fault": list(faults), **sections})
    return Emulator(start=1.0, seed=seed, script=script, engine=engine)


def states(emulator: Emulator, to: float) -> list[State]:
    return [it for data in emulator.advance(to) if isinstance(it := decode_state(data), State)]


# ---- the robot's manners ------------------------------------------------------------------------


def test_every_good_command_is_answered_once_and_nothing_else_is():
    emulator, limp = emulated(), encode_command(LIMITS.limp)
    assert states(emulator, 1.1) == []
    for number in range(10):
        now = emulator.now
        emulator.hear(now, limp)
        (state,) = states(emulator, now + 0.002)
        assert (state.mode == (SERVO if number else BRAKE)).all()
    for bad in (b"", b"hello", limp[:-1], limp + b"!", limp[:50] + b"x" + limp[51:]):
        emulator.hear(emulator.now, bad)
    high = np.frombuffer(limp, COMMAND)[0].copy()
    high["level"] = 0xEE
    emulator.hear(emulator.now, sealed(high))
    assert states(emulator, emulator.now + 0.01) == []
    assert emulator.counts["bad length"] == 4
    assert emulator.counts["bad checksum"] == 1
    assert emulator.counts["bad level"] == 1
    emulator.close()


def test_a_tenth_of_a_second_without_commands_and_the_motors_brake():
    emulator = emulated()
    emulator.hear(emulator.now, encode_command(LIMITS.limp))
    modes = []
    for _ in range(60):
        emulator.advance(emulator.now + 0.002)
        modes.append(int(emulator.rig.say().mode[0]))
    assert modes[:49] == [SERVO] * 49
    assert modes[52:] == [BRAKE] * 8
    assert emulator.counts["silences"] == 1
    emulator.close()


@pytest.mark.parametrize("engine", ["mujoco", "pybullet"])
def test_it_stands_up_and_trots(engine):
    if engine == "pybullet":
        pytest.importorskip("pybullet")
    emulator, pilot = emulated(engine=engine), Pilot()
    driven(emulator, pilot, 2.6)
    assert pilot.mode is Mode.RUN
    before = emulator.rig.place()[0]
    driven(emulator, pilot, 1.6)
    assert (emulator.rig.place()[0] - before) / 1.6 > 0.2  # m/s
    assert emulator.rig.up() > 0.9
    assert emulator.audit.counts["violations"] == 0
    assert emulator.audit.counts["commands"] == 2099
    emulator.close()


NARROWED = {"rate": 1.5, "reach": 0.05, "torque_share": 0.4}


def audited(narrowed: dict[str, float], told: bool) -> tuple[Mode, list[str]]:
    """How a trot ends, by the book of a robot whose gate was told of its limits, or was not."""
    limits = limits_of(A1, narrowed)
    emulator = Emulator(start=1.0, seed=3, limits=limits)
    pilot = Pilot(limits=limits if told else LIMITS)
    driven(emulator, pilot, 4.0)
    emulator.close()
    return pilot.mode, emulator.audit.said


def test_limits_that_were_narrowed_are_kept_as_narrowed():
    for name in NARROWED:
        assert audited({name: NARROWED[name]}, told=True) == (Mode.RUN, [])


@pytest.mark.parametrize(
    ("name", "said"),
    [("rate", "target moved"), ("reach", "rad from the robot"), ("torque_share", "asks for")],
)
def test_a_gate_that_was_not_told_of_them_is_caught(name, said):
    _, wrong = audited({name: NARROWED[name]}, told=False)
    assert any(said in each for each in wrong)


# ---- the same again -----------------------------------------------------------------------------

ROUGH = {"latency": 0.001, "jitter": 0.003, "loss": 0.05, "duplicate": 0.05, "reorder": 0.05}


def rough(seed: int) -> str:
    faults = {"kind": "push", "every": 1.0}, {"kind": "pull", "every": 2.0, "seconds": 0.05}
    emulator = emulated(*faults, seed=seed, link=ROUGH)
    digest = driven(emulator, Pilot(), 4.0)
    emulator.close()
    return digest


def test_the_same_seed_gives_the_same_way_to_the_bit():
    assert rough(8) == rough(8)


def test_without_numbered_chance_it_does_not(monkeypatch):
    chance = np.random.default_rng(1)

    def draw(self, number: int) -> np.ndarray:
        return chance.random(self._width)

    monkeypatch.setattr("ursa.emulator.chance.Stream.draw", draw)
    assert rough(8) != rough(8)


# ---- cables -------------------------------------------------------------------------------------


def pulls(number: int) -> tuple[Emulator, Pilot, list[str]]:
    """Pulls of 0.025 to 0.5 s, one every 1.1 s, out of ramps and out of the trot."""
    times = [2.0 + 1.1 * count for count in range(number)]
    emulator = emulated({"kind": "pull", "at": times, "seconds": [0.025, 0.5]}, seed=11)
    pilot = Pilot()
    driven(emulator, pilot, times[-1] + 3.0)
    emulator.close()
    return emulator, pilot, emulator.audit.said


def test_fifty_cable_pulls_and_every_command_stays_inside_the_limits():
    emulator, pilot, wrong = pulls(50)
    assert wrong == []
    assert emulator.counts["fault pull"] == 50
    assert emulator.counts["silences"] > 20  # so often the motors gave up waiting
    assert pilot.state.counts[Kind.GAP] == 50
    assert pilot.state.counts[Kind.ACKNOWLEDGED] > 20
    assert pilot.mode is Mode.RUN


def test_a_gate_that_does_not_notice_pulls_is_caught(monkeypatch):
    believed = seen._believed

    def unnoticed(limits, now, packet, before):
        return believed(limits, now, packet, before.__class__(**{**vars(before), "time": now}))

    monkeypatch.setattr(seen, "_believed", unnoticed)
    monkeypatch.setattr(seen, "_ages", lambda *_: [])
    _, _, wrong = pulls(5)
    assert any("first target" in each for each in wrong)


# ---- the stop button ----------------------------------------------------------------------------


def limp_after_stop(*faults: dict) -> float:
    """Seconds from the button to motors that are told to be limp, in the midst of a trot."""
    emulator = emulated({"kind": "stop", "at": 4.0, "seconds": 0.3}, *faults, link=ROUGH)
    pilot, first = Pilot(persistent=False), [np.inf]

    def watch(now: float, _) -> None:
        told = emulator._command
        if now > 5.0 and told is not None and is_limp(told):
            first[0] = min(first[0], now - 5.0)

    driven(emulator, pilot, 4.0)
    assert pilot.mode is Mode.RUN
    driven(emulator, pilot, 0.5, watch)
    emulator.close()
    if pilot.mode is Mode.FAULT and not pilot.state.fault.startswith("stop"):
        return np.inf  # limp for another reason, which needs no person to take it back
    return first[0]


def test_the_stop_button_leaves_the_motors_limp_within_50_ms():
    assert limp_after_stop() <= 0.05


BROKEN = {"kind": "nan", "sensor": "gyro", "at": 3.996, "seconds": 0.5}  # before, and for longer


def test_a_sensor_that_is_broken_meanwhile_changes_nothing_in_that():
    assert limp_after_stop(BROKEN) <= 0.05


@pytest.mark.parametrize("faults", [(), (BROKEN,)])
def test_a_gate_that_ignores_the_button_is_caught(monkeypatch, faults):
    monkeypatch.setattr(gate, "stop_pressed", lambda remote: False)
    assert limp_after_stop(*faults) > 0.05


def test_a_gate_that_reads_no_button_in_a_refused_packet_is_caught(monkeypatch):
    monkeypatch.setattr(link, "decode_state", lambda data: _blind(decode_state(data)))
    assert limp_after_stop(BROKEN) > 0.05
    assert limp_after_stop() <= 0.05


def _blind(found: State | Refused) -> State | Refused:
    return replace(found, remote=bytes(40)) if isinstance(found, Refused) else found


# ---- everything else ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"kind": "nan", "sensor": "gyro", "seconds": 0.05}, Kind.BAD_PACKET),
        ({"kind": "nan", "sensor": "angle", "seconds": 0.3}, Kind.STALE),
        ({"kind": "freeze", "seconds": 0.3}, Kind.FROZEN),
        ({"kind": "restart", "seconds": 0.5}, Kind.GAP),
        ({"kind": "storm", "seconds": 0.5, "link": {"loss": 0.9}}, Kind.STALE),
        ({"kind": "storm", "seconds": 0.5, "link": {"corrupt": 0.5}}, Kind.BAD_PACKET),
        ({"kind": "hot", "celsius": 56.0, "rate": 100.0}, Kind.HOT),
        ({"kind": "battery", "share": 0.0}, Kind.STALE),
        ({"kind": "flip"}, Kind.TILT),
    ],
)
def test_the_gate_sees_each_fault_for_what_it_is_and_breaks_no_rule(fault, kind):
    emulator, pilot = emulated({**fault, "at": 1.8}), Pilot(persistent=False)
    driven(emulator, pilot, 1.75)
    assert pilot.state.counts[kind] == 0
    driven(emulator, pilot, 1.75)
    assert pilot.state.counts[kind] > 0
    assert emulator.audit.said == []
    emulator.close()


def test_a_hot_motor_cuts_out_and_says_so():
    emulator = emulated({"kind": "hot", "at": 0.1, "celsius": 61.0, "rate": 200.0})
    for _ in range(250):
        emulator.hear(emulator.now, encode_command(LIMITS.limp))
        emulator.advance(emulator.now + 0.002)
    joint = emulator.rig.spec.joint_names.index("FR.upper")
    assert emulator.rig.say().mode[joint] == BRAKE
    assert emulator.rig.torque[joint] == 0
    emulator.close()


def test_a_hand_sets_a_fallen_robot_upright_if_there_is_one():
    ups = []
    for sections in ({"hand": {"after": 1.0}}, {}):
        emulator = emulated({"kind": "flip", "at": 0.1}, **sections)
        emulator.advance(5.5)  # nobody speaks to it
        ups.append(emulator.rig.up() > 0.9)
        emulator.close()
    assert ups == [True, False]


def test_the_gate_lives_through_a_counter_that_wraps():
    emulator, pilot = emulated(start={"tick": 2**32 - 1_000_000, "celsius": 40.0}), Pilot()
    driven(emulator, pilot, 1.8)
    assert emulator.rig.say().tick == 800_000
    assert pilot.mode is Mode.RUN
    assert set(pilot.state.counts.named) <= {"mode", "clamped to reach", "clamped to rate"}
    emulator.close()


def test_a_push_moves_it():
    places = []
    for newtons in (0.0, 150.0):
        emulator = emulated({"kind": "push", "at": 1.55, "newtons": newtons, "seconds": 0.15})
        pilot = Pilot()
        driven(emulator, pilot, 1.5)
        before = np.array(emulator.rig.place()[:2])
        driven(emulator, pilot, 0.3)
        places.append(np.linalg.norm(np.array(emulator.rig.place()[:2]) - before))
        emulator.close()
    assert places[1] > places[0] + 0.05


def test_no_hand_reaches_into_pybullet():
    pytest.importorskip("pybullet")
    with pytest.raises(UserError, match="no hand reaches into this engine; use mujoco"):
        emulated({"kind": "flip", "at": 1.0}, engine="pybullet")
    with pytest.raises(UserError, match="hand after 10 s: no hand reaches into this engine"):
        emulated(hand={"after": 10.0}, engine="pybullet")
