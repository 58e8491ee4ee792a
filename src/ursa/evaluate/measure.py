"""Measuring one agent: everything that tables and figures are made of, as one `Results`."""

from pathlib import Path

import numpy as np
from jaxtyping import Float

from ursa.evaluate import curve, damage, definitions, tracking
from ursa.evaluate.crowd import Crowd
from ursa.evaluate.damage import Adapt, Candidates
from ursa.evaluate.results import Adapted, Results, Source, Tracked, Tried, settings
from ursa.evaluate.rollout import Rollouts, Watch
from ursa.evaluate.skills import known, promised
from ursa.evaluate.study import Job, Study, job
from ursa.run.agent import Agent
from ursa.skill.distance import METRICS
from ursa.skill.table import under

Array = np.ndarray
WHITENED = METRICS["whitened"]  # in which the definitions measure


def measure(
    agent: Agent,
    study: Study | None = None,
    *,
    run: Path | None = None,
    watch: Watch | None = None,
    adapt: Adapt | None = None,
    yardstick: Agent | None = None,
) -> Results:
    """All that a study asks for; `run` is the folder the agent comes from, for its learning curve.

    `adapt` chooses after damage; unset is trial and error on a repertoire, and trying all else.
    By the features of `yardstick` the skills of a method without features are told apart.
    """
    return carried_out(job(agent, study or Study(), yardstick), run=run, watch=watch, adapt=adapt)


def carried_out(
    work: Job, *, run: Path | None = None, watch: Watch | None = None, adapt: Adapt | None = None
) -> Results:
    """The results of a job."""
    agent, study, config = work.agent, work.study, work.agent.config
    discovers = agent.repertoire is not None
    teller = agent if discovers else work.yardstick
    crowd = Crowd(
        place=work.place,
        policy=agent.policy,
        feature=teller.feature if teller is not None else None,
        chunk=work.chunk,
        seed=study.seed,
        watch=watch,
    )
    skills = crowd.rollouts(work.z, np.arange(len(work.z)))
    value = promised(agent, work.z)
    damages = _damages(crowd, work, skills.ret, value, adapt)
    tracked, notes = _tracking(crowd, work)
    returns = [skills.ret, *(it.ret for it in damages), *(it.again for it in damages)]
    return Results(
        source=Source(
            run=run.resolve().name if run is not None else "",
            method=config.method,
            robot=config.robot,
            task=config.task,
            seed=agent.seed,
            steps=agent.steps,
            engine=work.engine,
            tick=work.tick,
        ),
        config=settings(config),
        delta=delta(agent),
        ruler=ruler(agent),
        skills=tried(work.z, value, skills),
        damages=damages,
        tracking=tracked,
        curve=curve.learnt(run, agent.seed, config.seeds) if run else None,
        notes=notes
        | {
            "nonfinite": float(sum((~np.isfinite(it)).sum() for it in returns)),
            "known": float(known(agent)),
            "drawn": float(max(0, len(work.z) - known(agent)) if discovers else 0),
        }
        | distinct(work, skills),
    )


def distinct(work: Job, skills: Rollouts) -> dict[str, float]:
    """How many skills of a method without features are distinct by those of the yardstick."""
    if work.yardstick is None:
        return {}
    measure, threshold = ruler(work.yardstick), delta(work.yardstick)
    assert measure is not None
    assert threshold is not None
    once = skills.feature[: known(work.agent)]  # the first rows are every skill once
    return {"distinct": float(definitions.distinct(once, measure, threshold).sum())}


def tried(z: Float[Array, "m D"], value: Float[Array, " m"], found: Rollouts) -> Tried:
    """Rollouts as a results file keeps them."""
    return Tried(
        z=z,
        ret=found.ret,
        value=value,
        feature=found.feature,
        joint_angle=found.joint_angle,
        speed=found.speed,
        yaw_rate=found.yaw_rate,
        unsafe=found.unsafe,
        airborne=found.airborne,
        joint_speed=found.joint_speed,
        torque=found.torque,
        power=found.power,
        hand=found.hand,
    )


def delta(agent: Agent) -> float | None:
    """The threshold its skills are judged by: whitened, whatever metric they were learnt with."""
    if agent.repertoire is None:
        return None
    fixed = agent.config.skill.fixed_delta  # in units of its own metric
    if fixed and agent.repertoire.metric == WHITENED:
        return fixed
    return float(under(agent.repertoire, WHITENED).delta)


def ruler(agent: Agent) -> Float[Array, "D D"] | None:
    """What turns offsets between features into units of the threshold."""
    if agent.repertoire is None:
        return None
    return np.asarray(under(agent.repertoire, WHITENED).ruler, float)


def _damages(
    crowd: Crowd,
    work: Job,
    undamaged: Float[Array, " m"],
    value: Float[Array, " m"],
    adapt: Adapt | None,
) -> tuple[Adapted, ...]:
    if not work.cases:
        return ()
    z = work.z[: work.rows]
    if adapt is None:
        discovers = work.agent.repertoire is not None
        search = damage.by_search(z, value[: work.rows], work.study.trials) if discovers else None
        adapt = search or damage.by_trying_all
    candidates = Candidates(z=z, skills=min(known(work.agent), work.rows), adapt=adapt)
    return damage.adapted(
        crowd.rollouts, candidates, work.cases, undamaged[: work.rows], again=work.study.again
    )


def _tracking(crowd: Crowd, work: Job) -> tuple[Tracked | None, dict[str, float]]:
    """The tracking map, and how far the robot's own idea of its velocity is from the truth."""
    measure, threshold = ruler(work.agent), delta(work.agent)
    if not work.follows or measure is None or threshold is None:
        return None, {}
    study = work.study
    found, lived = tracking.tracked(
        crowd.rollouts,
        work.agent.skills.astype(float),
        measure,
        threshold,
        study.grid,
        study.repeats,
    )
    gap = np.median(np.abs(lived.feature - np.column_stack([lived.speed, lived.yaw_rate])), axis=0)
    return found, {"estimate_gap/speed": float(gap[0]), "estimate_gap/yaw_rate": float(gap[1])}
