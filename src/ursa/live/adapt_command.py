"""`ursa robot adapt`: a robot that is broken tries a few of its skills, over its link."""

import re
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ursa import durable
from ursa.adapt.ite import Attempt, Trial
from ursa.env.arena import arena_over
from ursa.errors import UserError
from ursa.evaluate.definitions import TRIALS
from ursa.evaluate.pilot import Pilot
from ursa.evaluate.study import refuse_unfinished
from ursa.gate.mailbox import Listener
from ursa.gate.wired import Wired
from ursa.journal import duration
from ursa.live import past as pasts
from ursa.live import settings as living
from ursa.live.lift import Lift
from ursa.live.settings import Live
from ursa.live.stander import Say, gated
from ursa.live.trials import Kept, Trials, teller
from ursa.repair import adaptation, picture
from ursa.repair import play as playing
from ursa.repair.adaptation import Adaptation
from ursa.repair.command import interrupted, line, summary, title
from ursa.repair.past import Past
from ursa.repair.prior import candidates, numbers, value
from ursa.robot import registry as robots
from ursa.run import pretrained as shipped
from ursa.run.agent import Agent
from ursa.run.compiled import keep_programs
from ursa.run.folder import CONFIG, write_whole
from ursa.shared.place import IDENTITY

UNSAFE = 0.5  # share of unsafe steps at which a trial on a robot is stopped


def adapt(
    folder: Path | None = None,
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
    get_up: float = Live.get_up,
    seed: int | None = None,
    unfinished: bool = False,
    out: Path | None = None,
    pretrained: str | None = None,
    resume: bool = False,
) -> int:
    """Let a robot of metal (or its emulator) find a skill that still works, in a few trials.

    As `ursa adapt`, but every trial is made by the robot itself: its gate has it stand up, it
    follows the skill for 250 steps (12.5 s), and what it returned corrects the map. The best skill
    and the one that was best before are tried again at the end. Nothing is learnt or changed.

      ursa robot adapt outputs/a1 --link udp://192.168.123.10:8007      a robot that is broken
      ursa robot adapt outputs/a1 --link udp://127.0.0.1:8007 --damage FL.upper      an emulator

    SAFETY. Read docs/robot.md first. The robot stays limp until you have looked at it and pressed a
    twice; then it STANDS UP AND WALKS. Stop it with s, space or Enter in this terminal, with its
    remote, or from another terminal with `ursa robot stop FOLDER`; a twice acknowledges, then it
    goes on. Ctrl-C lays it down. A rollout in which the gate had to step in counts for nothing and
    is made again, up to three times. Each one that is over is written to OUT/trials.jsonl. A robot
    that a skill left on its back or side GETS UP BY ITSELF before the next one, legs swinging wide.

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
        get_up: Seconds on its back or side, then it gets up by script, between two rollouts; 0:
            never.
        seed: Which agent, where several were trained; unset is the first.
        unfinished: Take an agent whose training has not come to its end.
        out: Folder to write into; unset is adapt/robot-DAMAGE in the run's.
        pretrained: An agent that comes with ursa, in place of a folder; what is written goes to
            outputs/NAME.
        resume: Go on where an earlier start of the same command ended: what OUT/trials.jsonl has
            of it is not made again.
    """
    say = teller()
    say(opening(link, acknowledge))
    keep_programs()
    source = shipped.source(folder, pretrained)
    refuse_unpublished(source.agent)
    agent = Agent.load(source.agent, seed)
    if not unfinished:
        refuse_unfinished(source.agent, agent)
    out = out or source.out / "adapt" / re.sub(r"[^\w.+-]", "_", f"robot-{damage}")
    durable.refuse_unwritable(out)
    config = agent.config
    live = living.check(
        Live(
            robot=config.robot,
            link=link,
            clock=clock,
            acknowledge=acknowledge,
            limits={**inherited(source.agent), **living.narrowed(limits or {})},
            get_up=get_up,
        )
    )
    if live.limits:
        held = ", ".join(f"{name} {value:g}" for name, value in live.limits.items())
        say(f"narrower limits hold: {held}")
    options = {"trials": trials, "prior": prior, "unsafe_limit": unsafe_limit}
    adaptation.check(agent, damage, trials, None, None, prior, unsafe_limit)
    lift = Lift(robots.robot(config.robot), live.get_up)
    if latched := last_fault(source.agent):
        say(f"when this robot was last used from {source.agent} it was made limp: {latched}")
    about = {"agent": pasts.signature(source.agent, agent.seed), "damage": damage, **options}
    past = pasts.read(out, about, say) if resume else Past()
    out.mkdir(parents=True, exist_ok=True)
    kept = None
    try:
        with gated(out, live, say, lift) as engine:
            kept = Kept(out, say, resumed=resume, **about)
            found = adapted(agent, engine, damage, say, kept, lift, past, **options)
    except BaseException:
        if kept is not None:
            said = f"ended early; each rollout that was over by then is in {kept.path}"
            say(f"{said}: the same command with --resume goes on from there")
        raise
    print(summary(found))
    if lift.riser.count:
        print(f"  it had fallen and got up by script {lift.riser.count} times")
    write_whole(out / "adaptation.json", durable.to_json(adaptation.as_json(agent, found)))
    for path in (out / "adaptation.json", *picture.draw(out, found, title(agent, found))):
        print(f"-> {path}")
    return 0


def refuse_unpublished(folder: Path) -> None:
    """UserError for a run on a robot that has no agent yet; with what to do."""
    run = on_robot(folder)
    if run is None or not (run / CONFIG).exists() or any(run.glob("agent/seed_*")):
        return
    live = living.read(run)
    if live.learner:
        raise UserError(
            f"{run} holds no agent: its learner is on another machine ({live.learner}); copy the "
            "folder `agent` of its run from there, and give that"
        )
    raise UserError(
        f"{run} has published no agent yet: its learner does so every {live.checkpoint:g} s while "
        f"it learns, and at the end; let it learn, or go on with `ursa robot train --resume {run}`"
    )


def inherited(folder: Path) -> Mapping[str, Any]:
    """The limits that a run on a robot was given; none for one that was never on a robot."""
    run = on_robot(folder)
    return {} if run is None else living.read(run).limits


def on_robot(folder: Path) -> Path | None:
    """The run on a robot that a folder is, or whose agent it holds; None: there is none."""
    run = folder.absolute()
    places = (run, run.parent) if run.name == "agent" else (run,)
    return next((place for place in places if (place / living.NAME).exists()), None)


def last_fault(folder: Path) -> str:
    """Why the gate of a run on a robot was limp when it said its last word; "" if it was not."""
    run = on_robot(folder)
    if run is None or not (run / IDENTITY).exists():
        return ""
    with suppress(UserError), closing(Listener(run)) as ears:
        told = ears.newest()
        return "" if told is None else told.fault
    return ""


def opening(link: str, acknowledge: str) -> str:
    """What is about to happen, for whoever stands beside the robot. Before anything is loaded."""
    asks = "" if acknowledge == "emulator" else ", when you have looked at it and said so"
    return (
        f"the robot at {link} WILL STAND UP AND WALK{asks}. Until then it is limp: the agent is "
        "loaded and compiled, half a minute or so. s, space or Enter stops it, a twice "
        "acknowledges, Ctrl-C lays it down"
    )


def adapted(
    agent: Agent,
    engine: Wired,
    damage: str,
    say: Say,
    kept: Kept,
    lift: Lift,
    past: Past,
    **options: Any,
) -> Adaptation:
    """The search on the robot behind an engine; each rollout is told and written as it ends.

    Those that are past are told, too, and not made.
    """
    config = agent.config
    say("compiling; the robot stays limp meanwhile")
    # Until all is compiled nobody has it stand up: then it waits for nobody.
    set_down, engine.set_down = engine.set_down, None
    robot = arena_over(engine, config)
    skills, rows = candidates(agent), numbers(agent)
    most = min(options["trials"], len(skills))
    past.fit(most, adaptation.AGAIN)
    Pilot(agent.policy, skills[[0]], np.array([0]))(robot.start(), 0)
    value(agent, skills)
    engine.set_down = set_down
    progress = Trials(engine, most + 2 * adaptation.AGAIN, playing.STEPS, earlier=past.count)

    def stepped() -> None:
        if not lift.busy:  # those of the script are nobody's rollout
            lift.watch(engine)
            progress.step()

    def rose(number: int, seconds: float, up: bool) -> None:
        kept.write(kind="rise", number=number, seconds=round(seconds, 3), up=up)

    engine.stepped, lift.ended = stepped, rose
    length = duration(progress.count * progress.steps * engine.spec.period)
    print(
        f"{most} skills to try, then the best before and the best now {adaptation.AGAIN} times "
        f"each: {length} of walking, and getting up between",
        flush=True,
    )

    say(f"each rollout is written to {kept.path} as it ends")
    made = 0

    def ended(text: str, line: dict[str, Any]) -> None:
        nonlocal made
        made += 1
        if made <= past.count:
            print(f"{text}, by an earlier start", flush=True)
            return
        kept.write(**line)
        progress.over(made)
        print(f"{text}, ETA {duration(progress.left)}", flush=True)

    def told(it: Attempt) -> None:
        z = skills[it.skill].tolist()
        about = {"kind": "trial", "number": it.number, "row": it.skill, "skill": z}
        ended(line(it, most, rows), about | results(it.trial))

    def fresh(name: str, number: int, trial: Trial) -> None:
        ended(
            f"again, best {'before' if name == 'before' else 'now'}, {number} of "
            f"{adaptation.AGAIN}: returned {trial.ret:8.2f}{interrupted(trial)}",
            {"kind": name, "number": number} | results(trial),
        )

    return adaptation.adapt(
        agent, damage, robot=robot, past=past, told=told, fresh=fresh, **options
    )


def results(it: Trial) -> dict[str, Any]:
    """What a rollout came to, by the names of adaptation.json."""
    return {
        "return": it.ret,
        "unsafe": it.unsafe,
        "aborted": it.aborted,
        "interruptions": it.interruptions,
    }
