"""Script: what goes wrong with an emulated robot and its cable, and when. A TOML file, checked.

[link]                  # the weather at all times
latency = 0.001         # s; also jitter, behind
loss = 0.01             # share; also duplicate, reorder, corrupt

[noise]                 # of the sensors: angle, speed, torque, gyro, acceleration

[[fault]]
kind = "pull"           # the cable is out
at = 10.0               # s after the start: once, or [10.0, 20.0, 31.5]
seconds = 0.5           # how long; or [0.05, 2.0], anything in between

[[fault]]
kind = "stop"
every = 60.0            # instead of `at`: at random, so many seconds apart on average
"""

import heapq
import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ursa import durable
from ursa.emulator.chance import Stream
from ursa.emulator.noise import Noise
from ursa.emulator.weather import Weather
from ursa.errors import UserError, unknown
from ursa.robot.a1 import A1
from ursa.robot.number import number

# kind -> what it takes besides at/every, with the default; None must be given
KINDS: Mapping[str, Mapping[str, Any]] = {
    "pull": {"seconds": 1.0},  # the cable is out, both ways
    "storm": {"seconds": 5.0, "link": {}},  # worse weather for a while
    "stop": {"seconds": 0.5},  # somebody presses the remote's stop button
    "hot": {"celsius": 58.0, "joint": "FR.upper", "rate": 3.0},  # a motor warms up to that
    "battery": {"share": 0.1},  # what is left, from now on
    "push": {"newtons": 80.0, "seconds": 0.2},  # from any side
    "flip": {},  # somebody turns it onto its back
    "upright": {},  # and back onto its feet
    "nan": {"seconds": 0.05, "sensor": "gyro"},  # a sensor says NaN
    "freeze": {"seconds": 0.3},  # the sensors repeat themselves, the counter goes on
    "restart": {"seconds": 2.0},  # the robot is off, and its counter begins anew
}
HELP = {
    "pull": "cable out for `seconds`",
    "storm": "for `seconds` a worse link, as in [fault.link]",
    "stop": "stop button of the remote held for `seconds`",
    "hot": "motor `joint` heats up to `celsius`, `rate` degrees a second",
    "battery": "`share` of the charge is left from now on (0: robot off)",
    "push": "`newtons` from a random side for `seconds`",
    "flip": "a hand turns the robot onto its back (mujoco only)",
    "upright": "a hand turns it back onto its feet (mujoco only)",
    "nan": "`sensor` (gyro, angle, ...) says NaN for `seconds`",
    "freeze": "sensors repeat their last values for `seconds`",
    "restart": "robot off for `seconds`, its tick counter begins anew",
}
LARGEST = 1 << 20  # bytes of a script that are read
SECTIONS = ("link", "noise", "start", "hand", "fault")
SENSORS = ("angle", "speed", "gyro", "acceleration", "quaternion")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One line of a script."""

    kind: str
    at: tuple[float, ...] = ()  # s after the start
    every: float | None = None  # s on average
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Happening:
    """A fault at its time, with chance drawn."""

    time: float  # s after the start
    kind: str
    seconds: float
    values: Mapping[str, Any]
    luck: float  # 0 to 1: the side of a push


@dataclass(frozen=True, kw_only=True)
class Hand:
    """Somebody who watches, or not."""

    after: float | None = None  # s

    def __post_init__(self) -> None:
        if self.after is not None:
            number("hand.after", self.after, above=0)


@dataclass(frozen=True, kw_only=True)
class Start:
    """How the robot is when it is switched on."""

    tick: float | None = None  # of its counter; None: anything
    battery: float = 1.0
    celsius: float = 30.0

    def __post_init__(self) -> None:
        if self.battery > 1:
            raise UserError(f"start.battery = {self.battery}, want 0 to 1")


@dataclass(frozen=True, kw_only=True)
class Script:
    """Everything that goes wrong. Nothing does by default."""

    link: Weather = field(default_factory=Weather)
    noise: Noise = field(default_factory=Noise)
    start: Start = field(default_factory=Start)
    faults: tuple[Fault, ...] = ()
    hand: float | None = None  # s on its side or back, then somebody sets it upright; None: nobody


def read(path: Path) -> Script:
    """The script in a file, checked whole."""
    try:
        raw = tomllib.loads(durable.read_bounded(path, LARGEST).decode())
    except FileNotFoundError:
        raise UserError(f"fault script {path}: there is no such file") from None
    except RecursionError:
        raise UserError(f"fault script {path} cannot be read: nested too deeply") from None
    except (OSError, ValueError) as error:  # not TOML, not text, too long, no file
        raise UserError(f"fault script {path} cannot be read: {error}") from None
    return parse(raw, str(path))


def parse(raw: Mapping[str, Any], name: str = "fault script") -> Script:
    """A script from plain values; every mistake in one message."""
    wrong: list[str] = []
    for key in raw:
        if key not in SECTIONS:
            wrong.append(str(unknown("section", key, SECTIONS)))
    link = _section(Weather, raw.get("link", {}), "link", wrong)
    noise = _section(Noise, raw.get("noise", {}), "noise", wrong)
    start = _section(Start, raw.get("start", {}), "start", wrong)
    hand = _section(Hand, raw.get("hand", {}), "hand", wrong).after
    listed = raw.get("fault", [])
    if not isinstance(listed, list) or not all(isinstance(it, dict) for it in listed):
        wrong.append("fault: want [[fault]] sections")
        listed = []
    faults = [_fault(it, f"fault {place}", wrong) for place, it in enumerate(listed, 1)]
    if wrong:
        raise UserError(f"{name}:\n  " + "\n  ".join(wrong))
    faults = tuple(it for it in faults if it)
    return Script(link=link, noise=noise, start=start, faults=faults, hand=hand)


def happenings(script: Script, seed: int) -> Iterator[Happening]:
    """All that happens, in order, without end if anything is random; the same for the same seed."""
    each = [_of(fault, place, seed) for place, fault in enumerate(script.faults)]
    return heapq.merge(*each, key=lambda it: it.time)


def _of(fault: Fault, place: int, seed: int) -> Iterator[Happening]:
    stream = Stream(seed, f"fault {place} {fault.kind}", 3)
    time = 0.0
    for count in itertools.count():
        gap, length, luck = stream.draw(count).tolist()
        if fault.every is not None:
            time -= fault.every * math.log(1.0 - gap)
        elif count < len(fault.at):
            time = fault.at[count]
        else:
            return
        yield Happening(
            time=time,
            kind=fault.kind,
            seconds=_between(fault.values.get("seconds", 0.0), length),
            values=fault.values,
            luck=luck,
        )


def _between(seconds: Any, share: float) -> float:
    if isinstance(seconds, (list, tuple)):
        low, high = seconds
        return low + share * (high - low)
    return float(seconds)


def _section(kind: type, raw: Any, name: str, wrong: list[str]) -> Any:
    if not isinstance(raw, Mapping):
        wrong.append(f"{name} = {raw!r}: want a section")
        return kind()
    names = [each.name for each in fields(kind)]
    try:
        for key, value in raw.items():
            if key not in names:
                raise unknown(f"{name} setting", key, names)
            number(f"{name}.{key}", value, least=0)
        return kind(**{key: value for key, value in raw.items() if key in names})
    except UserError as error:
        wrong.append(str(error))
        return kind()


def _fault(raw: Mapping[str, Any], name: str, wrong: list[str]) -> Fault | None:
    kind = str(raw.get("kind", ""))
    if kind not in KINDS:
        wrong.append(f"{name}: {unknown('kind', kind, KINDS)}")
        return None
    before = len(wrong)
    allowed = ("kind", "at", "every", *KINDS[kind])
    for key in raw:
        if key not in allowed:
            wrong.append(f"{name} ({kind}): {unknown('setting', key, allowed)}")
    if ("at" in raw) == ("every" in raw):
        wrong.append(f"{name} ({kind}): give either `at` or `every`")
    at = raw.get("at", [])
    at = list(at) if isinstance(at, list) else [at]
    values = {**KINDS[kind], **{key: raw[key] for key in KINDS[kind] if key in raw}}
    _check(f"{name} ({kind}):", at, raw.get("every"), values, wrong)
    if len(wrong) > before:
        return None
    if kind == "storm":
        values["link"] = _section(Weather, values["link"], f"{name} ({kind}): link", wrong)
    every = raw.get("every")
    return Fault(
        kind=kind,
        at=tuple(sorted(float(it) for it in at)),
        every=None if every is None else float(every),
        values=values,
    )


def _check(
    here: str, at: list[Any], every: Any, values: Mapping[str, Any], wrong: list[str]
) -> None:
    """The numbers and names of one fault."""

    def tried(name: str, value: Any, least: float) -> None:
        try:
            number(f"{here} {name}", value, least=least)
        except UserError as error:
            wrong.append(str(error))

    for time in at:
        tried("at", time, least=0)
    if every is not None:
        tried("every", every, least=0.1)
    for name, value in values.items():
        if name == "seconds" and isinstance(value, list):
            if len(value) != 2:
                wrong.append(f"{here} seconds = {value}, want a number, or [least, most]")
            for it in value:
                tried("seconds", it, least=0)
        elif name in ("seconds", "rate", "newtons", "share", "celsius"):
            tried(name, value, least=0)
    if _real(values.get("share")) and values["share"] > 1:
        wrong.append(f"{here} share = {values['share']}, want 0 to 1")
    if "joint" in values and values["joint"] not in A1.joint_names:
        wrong.append(f"{here} {unknown('joint', str(values['joint']), A1.joint_names)}")
    if "sensor" in values and values["sensor"] not in SENSORS:
        wrong.append(f"{here} {unknown('sensor', str(values['sensor']), SENSORS)}")


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
