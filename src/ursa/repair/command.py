"""`ursa adapt`: a run meets damage; a few trials find a skill that still works."""

import math
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int

from ursa import durable
from ursa.adapt.ite import Attempt, Trial
from ursa.evaluate.definitions import TRIALS
from ursa.evaluate.study import refuse_unfinished
from ursa.repair import adaptation, picture
from ursa.repair.adaptation import Adaptation, Again
from ursa.repair.play import NEVER
from ursa.repair.prior import candidates, numbers
from ursa.robot import registry
from ursa.run import pretrained as shipped
from ursa.run.agent import Agent
from ursa.run.compiled import keep_programs
from ursa.run.folder import write_whole

Array = np.ndarray


def adapt(
    folder: Path | None = None,
    /,
    *,
    damage: str,
    trials: int = TRIALS,
    body: str | None = None,
    prior: str = "value",
    unsafe_limit: float = NEVER,
    seed: int | None = None,
    unfinished: bool = False,
    out: Path | None = None,
    pretrained: str | None = None,
) -> int:
    """Break a robot, and let it find, in a few trials, a skill that still works.

    Intelligent Trial and Error: a map says what every skill is worth undamaged; each trial
    corrects it around the skill that was tried, and the most promising one is next. Afterwards
    the chosen skill is tried again, beside the one that was best before the damage. Writes
    adaptation.json (all trials, the map, the chosen skill) and a figure (PNG and PDF).

      ursa adapt outputs/a1 --damage FL.upper
      ursa adapt outputs/a1 --damage FR+BL:limp --body pybullet --prior measured

    Args:
        folder: Where the run was written, or a folder with a published agent.
        damage: What is broken, for example FL.upper, FR+BL, FL.upper:limp, FL:weak=0.5 or
            FL.upper:locked=0.9. A joint without a kind is frozen at its nominal angle.
        trials: How many skills to try, 250 steps (12.5 s) each.
        body: Whose physics: mujoco, solid (the same, but links of a robot cannot pass through each
            other) or pybullet; unset is the one it was trained with.
        prior: Where the map comes from: value (the value function, at rest) or measured (all
            skills are tried undamaged first, which takes a while).
        unsafe_limit: Stop a trial with a larger share of unsafe steps; 1 never does.
        seed: Which agent, where several were trained; unset is the first.
        unfinished: Take an agent whose training has not come to its end.
        out: Folder to write into; unset is adapt/DAMAGE in the run's (adapt/DAMAGE-BODY for
            another physics). Earlier results there go.
        pretrained: An agent that comes with ursa, in place of a folder; what is written goes to
            outputs/NAME.
    """
    if out is not None:
        durable.refuse_unwritable(out)
    keep_programs()
    source = shipped.source(folder, pretrained)
    agent = Agent.load(source.agent, seed)
    if not unfinished:
        refuse_unfinished(source.agent, agent)
    where = damage if body in (None, agent.config.engine) else f"{damage}-{body}"
    out = out or source.out / "adapt" / re.sub(r"[^\w.+-]", "_", where)
    durable.refuse_unwritable(out)
    most = min(trials, len(candidates(agent)))  # no skill is tried twice
    rows = numbers(agent)
    found = adaptation.adapt(
        agent,
        damage,
        trials,
        body=body,
        prior=prior,
        unsafe_limit=unsafe_limit,
        told=lambda attempt: print(line(attempt, most, rows), flush=True),
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    print(summary(found))
    if registry.robot(agent.config.robot).legs:
        print(f"  see it: {watching(folder, pretrained, seed, body, found)}")
    write_whole(out / "adaptation.json", durable.to_json(adaptation.as_json(agent, found)))
    drawn = picture.draw(out, found, title(agent, found))
    for path in (out / "adaptation.json", *drawn):
        print(f"-> {path}")
    return 0


def line(it: Attempt, trials: int, numbers: Sequence[int] | Int[Array, " n"]) -> str:
    """What is said of a trial as soon as it is over; `numbers` are those of the map's skills."""
    best = None if it.best is None else numbers[it.best]
    stopped = f"{', stopped' if it.trial.aborted else ''}{interrupted(it.trial)}"
    said = f"trial {it.number} of {trials}: skill {numbers[it.skill]:>4}, predicted {it.mean:8.2f} "
    said += f"+- {it.deviation:.2f}, returned {it.trial.ret:8.2f} (unsafe {it.trial.unsafe:.2f}"
    return said + f"{stopped}), best so far: skill {best}"


def summary(found: Adaptation) -> str:
    """Before and after."""
    tried, aborted = len(found.search.attempts), found.search.aborted
    rows = [f"damage {found.damage}: {tried} of {len(found.skills)} skills tried"]
    if aborted:
        rows[0] += f", {aborted} stopped for safety"
    rows += [
        _again("best before the damage", int(found.numbers[found.first]), found.before),
        _again("chosen after it", found.number, found.after),
    ]
    if found.chosen == found.first:
        rows.append(f"  {stays(tried)}")
    return "\n".join(rows)


def stays(tried: int) -> str:
    """What is said where nothing better was found."""
    return f"the old skill is still the best of the {tried} tried: it stays"


def watching(
    folder: Path | None,
    pretrained: str | None,
    seed: int | None,
    body: str | None,
    found: Adaptation,
) -> str:
    """The command that shows the chosen skill on the broken robot."""
    words = ["ursa", "watch", shlex.quote(str(folder))] if folder else ["ursa", "watch"]
    given = {"pretrained": pretrained, "seed": seed, "skill": found.number, "damage": found.damage}
    given["engine"] = body
    words += [f"--{name} {shlex.quote(str(it))}" for name, it in given.items() if it is not None]
    return " ".join(words)


def title(agent: Agent, found: Adaptation) -> str:
    config = agent.config
    return (
        f"{config.method} on {config.robot} ({found.body}), {agent.steps:,} steps, seed "
        f"{agent.seed}: damage {found.damage}"
    )


def interrupted(trial: Trial) -> str:
    """What is said of rollouts that did not come to their end; nothing if all did."""
    if not trial.interruptions:
        return ""
    times = f", interrupted {trial.interruptions} times"
    return times if math.isfinite(trial.ret) else f"{times}: no measurement"


def _again(name: str, row: int, it: Again) -> str:
    """Of those that came to their end; how many that is, is said."""
    ret, unsafe, made = it.ret[it.measured], it.unsafe[it.measured], len(it.ret)
    begin = f"  {f'{name}, skill {row}':<36} return "
    if not len(ret):
        return f"{begin}unknown: none of {made} rollouts came to its end"
    count = f"{made}" if len(ret) == made else f"{len(ret)} of {made} that came to their end"
    return (
        f"{begin}{np.median(ret):8.2f}, median of {count} "
        f"({ret.min():.2f} .. {ret.max():.2f}), unsafe {unsafe.mean():.2f}"
    )
