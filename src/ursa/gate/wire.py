"""Wire: what the A1's two UDP packets say, as values, and back.

Values are in the order of the spec's joints and legs; the wire's own (FR, FL, RR, RL) stays here.
A packet is taken whole or refused with a reason. Of one in doubt nothing is read but the remote's
buttons, and that only if length and checksum are right: no broken sensor may hide a stop.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from ursa.gate.packet import (
    COMMAND,
    KD,
    KP,
    REMOTE_BYTES,
    STATE,
    TAU,
    TICKS,
    checksum,
    covered,
    sealed,
)
from ursa.robot.a1 import A1
from ursa.robot.spec import LEG_PARTS, RobotSpec

Array = np.ndarray

LOW_LEVEL = 0xFF  # level flag: joint commands, not the built-in walking
SERVO = 0x0A  # motor mode: torque = tau + kp (q - angle) + kd (dq - speed)
BRAKE = 0x00  # motor mode: the motor's own electric brake
POSITION_OFF = 2.146e9  # as q: the motor's position loop is off

# What no A1 can report, however it falls: our choices, well outside the data sheet.
FARTHEST = 7.0  # rad: a joint turns less than a full circle
FASTEST = 60.0  # rad/s: three times the no-load speed
STRONGEST = 100.0  # N m: three times the peak
SPIN = 40.0  # rad/s: the gyroscope ends at 2000 degrees per second
SHOCK = 800.0  # m/s^2: five times what the accelerometer can say
COLDEST, HOTTEST = -40, 125  # degrees Celsius
UNIT = 0.05  # a quaternion's length may be off 1 by this much


@dataclass(frozen=True, kw_only=True)
class Command:
    """What the motors are told. With kp = 0 a joint is only damped, wherever it is."""

    angle: Float[Array, " A"]  # rad
    speed: Float[Array, " A"]  # rad/s
    torque: Float[Array, " A"]  # N m, added to what the gains give
    kp: Float[Array, " A"]  # N m / rad
    kd: Float[Array, " A"]  # N m s / rad
    servo: bool = True  # False: the motors' own brake


@dataclass(frozen=True, kw_only=True)
class State:
    """What the robot said at one tick."""

    tick: int  # the robot's counter, modulo 2^32; its unit differs between firmwares
    quaternion: Float[Array, " 4"]  # w x y z, body to world
    gyro: Float[Array, " 3"]  # rad/s
    acceleration: Float[Array, " 3"]  # m/s^2, +g upright at rest
    angle: Float[Array, " A"]  # rad
    speed: Float[Array, " A"]  # rad/s
    torque: Float[Array, " A"]  # N m, estimated by the motor
    temperature: Float[Array, " A"]  # degrees Celsius
    mode: Int[Array, " A"]  # what each motor is doing; SERVO when it obeys
    foot_force: Float[Array, " F"]  # in the robot's own unit, about 1 N
    remote: bytes = bytes(REMOTE_BYTES)  # the hand-held remote, see `remote.py`
    battery: float | None = None  # share left; the A1's packet does not say


@dataclass(frozen=True)
class Refused:
    """A packet nobody may use, and why."""

    reason: str  # one of REASONS
    detail: str = ""
    remote: bytes = bytes(REMOTE_BYTES)  # as in a State, if the packet was whole; else nothing
    data: bytes = b""  # as it arrived


REASONS = ("length", "checksum", "level", "not finite", "implausible")


def order_of(spec: RobotSpec) -> list[int]:
    """Which of the spec's joints sits in each of the wire's twelve places."""
    legs = ("FR", "FL", "BR", "BL")  # the maker calls our back legs rear
    return [spec.joint_names.index(f"{leg}.{part}") for leg in legs for part in LEG_PARTS]


ORDER = np.array(order_of(A1))
FEET = ORDER[::3] // 3
JOINTS = len(ORDER)


def encode_command(command: Command) -> bytes:
    """The 610 bytes; what the packet cannot carry is an error, never a wrapped number."""
    packet = np.zeros((), COMMAND)
    packet["level"] = LOW_LEVEL
    motor = packet["motor"][:JOINTS]
    motor["mode"] = SERVO if command.servo else BRAKE
    motor["q"] = _floats("angle", command.angle)[ORDER]
    motor["dq"] = _floats("speed", command.speed)[ORDER]
    motor["tau"] = _steps("torque", command.torque, TAU)[ORDER]
    motor["kp"] = _steps("kp", command.kp, KP)[ORDER]
    motor["kd"] = _steps("kd", command.kd, KD)[ORDER]
    return sealed(packet)


def decode_command(data: bytes) -> Command | Refused:
    """What a robot (or its emulator) makes of a datagram."""
    packet = _opened(data, COMMAND)
    if isinstance(packet, Refused):
        return packet
    if packet["level"] != LOW_LEVEL:
        return Refused("level", f"{packet['level']:#04x}, want {LOW_LEVEL:#04x}")
    motor = packet["motor"][:JOINTS]
    if not np.isfinite(motor["q"]).all() or not np.isfinite(motor["dq"]).all():
        return Refused("not finite", "q or dq of a motor")
    mode = motor["mode"]
    if (mode != mode[0]).any() or mode[0] not in (SERVO, BRAKE):
        return Refused("implausible", f"motor modes {mode.tolist()}")
    if min(motor["kp"].min(), motor["kd"].min()) < 0:
        return Refused("implausible", "a negative gain drives a joint away from its target")
    return Command(
        angle=_placed(motor["q"]),
        speed=_placed(motor["dq"]),
        torque=_placed(motor["tau"]) / TAU,
        kp=_placed(motor["kp"]) / KP,
        kd=_placed(motor["kd"]) / KD,
        servo=bool(mode[0] == SERVO),
    )


def encode_state(state: State) -> bytes:
    """The 771 bytes, as an emulator sends them."""
    packet = np.zeros((), STATE)
    packet["level"] = LOW_LEVEL
    packet["quaternion"] = state.quaternion
    packet["gyro"] = state.gyro
    packet["acceleration"] = state.acceleration
    packet["euler"] = _euler(state.quaternion)
    motor = packet["motor"][:JOINTS]
    motor["mode"] = state.mode[ORDER]
    motor["q"] = motor["q_raw"] = state.angle[ORDER]
    motor["dq"] = motor["dq_raw"] = state.speed[ORDER]
    motor["tau"] = _steps("torque", state.torque, TAU)[ORDER]
    motor["temperature"] = _steps("temperature", state.temperature, 1, 127)[ORDER]
    packet["foot"] = packet["foot_estimate"] = _steps("foot_force", state.foot_force, 1)[FEET]
    packet["tick"] = state.tick % TICKS
    packet["remote"] = np.frombuffer(state.remote, "u1")
    return sealed(packet)


def decode_state(data: bytes) -> State | Refused:
    """What the robot says, if the packet is whole and every number in it can be true."""
    packet = _opened(data, STATE)
    if isinstance(packet, Refused):
        return packet
    with np.errstate(invalid="ignore"):  # some bit patterns of nan complain when they are copied
        state = _stated(packet)
    refused = doubtful(state)
    return state if refused is None else replace(refused, remote=state.remote)


def _stated(packet: np.void) -> State:
    motor = packet["motor"][:JOINTS]
    return State(
        tick=int(packet["tick"]),
        quaternion=packet["quaternion"].astype(float),
        gyro=packet["gyro"].astype(float),
        acceleration=packet["acceleration"].astype(float),
        angle=_placed(motor["q"]),
        speed=_placed(motor["dq"]),
        torque=_placed(motor["tau"]) / TAU,
        temperature=_placed(motor["temperature"]),
        mode=_placed(motor["mode"]).astype(int),
        foot_force=_placed(packet["foot"], FEET),
        remote=packet["remote"].tobytes(),
    )


def doubtful(state: State) -> Refused | None:
    """Why no robot can have said this, or None."""
    for name, most in _MOST.items():
        worst = np.abs(getattr(state, name)).max()
        if not worst <= most:  # also true of nan
            known = np.isfinite(worst)
            return Refused("implausible" if known else "not finite", f"{name} {worst:g}")
    length = float(state.quaternion @ state.quaternion) ** 0.5
    if not abs(length - 1) <= UNIT:
        return Refused("implausible", f"quaternion of length {length:g}")
    if state.temperature.min() < COLDEST:
        return Refused("implausible", f"temperature {state.temperature.min():g}")
    return None


_MOST = {
    "angle": FARTHEST,
    "speed": FASTEST,
    "torque": STRONGEST,
    "temperature": HOTTEST,
    "quaternion": 1 + UNIT,
    "gyro": SPIN,
    "acceleration": SHOCK,
}


def _opened(data: bytes, layout: np.dtype) -> np.void | Refused:
    """The fields of a packet whose length and checksum are right."""
    if len(data) != layout.itemsize:
        return Refused("length", f"{len(data)} bytes, want {layout.itemsize}")
    packet = np.frombuffer(data, layout)[0]
    found = checksum(data[: covered(layout)])
    if found != packet["crc"]:
        return Refused("checksum", f"{int(packet['crc']):#010x}, want {found:#010x}")
    return packet


def _placed(values: Array, order: Array = ORDER) -> Array:
    """From the wire's places to the spec's order, in double precision."""
    placed = np.empty(len(order))
    placed[order] = values
    return placed


def _floats(name: str, values: Array) -> Array:
    if not np.isfinite(values).all():
        raise ValueError(f"{name} = {values}: a packet carries finite numbers only")
    return values


def _steps(name: str, values: Array, per_unit: int, most: int = 32767) -> Array:
    """Whole steps, cut toward zero as the maker's library does it."""
    steps = np.trunc(values * per_unit)
    if not (np.abs(steps) <= most).all():  # also when nan
        raise ValueError(f"{name} = {values}: a packet carries at most {most / per_unit:g}")
    return steps


def _euler(quaternion: Array) -> Array:
    """Roll, pitch, yaw; told beside the quaternion, as the robot tells them."""
    w, x, y, z = quaternion
    with np.errstate(invalid="ignore", over="ignore"):  # a broken sensor is told as it is
        roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1, 1))
        yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.array([roll, pitch, yaw])
