"""`ursa look`: what a run has learnt, in two pictures and a small table against chance."""

import itertools
import sys
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ursa import durable, journal
from ursa.evaluate import coverage, figures
from ursa.evaluate.definitions import STEPS
from ursa.evaluate.rollout import Rollouts, aimless, rollout
from ursa.evaluate.skills import chosen
from ursa.robot.number import whole
from ursa.run import pretrained as shipped
from ursa.run.agent import Agent
from ursa.run.compiled import keep_programs

Array = np.ndarray
UPDATED = "actor/loss"  # a run tells of it after an update, and not before


def look(
    folder: Path | None = None,
    /,
    skills: int = 64,
    seed: int | None = None,
    pretrained: str | None = None,
) -> int:
    """See what a run has learnt: its skills in a picture, and a table against random actions.

    Robots start standing and hold one skill each for 250 steps (12.5 s); as many others do
    anything at any time. Writes repertoire.png and coverage.png into the folder.

    Args:
        folder: Where the run was written, or a folder with a published agent.
        skills: How many skills to try, as far from each other as can be.
        seed: Which agent, where several were trained; unset is the first.
        pretrained: An agent that comes with ursa, in place of a folder; pictures go to
            outputs/NAME.
    """
    whole("--skills", skills, least=1)
    source = shipped.source(folder, pretrained)
    shipped.refuse_without_agent(source.agent)
    durable.refuse_unwritable(source.out, "pictures go there; copy the run elsewhere")
    keep_programs()
    _say("loading and compiling, half a minute or so ...")
    agent = Agent.load(source.agent, seed)
    z = chosen(agent, skills)
    place = agent.arena(len(z))
    _say(f"trying {len(z)} rollouts of {STEPS} steps, and as many at random ...")
    feature = agent.feature if agent.repertoire is not None else None
    with journal.Progress(STEPS * len(z)) as progress:
        made = itertools.count(1)
        mine = rollout(
            place,
            agent.policy,
            z,
            feature=feature,
            watch=lambda robots: progress.update(next(made) * robots, {}),
        )
    _say("now at random, then drawing ...")
    chance = aimless(place)
    print(table(agent, mine, chance))
    if said := untrained(agent, source.agent):
        print(said)
    for picture in pictures(agent, source.out, z, mine, chance):
        print(f"-> {picture}")
    return 0


def untrained(agent: Agent, folder: Path) -> str:
    """What to say of an agent that has not learnt yet, or nothing: its numbers look like results.

    It has lived through no more than its random prefill, or its run has told of no update.
    """
    run = folder.parent if folder.absolute().name == "agent" else folder
    events = [event for event in journal.read(run) if event.get("kind") == "train"]
    silent = bool(events) and not any(UPDATED in event for event in events)
    if agent.steps > agent.config.train.prefill and not silent:
        return ""
    return (
        f"UNTRAINED: no update was made yet ({agent.steps:,} steps, the first "
        f"{agent.config.train.prefill:,} are at random). This is what its networks do by chance."
    )


def table(agent: Agent, mine: Rollouts, chance: Rollouts) -> str:
    """Both side by side."""
    spec = agent.arena().body.spec
    rows = {
        "reward per step": lambda it: f"{it.ret.mean() / STEPS:.3f}",
        "safe share of steps": lambda it: f"{1 - it.unsafe.mean():.3f}",
        "rollouts without an unsafe step": lambda it: f"{it.safe.mean():.3f}",
        "forward speed, m/s": lambda it: f"{it.speed.mean():.3f}",
        "fastest, m/s": lambda it: f"{it.speed.max():.3f}",
    }
    if spec.legs:
        rows["coverage of mean joint angles"] = lambda it: (
            f"{coverage.coverage(it.joint_angle, spec):.4f}"
        )
    count = len(mine.ret)
    ours = f"{count} skills" if agent.repertoire is not None else f"{count} rollouts"
    lines = [f"{'':<34}{ours:>14}{f'{count} at random':>16}"]
    lines += [f"{name:<34}{tell(mine):>14}{tell(chance):>16}" for name, tell in rows.items()]
    return "\n".join(lines)


def pictures(
    agent: Agent, folder: Path, z: Float[Array, "m D"], mine: Rollouts, chance: Rollouts
) -> list[Path]:
    """Draw what can be drawn; the paths written."""
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    config, place = agent.config, agent.arena()
    spec = place.body.spec
    title = f"{config.method} on {config.robot}, {agent.steps:,} steps, seed {agent.seed}"
    if agent.repertoire is not None and int(agent.repertoire.filled):
        known = agent.skills
        rest = np.repeat(place.start().observation, len(known), axis=0)
        path = folder / "repertoire.png"
        promised = agent.promised
        value = agent.value(rest, known) if promised is None else promised
        figures.repertoire(path, known, value, z, mine.feature, title)
        written.append(path)
    if spec.legs:
        ours, theirs = (coverage.filled(it.joint_angle, spec) for it in (mine, chance))
        path = folder / "coverage.png"
        figures.coverage(path, spec, ours, theirs, title)
        written.append(path)
    return written


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
