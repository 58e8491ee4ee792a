"""`ursa robot train`: flags over a preset, all checked before a robot hears of it. No JAX here."""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from textwrap import indent
from typing import Annotated, Literal

from tyro.conf import arg

from ursa.channel import secret
from ursa.config import Config, alone
from ursa.errors import UserError
from ursa.gate.limits import described
from ursa.live import guided, keys, listening, ready
from ursa.live import settings as living
from ursa.live.child import Ending
from ursa.live.dashboard import Dashboard, spoken
from ursa.live.settings import Live, Modules
from ursa.live.supervisor import DONE, Supervisor
from ursa.log import store
from ursa.run import command, folder, preflight, settings
from ursa.run.command import Flags
from ursa.shared import place
from ursa.types import Sizes

DESCRIPTION = """\
Let a robot of metal (or its emulator) discover what it can do, while it learns.

  ursa robot emulate a1                                        in another terminal, then
  ursa robot train --link udp://127.0.0.1:8007 --out outputs/try
  ursa robot train --link udp://192.168.123.10:8007 --preset paper --steps 360000 --out outputs/a1
  ursa robot train --link ... --learner tcp://127.0.0.1:8077 --key learner.key    learn elsewhere
  ursa robot train --resume outputs/a1               go on after a stop, a crash or a power cut
  ursa robot train --link ... --dry-run              hear the robot, move nothing, write nothing

SAFETY. Read docs/robot.md first, hang the robot up or lay it on its belly, keep its remote in your
hand. When all processes are there (from some seconds to a minute) it says "stands up in 5 s: keep
away", then stands up slowly and begins, at first with random targets inside the limits; with
--resume it waits until you acknowledge: a twice within 3 s. Stop it with s, space or Enter in this
terminal, with the remote, or from elsewhere with `ursa robot stop FOLDER` (a command needs a second
to start): the motors go limp within 50 ms of that and stay so until you acknowledge. Ctrl-C ends
the run in order: it lies down, everything is put on disk, and you are told how to go on.

Five processes work on it: the gate (500 Hz; every limit, the only one that talks to the robot),
the actor (20 Hz), the recorder (every row on disk before it counts), the learner, and this one,
which starts the others again whenever one dies. Their logs are in FOLDER/logs, what the gate had
to do in FOLDER/interventions.jsonl, the last minute before a fault in FOLDER/blackbox.

Every setting of `ursa train` can be given here too; one robot and one seed are what a robot has.

LIMITS of the gate, for --limits NAME VALUE ...: they can be narrowed and never widened. Each with
its default and what may be given:

@LIMITS@
"""


@dataclass(frozen=True, kw_only=True)
class RobotFlags(Flags):
    """Every setting of a run, and those of the robot."""

    link: Annotated[str, arg(metavar="udp://HOST:PORT")] = ""  # where the robot listens
    clock: Annotated[str, arg(metavar="wall|shared:PATH")] = "wall"  # shared: that of an emulator
    pose: Annotated[str, arg(metavar="udp://HOST:PORT")] = ""  # where a pose source sends poses to
    acknowledge: Literal["operator", "emulator"] = "operator"  # emulator: faults need no person
    silence: float = Live.silence  # s; a robot that says nothing for longer ends the run in order
    arena_radius: float = Live.arena_radius  # m around the origin of the pose source
    arena_margin: float = Live.arena_margin  # m inside that, from where it walks home
    homing: Annotated[str, arg(metavar="FOLDER|script")] = guided.SHIPPED  # who walks it home
    homing_time: float = Live.homing_time  # s on its way home, then it waits for a hand
    get_up: float = Live.get_up  # s on its back or side, then it gets up by script; 0: never
    ratio_least: float = Live.ratio_least  # updates per row: fewer is told
    ratio_most: float = Live.ratio_most  # more is never done, the learner waits for rows
    learner: Annotated[str, arg(metavar="tcp://HOST:PORT")] = ""  # one on another machine
    key: Annotated[str, arg(metavar="FILE")] = ""  # learner.key, as that machine made it
    publish: int = Live.publish  # updates between two policies for the robot
    checkpoint: float = Live.checkpoint  # s between two checkpoints
    room: float = Live.room  # GB of disk that must be free, beside three times the rows
    room_low: float = Live.room_low  # GB; with less free disk than this somebody is told
    limits: dict[str, float] = field(default_factory=dict)  # narrower ones: reach 0.1 rate 8
    dry_run: bool = False  # check all, hear the robot for 5 s, send it limp commands only; leave


def train(arguments: Sequence[str]) -> int:
    """Let a robot discover what it can do (see `ursa robot train --help`)."""
    flags = parse(arguments)
    config, out, live = settled(flags)
    with closing(Dashboard(quiet=flags.quiet)) as dashboard, spoken(dashboard.say):
        if flags.resume is None:
            folder.refuse_taken(out)
        if live.learner:
            secret.read(secret.place(out, live.key))
        if not flags.dry_run:
            return _trained(flags, config, out, live, dashboard)
        with ExitStack() as stack:
            ready.tried(stack, out, live, dashboard.say)
            return listening.listen(live, dashboard.say)


def _trained(flags: RobotFlags, config: Config, out: Path, live: Live, dashboard: Dashboard) -> int:
    """The run itself; its exit code."""
    with ExitStack() as stack:
        claim = ready.held(stack, out, live, dashboard.say)
        create(flags, config, out, live, dashboard.say)
        ending = stack.enter_context(closing(Ending()))
        pressed = stack.enter_context(keys.of_terminal())
        dashboard.say(f"{config.method} on {live.robot} at {live.link}, writes to {out}")
        dashboard.say(keys.described(pressed.present, out))
        supervisor = Supervisor(out, live, claim, dashboard.say, pressed)
        code = supervisor.run(lambda: ending.asked, dashboard.show)
        rows, updates = supervisor.last_rows, supervisor.last_updates
    done = f"{rows:,} rows on disk, {updates:,} updates, {supervisor.restarts} restarts"
    more = "" if code == DONE else f"; go on with: ursa robot train --resume {out}"
    dashboard.say(done + more)
    if kept := store.left(out):
        dashboard.say(
            f"{kept:,} ROWS MORE ARE IN MEMORY ONLY, the disk took none of them: make room, then "
            f"ursa robot train --resume {out} before this computer is switched off"
        )
    return code


def create(
    flags: RobotFlags, config: Config, out: Path, live: Live, say: Callable[[str], None]
) -> None:
    """All that a run has on disk before it starts. `config.json` comes last: whoever is killed
    before can give the same command again, and after that everything is there for --resume."""
    lost = before(flags.resume)[1]
    if lost:
        say(f"{lost}; THE USUAL SETTINGS HOLD, limits included, but for those that were given now")
        living.set_aside(out)
    living.write(out, live)
    place.sweep(out)
    folder.note(out, f"robot {live.robot} at {live.link}", folder.words())
    if flags.resume is None:
        folder.begin(out, config)


def parse(arguments: Sequence[str]) -> RobotFlags:
    """Flags from words, with the chosen preset (or the run to resume) as defaults."""
    resume, base, kept = command.begun(arguments)
    if resume is None:
        base = alone(base)
    else:
        live, lost = before(resume)
        kept |= {} if lost else {name: getattr(live, name) for name in _SHARED}
    return command.understood(RobotFlags, arguments, base, kept, "ursa robot train", help_text())


def help_text() -> str:
    """The description, with the limits as they are."""
    return DESCRIPTION.replace("@LIMITS@", indent(described(), "  "))


def settled(flags: RobotFlags) -> tuple[Config, Path, Live]:
    """What to run, where and on which robot; all of it checked."""
    config = flags.config
    if config.seeds != 1 or config.train.robots != 1:
        raise UserError(
            f"seeds = {config.seeds}, train.robots = {config.train.robots}: there is one robot and "
            "one learner; leave both out, or use `ursa train` for simulated robots"
        )
    lost = before(flags.resume)[1]
    if not flags.link and lost:
        raise UserError(
            f"{lost}. Its rows are there: go on with ursa robot train --resume {flags.resume} "
            "--link udp://HOST:PORT, and with --limits, --pose, --learner and --key as the run was "
            f"started with ({folder.ENVIRONMENT} there has the commands): they are not known else"
        )
    if not flags.link:
        raise UserError(
            "--link is missing: where does the robot listen? udp://192.168.123.10:8007 is an A1 on "
            "its cable, udp://127.0.0.1:8007 an emulator (ursa robot emulate a1)"
        )
    sizes = preflight.check(config)
    live = living.check(live_of(flags, config, sizes))
    if flags.resume is None:
        out = flags.out or folder.unused(config.robot, config.task, f"{config.method}-live")
        return config, out, live
    if flags.out is not None:
        raise UserError("--resume writes where that run has written: leave out --out")
    settings.refuse_other(folder.config_of(flags.resume), config, flags.resume)
    return config, flags.resume, live


def live_of(flags: RobotFlags, config: Config, sizes: Sizes) -> Live:
    """The settings beside a config; those that have no flag stay as an earlier start left them."""
    old, _ = before(flags.resume)
    shared = {name: getattr(flags, name) for name in _SHARED}
    shared["homing"] = guided.checked(flags.homing, config.robot)
    if flags.key:
        shared["key"] = str(Path(flags.key).absolute())  # the next start may be from elsewhere
    return replace(
        old,
        modules=modules_of(flags.learner, old.modules),
        robot=config.robot,
        start="new" if flags.resume is None else "resumed",
        limits={**old.limits, **living.narrowed(flags.limits)},
        rows=config.train.steps,
        skill=skill_size(config, sizes),
        **vars(sizes),
        **shared,
    )


def before(resume: Path | None) -> tuple[Live, str]:
    """The settings of an earlier start; and why they are not known, if a run goes on without."""
    try:
        return (Live(), "") if resume is None else (living.read(resume), "")
    except living.Lost as error:
        return Live(), str(error)


def modules_of(learner: str, modules: Modules) -> Modules:
    """Who plays the learner here: itself, or who carries rows to one on another machine."""
    if modules.learner not in living.PLAYERS["learner"]:  # somebody brought one of their own
        return modules
    return replace(modules, learner=living.CARRIER if learner else Modules.learner)


def skill_size(config: Config, sizes: Sizes) -> int:
    """The width of z, as each method has it; the learner refuses to start if this is wrong."""
    learnt = config.skill.feature == "vae"
    return {
        "ursa": config.skill.skill_size if learnt else sizes.posture,
        "dominic": config.dominic.skills,
    }.get(config.method, 0)


_SHARED = tuple(
    name
    for name in (item.name for item in fields(RobotFlags))
    if name in {item.name for item in fields(Live)} - {item.name for item in fields(Config)}
    and name != "limits"
)


if __name__ == "__main__":
    sys.exit(train(sys.argv[1:]))
