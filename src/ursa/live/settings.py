"""Settings: what a run on a robot needs beside its config: `live.json` in the run's folder.

Unlike the config it may change from one start to the next (another cable, narrower limits). All
that is wrong with it is said at once, before anything is sent to a robot.
"""

import itertools
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ursa import durable
from ursa.channel.channel import tcp
from ursa.errors import UserError, brief, listed, unknown
from ursa.gate import driven
from ursa.gate import link as linking
from ursa.gate.limits import Limits, limits_of
from ursa.gate.where import POSE_PORT
from ursa.log.record import Layout
from ursa.robot import registry as robots
from ursa.types import Sizes

NAME = "live.json"
LARGEST = 1 << 20  # bytes of it that are read
HUGE = 2**53  # no whole number here is larger, and a float holds it
ROLES = ("gate", "recorder", "learner", "actor")  # in the order they are started
# A robot may hold its last target while its gate hangs; an emulator that waits for it hurts nobody.
HUNG = {"wall": 0.5, "shared": 5.0}  # s
CARRIER = "ursa.live.carrying"  # plays the learner where that is on another machine
# A file of a run is never a reason to run something: who may play a role is known here. A variable
# of the environment can name more, by commas, for whoever has a module of their own.
PLAYERS = {
    "gate": ("ursa.live.gating",),
    "recorder": ("ursa.live.recording",),
    "learner": ("ursa.live.learning", CARRIER),
    "actor": ("ursa.live.acting",),
}
MORE = "URSA_MODULES"
ACKNOWLEDGE = ("operator", "emulator")
STARTS = ("new", "resumed")


class Lost(UserError):
    """What a run was started with is not known: the file is missing, or damaged beyond reading."""


def _number(default: float, least: float, most: float, unit: str) -> Any:
    return field(default=default, metadata={"least": least, "most": most, "unit": unit})


@dataclass(frozen=True, kw_only=True)
class Modules:
    """Which module plays each role: `python -m MODULE FOLDER`."""

    gate: str = "ursa.live.gating"
    recorder: str = "ursa.live.recording"
    learner: str = "ursa.live.learning"
    actor: str = "ursa.live.acting"


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Seconds of real time that a process may be silent before it counts as hung."""

    gate: float = _number(0.0, 0.0, 3600.0, "s")  # 0: HUNG, by the clock
    recorder: float = _number(60.0, 1.0, 3600.0, "s")  # a slow disk is no hang
    learner: float = _number(120.0, 1.0, 3600.0, "s")
    actor: float = _number(30.0, 1.0, 3600.0, "s")
    start: float = _number(300.0, 5.0, 3600.0, "s")  # until the first sign of life; JAX compiles
    end: float = _number(60.0, 1.0, 3600.0, "s")  # for an orderly end, then it is killed


@dataclass(frozen=True, kw_only=True)
class Restarts:
    """How a process that ended or hung is started again."""

    first: float = _number(0.5, 0.0, 60.0, "s")  # before the first restart; then doubled
    most: float = _number(30.0, 0.0, 600.0, "s")  # never longer
    healthy: float = _number(60.0, 0.0, 3600.0, "s")  # lived so long: begin at `first` again
    window: float = _number(600.0, 1.0, 86400.0, "s")  # lived so long: forget the ends before
    allowed: int = _number(20, 0, 10**6, "restarts")  # of one role in a row, then give up


@dataclass(frozen=True, kw_only=True)
class Live:
    """A robot, the way to it, and how the processes around it work together."""

    robot: str = "a1"
    link: str = "udp://127.0.0.1:8007"  # where the robot listens
    clock: str = "wall"  # or shared:PATH, as an emulator keeps it
    pose: str = ""  # udp://HOST:PORT where poses arrive, see `gate/where.py`; "": nobody watches
    acknowledge: str = "operator"  # who unlatches faults; "emulator": nobody need, loopback only
    start: str = "new"  # "resumed": a person looks before the robot stands up
    limits: Mapping[str, Any] = field(default_factory=dict)  # narrower ones for the gate
    silence: float = _number(600.0, 1.0, 86400.0, "s")  # of the robot; then the run ends in order
    # learning
    learner: str = ""  # tcp://HOST:PORT of one on another machine; "": it is on this one
    key: str = ""  # file with the key that both machines have; "": learner.key in the run's folder
    rows: int = _number(0, 0, 10**9, "rows")  # the run ends with so many; 0: when told to
    ratio_least: float = _number(1 / 64, 0.0, 64.0, "updates per row")  # below it we say so
    ratio_most: float = _number(1.0, 1e-4, 64.0, "updates per row")  # above it the learner waits
    publish: int = _number(4, 1, 10**6, "updates")  # between two policies for the actor
    checkpoint: float = _number(60.0, 1.0, 3600.0, "s")  # between two checkpoints, real time
    # the arena
    arena_radius: float = _number(2.5, 0.2, 1000.0, "m")
    arena_margin: float = _number(0.5, 0.05, 100.0, "m")  # home from this far inside the edge
    homing: str = ""  # folder of a velocity agent that walks home; "": a scripted trot
    homing_time: float = _number(60.0, 5.0, 3600.0, "s")  # on its way home, then it asks for a hand
    get_up: float = _number(8.0, 0.0, 60.0, "s")  # lies so long, then gets up by script; 0: never
    # rows: how wide the vectors are
    observation: int = _number(1, 1, 10**6, "numbers")
    action: int = _number(1, 1, 10**4, "numbers")
    posture: int = _number(1, 1, 10**4, "numbers")
    skill: int = _number(0, 0, 10**4, "numbers")
    # processes
    modules: Modules = Modules()
    patience: Patience = Patience()
    restarts: Restarts = Restarts()
    blackbox: float = _number(60.0, 0.1, 600.0, "s")  # kept in memory for the day of a fault
    room: float = _number(1.0, 0.0, 1e6, "GB")  # of disk that must be free at the start
    room_low: float = _number(5.0, 0.0, 1e6, "GB")  # free disk: below it we say so, while it runs

    @property
    def layout(self) -> Layout:
        """Of the rows that actor, recorder and learner pass on."""
        sizes = Sizes(observation=self.observation, action=self.action, posture=self.posture)
        return Layout(sizes=sizes, skill=self.skill)

    def gate_limits(self) -> Limits:
        """What the gate protects this robot with."""
        return limits_of(robots.robot(self.robot), self.limits)

    @property
    def virtual(self) -> bool:
        """Whether time stands still while somebody computes."""
        return self.clock != "wall"


def check(live: Live) -> Live:
    """The settings themselves, or one error that lists everything wrong with them."""
    wrong = _outside(live, "") + _outside(live.patience, "patience.")
    wrong += _outside(live.restarts, "restarts.")

    def tried(act: Any) -> Any:
        try:
            return act()
        except UserError as error:
            wrong.append(str(error))
            return None

    limits = tried(live.gate_limits)
    if limits is not None:
        if not live.get_up < limits.get_up:
            wrong.append(
                f"get_up = {live.get_up}: want less than {limits.get_up:g} s, when the gate goes "
                "limp (its limit get_up), or 0 for never"
            )
        tried(lambda: driven.refuse_other(robots.robot(live.robot)))
    robot = tried(lambda: linking.address(live.link))
    away = robot is not None and not ip_address(robot[0]).is_loopback  # no emulator is
    if live.pose:
        tried(lambda: _listening(live.pose))
    if live.learner:
        tried(lambda: tcp(live.learner))
    kind, _, path = live.clock.partition(":")
    if live.clock != "wall" and not (kind == "shared" and path):
        wrong.append(f'clock = "{live.clock}": want wall, or shared:PATH as an emulator keeps it')
    elif live.virtual and away:  # every limit in time would be void: it runs as fast as it can
        wrong.append(
            f'clock = "{live.clock}" with link = "{live.link}": a robot goes by real time, want '
            "clock = wall (--clock wall); virtual time is for an emulator on this machine "
            "(127.0.0.1) only"
        )
    if live.acknowledge not in ACKNOWLEDGE:
        wrong.append(f'acknowledge = "{live.acknowledge}": want {" or ".join(ACKNOWLEDGE)}')
    elif live.acknowledge == "emulator" and away:
        wrong.append(
            f'acknowledge = "emulator" with link = "{live.link}": faults of a robot need a person; '
            "it is for an emulator on this machine (127.0.0.1) only"
        )
    if live.start not in STARTS:
        wrong.append(f'start = "{live.start}": want {" or ".join(STARTS)}')
    if 0 < live.patience.gate < HUNG["wall"]:
        wrong.append(
            f"patience.gate = {live.patience.gate}: want at least {HUNG['wall']} s, or 0 for what "
            "its clock asks for"
        )
    if live.patience.gate > HUNG["wall"] and not live.virtual:
        wrong.append(
            f"patience.gate = {live.patience.gate}: want at most {HUNG['wall']} s on a wall clock, "
            "or 0: a robot holds its last target for as long as its gate hangs"
        )
    if not live.ratio_least < live.ratio_most:
        wrong.append(
            f"ratio_least = {live.ratio_least}: want less than ratio_most = {live.ratio_most}"
        )
    if not live.arena_margin < live.arena_radius:
        wrong.append(
            f"arena_margin = {live.arena_margin}: want less than arena_radius = "
            f"{live.arena_radius} m"
        )
    for role in ROLES:
        module, known = getattr(live.modules, role), _players(role)
        if module not in known:
            wrong.append(
                f'modules.{role} = "{module}": want {" or ".join(known)}; one of your own is run '
                f"only if the environment names it, too: {MORE}=MODULE,..."
            )
    if wrong:
        raise UserError("this robot cannot be run:\n  " + "\n  ".join(wrong))
    return live


def _players(role: str) -> tuple[str, ...]:
    """Modules that may be started for a role."""
    more = os.environ.get(MORE, "").split(",")
    named = (each for each in more if all(part.isidentifier() for part in each.split(".")))
    return (*PLAYERS[role], *named)


def _listening(pose: str) -> None:
    """Refuse what is no place to hear poses at."""
    try:
        linking.address(pose)
    except UserError:
        raise UserError(
            f'pose = "{pose}": want udp://HOST:PORT of this machine, where a pose source sends to, '
            f"such as udp://127.0.0.1:{POSE_PORT}"
        ) from None


def watched(live: Live) -> Live:
    """The same settings, with the patience for the gate that its clock asks for if none is set."""
    hung = live.patience.gate or HUNG["shared" if live.virtual else "wall"]
    return replace(live, patience=replace(live.patience, gate=hung))


def narrowed(given: Mapping[str, float]) -> dict[str, float | int]:
    """Limits as a flag has them: one that counts something is a whole number, however written."""
    return {
        name: int(value) if math.isfinite(value) and value == int(value) else value
        for name, value in given.items()
    }


def write(folder: Path, live: Live) -> None:
    """Put checked settings into a run's folder: the old file or the new, never half of one."""
    data = durable.to_json(asdict(check(live)))
    with durable.room_for(NAME, folder, len(data)):
        durable.write(folder / f"tmp.{NAME}", data)
        durable.rename(folder / f"tmp.{NAME}", folder / NAME)


def read(folder: Path) -> Live:
    """The settings in a run's folder, checked."""
    path = folder / NAME
    try:
        raw = durable.from_json(durable.read_bounded(path, LARGEST))
    except FileNotFoundError:
        raise _missing(folder) from None
    except PermissionError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}; use its owner's account"
        ) from error
    except (ValueError, OSError) as error:
        raise Lost(f"{path} cannot be read: {error}") from error
    wrong: list[str] = []
    live = _made(Live, raw, "", wrong)
    if live is None or wrong:
        raise UserError(
            f"{path} cannot be used:\n  {listed(wrong)}\n  put that right, or move the file away: "
            f"then ursa robot train --resume {folder} --link udp://HOST:PORT goes on without it"
        )
    return check(live)


def _missing(folder: Path) -> UserError:
    """What to say of a folder without settings: it may have rows of a robot all the same."""
    begun = (folder / "config.json").exists()
    simulated = any((folder / name).exists() for name in ("checkpoints", "rows"))
    if begun and (not simulated or any(folder.glob("steps-*"))):
        return Lost(f"{folder}: there is no {NAME}, which says how this run reaches its robot")
    return UserError(
        f"{folder} holds no run on a robot: there is no {NAME}; start one with "
        "ursa robot train --out FOLDER"
    )


def set_aside(folder: Path) -> None:
    """Keep settings that cannot be read beside those that are written next."""
    path = folder / NAME
    if path.exists():
        names = (path.with_name(f"{NAME}.damaged-{number}") for number in itertools.count(1))
        with durable.room_for(NAME, folder, 0):
            durable.rename(path, next(name for name in names if not name.exists()))


SECTIONS = {"modules": Modules, "patience": Patience, "restarts": Restarts}
_KINDS = {str: "a word", int: "a whole number", float: "a number", Mapping: "names with numbers"}


def _made(kind: type, raw: Any, path: str, wrong: list[str]) -> Any:
    """A section from plain values; what is unknown or of another kind is listed in `wrong`."""
    if not isinstance(raw, dict):
        wrong.append(f"{path or 'the file'}: {brief(raw)}, want settings by name")
        return None
    names = {each.name: each for each in fields(kind)}
    values: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in names:
            wrong.append(str(unknown("setting", f"{path}{name}", [f"{path}{n}" for n in names])))
            continue
        wanted = SECTIONS.get(name)
        if wanted is not None:
            values[name] = _made(wanted, value, f"{name}.", wrong)
            continue
        wanted = Mapping if name == "limits" else names[name].type
        accepted = (int, float) if wanted is float else dict if wanted is Mapping else wanted
        if isinstance(value, int) and abs(value) > HUGE:
            wrong.append(f"{path}{name} = {brief(value)}: want at most {HUGE}")
        elif not isinstance(value, accepted) or isinstance(value, bool):  # pyright: ignore
            wrong.append(f"{path}{name} = {brief(value)}: want {_KINDS[wanted]}")  # pyright: ignore
        else:
            values[name] = float(value) if wanted is float else value
    return None if wrong else kind(**values)


def _outside(section: Any, path: str) -> list[str]:
    """Numbers beyond what is allowed, one sentence each."""
    wrong = []
    for each in fields(section):
        value, allowed = getattr(section, each.name), each.metadata
        if allowed and not (math.isfinite(value) and allowed["least"] <= value <= allowed["most"]):
            wrong.append(
                f"{path}{each.name} = {value}, allowed {allowed['least']:g} to "
                f"{allowed['most']:g} {allowed['unit']} (default {each.default:g})"
            )
    return wrong
