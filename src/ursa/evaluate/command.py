"""`ursa evaluate`: measure every agent of a run, one file of raw numbers each."""

import sys
from dataclasses import replace
from pathlib import Path

from ursa import durable
from ursa.errors import UserError
from ursa.evaluate import beside, results
from ursa.evaluate.measure import carried_out
from ursa.evaluate.study import FAILURES, QUICK, Study, job, refuse_unfinished
from ursa.evaluate.told import told
from ursa.journal import Progress
from ursa.robot import registry
from ursa.run import folder as runs
from ursa.run import pretrained as shipped
from ursa.run import publish, settings
from ursa.run.agent import Agent, no_seed
from ursa.run.compiled import keep_programs

RESULTS = "results"


def evaluate(
    folder: Path | None = None,
    /,
    skills: int | None = None,
    seed: int | None = None,
    body: str | None = None,
    tick: float | None = None,
    failure: str = FAILURES[0],
    no_damages: bool = False,
    quick: bool = False,
    out: Path | None = None,
    unfinished: bool = False,
    quiet: bool = False,
    pretrained: str | None = None,
    yardstick: str | None = None,
) -> int:
    """Measure a run: what its skills return, also after damage, and how well they are followed.

    Robots start standing and hold one skill each for 250 steps (12.5 s): 512 of them, then again
    under each of nine damages, where eight trials choose a skill; where skills are velocities,
    a grid of commands. Minutes for each seed. Writes raw numbers, one JSON file per seed, from
    which `ursa compare` and `ursa report` make tables and figures.

      ursa evaluate outputs/a1
      ursa evaluate outputs/a1 --quick                       an impression in a minute
      ursa evaluate outputs/a1 --body pybullet --quick       physics that no training saw

    Args:
        folder: Where the run was written, or a folder with a published agent.
        skills: How many rollouts without damage, at least 8; unset is 512 (with --quick 64).
        seed: Which agent, where several were trained; unset is all.
        body: Whose physics: mujoco, solid (the same, but links of a robot cannot pass through each
            other) or pybullet; unset is the one it was trained with.
        tick: Physics step in seconds; unset is that of the training, or of another body its own.
        failure: How joints fail in the damages: frozen at their nominal angle, or limp.
        no_damages: Leave out the nine damages, which take nine tenths of the time.
        quick: Fewer skills and commands: an impression, not what claims are made by.
        out: Folder for the files; unset is "results" in the run's folder, with what differs from
            the default in its name. One that holds results of other settings, or measured
            otherwise, is refused.
        unfinished: Measure a run that was stopped before its end.
        quiet: No progress line.
        pretrained: An agent that comes with ursa, in place of a folder; its results go to
            outputs/NAME/results.
        yardstick: An agent of ursa (its name or folder) whose features and threshold tell how many
            skills of a method without features, as dominic, are distinct; unset is: not counted.
    """
    source = shipped.source(folder, pretrained)
    folder = source.agent
    usual = QUICK if quick else Study()
    many = usual.skills if skills is None else skills
    study = replace(usual, skills=many, engine=body, tick=tick, failure=failure)
    study = replace(study, damages={}) if no_damages else study
    place = out if out is not None else source.out / inside(study, quick=quick)
    shipped.refuse_without_agent(folder)
    durable.refuse_unwritable(place)
    keep_programs()
    if not quiet:
        print("loading and compiling, half a minute or so ...", file=sys.stderr, flush=True)
    ruler = None if yardstick is None else Agent.load(yardstick)
    jobs = [job(agent, study, ruler) for agent in agents(folder, seed, unfinished=unfinished)]
    if out is not None:
        beside.refuse_strangers(place, jobs)
    with Progress(sum(it.steps for it in jobs), quiet=quiet) as progress:
        done, said = 0, ""
        for work in jobs:
            if said:
                print(said, flush=True)

            def watch(steps: int, seed: int = work.agent.seed) -> None:
                nonlocal done
                done += steps
                progress.update(done, {"seed": seed})

            found = carried_out(work, run=folder, watch=watch)
            path = place / results.name(found.source.seed)
            with durable.room_for(path.name, place, 0):
                results.save(found, path)
            said = f"{told(found, registry.robot(found.source.robot))}\n-> {path}"
    print(said, flush=True)  # below the last line of progress
    return 0


def agents(folder: Path, seed: int | None, *, unfinished: bool) -> list[Agent]:
    """The agents to measure, all of them sound, or one error."""
    place = runs.published(folder)
    file = place / runs.CONFIG
    first, count = (_whole(file, name) for name in ("seed", "seeds"))
    seeds = range(first, first + count)
    if seed is not None and seed not in seeds:
        raise no_seed(folder, seed, seeds)
    found = []
    for one in seeds if seed is None else [seed]:
        publish.refuse_other_format(place / f"seed_{one}" / runs.AGENT)
        found.append(Agent.load(folder, one))
        if not unfinished:
            refuse_unfinished(folder, found[-1])
    return found


def inside(study: Study, *, quick: bool) -> str:
    """Where in a run's folder results go, so that another study does not replace the usual one."""
    words = [study.engine or "", f"{1e3 * study.tick:g}ms" if study.tick else ""]
    words += [study.failure if study.failure != FAILURES[0] else ""]
    words += ["" if study.damages else "undamaged"]
    return "-".join([RESULTS, *filter(None, words), *(["quick"] if quick else [])])


def _whole(file: Path, name: str) -> int:
    """A whole number of a run's settings, read before anything heavy is."""
    try:
        return int(durable.from_json(durable.read_bounded(file, settings.LARGEST_FILE))[name])
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise UserError(f"{file} does not give the settings of a run ({error!r})") from None
