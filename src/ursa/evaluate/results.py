"""Results: what was measured of one trained agent, as raw numbers in one JSON file.

Every table and figure is computed from these files (`ursa reproduce --from-results`), that of the
rewards during training also from means that `averaged` reads. A number that is not finite is
written as it is ("nan") and told when it is read, never averaged.
"""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ursa import durable
from ursa.config import Config
from ursa.errors import UserError, shortened

Array = np.ndarray
FORMAT = 1
DIGITS = 6  # significant
LARGEST = 64 << 20  # bytes of a file
UNREADABLE = (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Which agent was measured, and on what."""

    run: str  # name of its folder
    method: str
    robot: str
    task: str
    seed: int
    steps: int  # control steps it had lived
    engine: str  # physics of the evaluation
    tick: float


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One rollout a row (definitions: ursa/evaluate/definitions.py); skills may repeat."""

    z: Float[Array, "m D"]
    ret: Float[Array, " m"]  # "nan" where the physics diverged
    value: Float[Array, " m"]  # V(s0, z) as the agent expects it, reward per step
    # Mean phi, of a method without phi that of the yardstick; without any, the mean posture.
    feature: Float[Array, "m E"]
    joint_angle: Float[Array, "m A"]
    speed: Float[Array, " m"]
    yaw_rate: Float[Array, " m"]
    unsafe: Float[Array, " m"]
    airborne: Float[Array, " m"]
    joint_speed: Float[Array, " m"]
    torque: Float[Array, " m"]  # largest of a control step, over the motor's peak
    power: Float[Array, " m"]
    hand: Bool[Array, " m"]


@dataclass(frozen=True, kw_only=True)
class Adapted:
    """How a method coped with one damage: what it tried, what it chose, and that again."""

    scenario: str  # "undamaged" is the reference
    # Of every candidate, the first m rows of `skills`, under this damage: the oracle's view.
    ret: Float[Array, " m"]
    tried: Int[Array, " k"]  # candidates in the order of the trials; who has few repeats them
    trial_ret: Float[Array, " k"]
    chosen: int
    again: Float[Array, " r"]  # fresh rollouts of the chosen one


@dataclass(frozen=True, kw_only=True)
class Tracked:
    """Velocity commands and what came of them (RQ3)."""

    command: Float[Array, "c D"]
    reachable: Bool[Array, " c"]  # within two thresholds of a skill it knows
    late: Float[Array, "c r D"]  # true mean velocities of each rollout, the transient left out
    whole: Float[Array, "c r D"]  # the same with it


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Reward during training."""

    steps: Float[Array, " w"]  # end of each window
    mean: Float[Array, " w"]  # reward per step
    deviation: Float[Array, " w"]


@dataclass(frozen=True, kw_only=True)
class Results:
    """Everything measured of one agent; what was not measured is None or empty."""

    source: Source
    config: dict[str, Any]
    delta: float | None  # threshold, None without a repertoire
    ruler: Float[Array, "D D"] | None  # features to whitened units
    skills: Tried
    damages: tuple[Adapted, ...] = ()
    tracking: Tracked | None = None
    curve: Curve | None = None
    notes: dict[str, float] = field(default_factory=dict)


def name(seed: int | str) -> str:
    """Of the file that holds the results of a seed; "*" for any."""
    return f"seed_{seed}.json"


def settings(config: Config) -> dict[str, Any]:
    """A config as a file has it: lists where it has tuples."""
    return json.loads(json.dumps(asdict(config)))


def save(results: Results, path: Path) -> None:
    """Write one file, whole or not at all."""
    text = json.dumps({"format": FORMAT} | _plain(results), indent=None, separators=(",", ":"))
    durable.write(part := path.with_name(path.name + ".part"), text.encode())
    durable.rename(part, path)


def load(path: Path) -> Results:
    """Read one file; anything that is not such a file is told in one sentence."""
    try:
        read = durable.from_json(durable.read_bounded(path, LARGEST))
        if not isinstance(read, dict) or "format" not in read:
            raise UserError(f"{path} is not a results file of `ursa evaluate`")
        if read.pop("format") != FORMAT:
            raise UserError(f"{path} has another format; this version reads {FORMAT}")
        return _built(Results, read)
    except UNREADABLE as error:
        raise UserError(f"{path} is not a results file of `ursa evaluate`: {_why(error)}") from None


def _why(error: Exception) -> str:
    """What is wrong with a file, for people."""
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON from line {error.lineno} on ({error.msg})"
    if isinstance(error, UnicodeDecodeError):
        return "it is not text"
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    if isinstance(error, OSError):
        return error.strerror or "it cannot be read"
    said = " ".join(str(error).split())
    return f"its numbers are not where they belong ({shortened(said)})"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return _rounded(value.astype(float).tolist())
        return value.tolist()
    if isinstance(value, (Results, Source, Tried, Adapted, Tracked, Curve)):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else str(value)


PARTS = {"source": Source, "skills": Tried, "tracking": Tracked, "curve": Curve}
WORDS = {"config", "notes", "delta", "chosen", "scenario"}


def _built(kind: type, read: dict[str, Any]) -> Any:
    made: dict[str, Any] = {}
    for item in fields(kind):
        value = read[item.name]
        if item.name in PARTS and value is not None:
            made[item.name] = _built(PARTS[item.name], value)
        elif item.name == "damages":
            made[item.name] = tuple(_built(Adapted, each) for each in value or ())
        elif kind is Source or item.name in WORDS or value is None:
            made[item.name] = value
        else:
            made[item.name] = _array(item, value)
    return kind(**made)


def _array(item: Any, value: Any) -> Array:
    """By the annotation's kind, so that an empty list has the right one too."""
    kind = {"Float": float, "Int": int, "Bool": bool}
    name = next(name for name in kind if name in str(item.type))
    return np.asarray(_numbers(value), kind[name])


def _numbers(value: Any) -> Any:
    return [_numbers(each) for each in value] if isinstance(value, list) else float(value)
