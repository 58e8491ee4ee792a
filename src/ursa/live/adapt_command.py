"""`ursa robot adapt`: a robot that is broken tries a few of its skills, over its link."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ursa import durable
from ursa.adapt.ite import Attempt
from ursa.env.arena import Arena
from ursa.errors import UserError
from ursa.evaluate.definitions import TRIALS
from ursa.evaluate.pilot import Pilot
from ursa.evaluate.study import refuse_unfinished
from ursa.gate.wired import Wired
from ursa.journal import duration
from ursa.live import settings as living
from ursa.live.settings import Live
from ursa.live.stander import gated
from ursa.live.trials import Trials
from ursa.repair import adaptation, picture
from ursa.repair import play as playing
from ursa.repair.adaptation import Adaptation
from ursa.repair.command import line, summary, title
from ursa.repair.prior import candidates, value
from ursa.robot.legged import LeggedBody
from ursa.run.agent import Agent
from ursa.run.compiled import keep_programs
from ursa.run.folder import write_whole
from ursa.task import registry as tasks

UNSAFE = 0.5  # share of unsafe steps at which a trial on a robot is stopped


def adapt(
    folder: Path,
    /,
    *,
    link: str,
    damage: str = "undamaged",
    trials: int = TRIALS,
    prior: str = "value",
    unsafe_limit: float = UNSAFE,
    clock: str = "wall",
    acknowledge: Literal["operator", "emulator"] = "operator",
    limits: dict[str, float] | None = None,
    seed: int | None = None,
    unfinished: bool = False,
    out: Path | None = None,
) -> int:
    """Let a robot of metal (or its emulator) find a skill that still works, in a few trials.

    As `ursa adapt`, but every trial is made by the robot itself: its gate has it stand up, it
    follows the skill for 250 steps (12.5 s), and what it returned corrects the map. The best skill
    and the one that was best before are tried again at the end. Nothing is learnt or changed.

      ursa robot adapt outputs/a1 --link udp://192.168.123.10:8007      a robot that is broken
      ursa robot adapt outputs/a1 --link udp://127.0.0.1:8007 --damage FL.upper      an emulator

    SAFETY. Read docs/robot.md first. Stop it with s, space or Enter in this terminal, with its
    remote, or from another terminal with `ursa robot stop OUT`; a here acknowledges, then it goes
    on. Ctrl-C lays it down. A trial in which the gate had to step in counts for nothing.

    Args:
        folder: Where the run was written, or a folder with a published agent.
        link: Where the robot listens: udp://HOST:PORT.
        damage: What is broken: undamaged for a robot that is broken already; or joints to hold at
            their nominal angle as if they were, for example FL.upper or FR+BL.
        trials: How many skills to try.
        prior: Where the map comes from: value (the value function, at rest) or measured (all
            skills are tried undamaged, in simulation, first).
        unsafe_limit: Stop a trial with a larger share of unsafe steps; 1 never does.
        clock: wall, or shared:PATH as an emulator keeps it.
        acknowledge: Who unlatches faults: operator, or emulator where nobody need (loopback only).
        limits: Narrower limits for the gate: reach 0.1 rate 8. Those that the run has learnt with
            hold as well, unless one of the same name is given here.
        seed: Which agent, where several were trained; unset is the first.
        unfinished: Take an agent whose training has not come to its end.
        out: Folder to write into; unset is adapt/robot-DAMAGE in the run's.
    """
    keep_programs()
    agent = Agent.load(folder, seed)
    if not unfinished:
        refuse_unfinished(folder, agent)
    out = out or folder / "adapt" / re.sub(r"[^\w.+-]", "_", f"robot-{damage}")
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: give another --out")
    config = agent.config
    live = living.check(
        Live(
            robot=config.robot,
            link=link,
            clock=clock,
            acknowledge=acknowledge,
            limits={**inherited(folder), **living.narrowed(limits or {})},
        )
    )
    if live.limits:
        held = ", ".join(f"{name} {value:g}" for name, value in live.limits.items())
        print(f"ursa: narrower limits hold: {held}", file=sys.stderr)
    options = {"trials": trials, "prior": prior, "unsafe_limit": unsafe_limit}
    adaptation.check(agent, damage, trials, None, None, prior, unsafe_limit)
    out.mkdir(parents=True, exist_ok=True)
    with gated(out, live, lambda said: print(f"ursa: {said}", file=sys.stderr)) as engine:
        found = adapted(agent, engine, damage, **options)
    print(summary(found))
    write_whole(out / "adaptation.json", durable.to_json(adaptation.as_json(agent, found)))
    for path in (out / "adaptation.json", *picture.draw(out, found, title(agent, found))):
        print(f"-> {path}")
    return 0


def inherited(folder: Path) -> Mapping[str, Any]:
    """The limits that a run on a robot was given; none for one that was never on a robot."""
    run = folder.absolute()
    for place in (run, run.parent) if run.name == "agent" else (run,):
        if (place / living.NAME).exists():
            return living.read(place).limits
    return {}


def adapted(agent: Agent, engine: Wired, damage: str, **options: Any) -> Adaptation:
    """The search on the robot behind an engine; each trial is told as it ends."""
    config = agent.config
    # Until all is compiled nobody has it stand up: then it waits for nobody.
    set_down, engine.set_down = engine.set_down, None
    robot = Arena(LeggedBody(engine), tasks.task(config.task, engine.spec, config), radius=None)
    skills = candidates(agent)
    Pilot(agent.policy, skills[[0]], np.array([0]))(robot.start(), 0)
    value(agent, skills)
    engine.set_down = set_down
    most = min(options["trials"], len(skills))
    progress = Trials(engine, most + 2 * adaptation.AGAIN, playing.STEPS)
    engine.stepped = progress.step
    length = duration(progress.count * progress.steps * engine.spec.period)
    print(
        f"{most} skills to try, then the best before and the best now {adaptation.AGAIN} times "
        f"each: {length} of walking, and getting up between",
        flush=True,
    )

    def told(attempt: Attempt) -> None:
        progress.over(attempt.number)
        print(f"{line(attempt, most)}, ETA {duration(progress.left)}", flush=True)

    return adaptation.adapt(agent, damage, robot=robot, told=told, **options)
