"""Told: the results of one agent in a few lines, for a terminal."""

import numpy as np
from jaxtyping import Float

from ursa.evaluate.coverage import coverage
from ursa.evaluate.definitions import (
    achieved,
    distinct,
    leaps,
    moving,
    safe,
    separation,
    tracking_error,
)
from ursa.evaluate.results import Results
from ursa.robot.spec import RobotSpec

Array = np.ndarray
NAMED = 5  # rows that are listed when many are meant


def told(found: Results, spec: RobotSpec) -> str:
    """Who it is, its skills, its damages, its commands, and what is not a number."""
    parts = [
        headline(found, spec),
        skills(found, spec),
        damages(found),
        tracking(found),
        learnt(found),
    ]
    parts.append(nan(found))
    return "\n".join(part for part in parts if part)


def headline(found: Results, spec: RobotSpec) -> str:
    """A robot without legs moves by its own few lines, whatever engine its run was given."""
    source = found.source
    physics = f"{source.engine} at {1e3 * source.tick:g} ms" if spec.legs else "its own physics"
    return (
        f"{source.run} seed {source.seed}: {source.method} on {source.robot} / {source.task}, "
        f"{source.steps:,} steps; {physics}, {len(found.skills.ret)} rollouts"
    )


def skills(found: Results, spec: RobotSpec) -> str:
    """Means are plain: one return that is not a number makes them so, too."""
    it = found.skills
    whole, going = safe(it.unsafe, it.hand), moving(it.speed, it.unsafe, it.hand)
    rows = {
        "return, median": f"{np.median(it.ret):.1f}",
        "return, best": f"{it.ret.max():.1f}",
        "unsafe share of steps": f"{it.unsafe.mean():.4f}",
        "safe rollouts": f"{whole.mean():.3f}",
        "moving skills": f"{going.mean():.3f}",
        "leaps": f"{leaps(it.airborne).mean():.3f}",
    }
    if found.ruler is not None and found.delta is not None:
        off = separation(it.feature, it.z, found.ruler)
        near = achieved(it.feature, it.z, found.ruler, found.delta)
        rows["missed by, median"] = f"{np.median(off):.4f} (threshold {found.delta:.4f})"
        rows["achieved skills"] = f"{near.mean():.3f}"
        rows["distinct"] = f"{distinct(it.feature, found.ruler, found.delta).sum()}"
    if spec.legs:
        for name, which in (("safe rollouts", whole), ("moving skills", going)):
            share = coverage(it.joint_angle[which], spec) if which.any() else 0.0
            rows[f"coverage by {name}"] = f"{share:.4f}"
    return "\n".join(f"  {name:<28}{value}" for name, value in rows.items())


def damages(found: Results) -> str:
    """Returns: of the best candidate, of the trials, and of what was chosen, afresh."""
    if not found.damages:
        return ""
    lines = [f"  {'damage':<14}{'best of all':>14}{'best trial':>14}{'chosen, again':>16}"]
    for it in found.damages:
        lines.append(
            f"  {it.scenario:<14}{it.ret.max():>14.1f}{it.trial_ret.max():>14.1f}"
            f"{it.again.mean():>16.1f}"
        )
    return "\n".join(lines)


def tracking(found: Results) -> str:
    """Errors of the commands that a known skill is near to."""
    it = found.tracking
    if it is None:
        return ""
    assert found.ruler is not None, "commands are followed by who has a repertoire"
    assert found.delta is not None
    kept = it.reachable
    if not kept.any():
        return f"  no command of {len(kept)} is near a known skill"
    speed, yaw = np.median(tracking_error(it.late, it.command)[kept], axis=0)
    whitened = separation(it.late[kept], it.command[kept, None], found.ruler).mean(axis=1)
    return (
        f"  commands: {kept.sum()} of {len(kept)} reachable; median error {speed:.3f} m/s, "
        f"{yaw:.3f} rad/s; within the threshold {(whitened <= found.delta).mean():.3f}"
    )


def learnt(found: Results) -> str:
    """The last window of its learning curve, or that there is none."""
    if found.curve is None:
        return "  no learning curve: its journal (metrics.jsonl) is not where the agent is"
    return f"  reward per step at the end of training {found.curve.mean[-1]:.2f}"


def nan(found: Results) -> str:
    """Where returns are not numbers; nothing if all are."""
    places = {"skills": found.skills.ret}
    for it in found.damages:
        places[it.scenario] = it.ret
        places[f"{it.scenario}, again"] = it.again
    lines = [_which(place, ret) for place, ret in places.items() if not np.isfinite(ret).all()]
    return "\n".join(lines)


def _which(place: str, ret: Float[Array, " m"]) -> str:
    rows = np.flatnonzero(~np.isfinite(ret)).tolist()
    listed = ", ".join(map(str, rows[:NAMED])) + (", ..." if len(rows) > NAMED else "")
    return f"  NOT A NUMBER: {len(rows)} of {len(ret)} returns, {place}, row {listed}"
