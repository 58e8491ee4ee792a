"""Shown: the numbers of one seed that claims are made of, and how medians of runs are set against
each other. None where a part was not measured.
"""

from collections.abc import Callable, Iterable

import numpy as np

from ursa.evaluate import coverage, definitions, judged, statistics
from ursa.evaluate.coping import UNDAMAGED, counted
from ursa.evaluate.draw.coverage import covered
from ursa.evaluate.results import Adapted, Results
from ursa.robot.damage import scenarios
from ursa.robot.registry import robot

Array = np.ndarray


def fastest(it: Results) -> float:
    safe = judged.safe(it.skills)
    return float(it.skills.speed[safe].max()) if safe.any() else 0.0


def safe(it: Results) -> float:
    return float(judged.safe(it.skills).mean())


def missed(it: Results) -> float | None:
    return None if not it.delta else float(np.median(judged.miss(it)) / it.delta)


def achieved(it: Results) -> float | None:
    return float(judged.achieved(it).mean()) if judged.knows(it) else None


def coverage_by(protocol: str, which: str) -> Callable[[Results], float]:
    return lambda it: covered(it, robot(it.source.robot), protocol, which)


def rear(it: Results) -> float:
    """Coverage of the planes that both hind legs span, safe rollouts."""
    spec = robot(it.source.robot)
    hind = {f"{leg.name}." for leg in spec.legs if leg.origin[0] < 0}
    own = [any(name.startswith(leg) for leg in hind) for name in spec.joint_names]
    planes = [own[one] and own[other] for one, other in coverage.planes(spec)]
    found = coverage.filled(it.skills.joint_angle[judged.safe(it.skills)], spec)
    return float(found[planes].mean())


def after_damage(it: Results) -> Array | None:
    """The mean return of fresh rollouts after each of the nine damages."""
    return _damaged(it, scenarios("simulated"), _fresh)


def after_trials(it: Results) -> Array | None:
    """What the trials after each of the nine damages count, by the paper."""
    return _damaged(it, scenarios("simulated"), counted)


def whole(it: Results) -> float | None:
    """The same without damage."""
    found = _damaged(it, (UNDAMAGED,), _fresh)
    return None if found is None else float(found[0])


def wins(mine: Array, *others: Array) -> float:
    return float((mine > np.max(others, axis=0)).sum())


def area(mine: Array, *others: Array) -> float:
    """Area under the CCDF, over that of the best of the others."""
    best = max(statistics.ccdf_area(it, "damages") for it in others)
    return statistics.ccdf_area(mine, "damages") / best if best else np.nan


def ratio(mine: float, other: float) -> float:
    return float(mine / other) if other else np.nan


def span_of(column: int) -> Callable[[Results], float]:
    def span(it: Results) -> float:
        true = np.column_stack([it.skills.speed, it.skills.yaw_rate])
        return float(definitions.span(true)[column])

    return span


def tracking_error(column: int) -> Callable[[Results], float | None]:
    def error(it: Results) -> float | None:
        if it.tracking is None or not it.tracking.reachable.any():
            return None
        off = definitions.tracking_error(it.tracking.late, it.tracking.command)
        return float(np.median(off[it.tracking.reachable, column]))

    return error


def first_skill(it: Results) -> float:
    """Median return of the rollouts of a baseline's first skill, which is in the first row."""
    own = (it.skills.z == it.skills.z[:1]).all(axis=1)
    return float(np.median(it.skills.ret[own]))


def joint_speed(it: Results) -> float:
    """The largest 99th percentile of joint speed of any rollout, over the no-load speed."""
    limit = robot(it.source.robot).of_joints("speed").min()
    return float(it.skills.joint_speed.max() / limit)


def torque(it: Results) -> float:
    """The largest torque of any rollout (mean of a control step), over the motor's peak."""
    return float(it.skills.torque.max())


def leaps(it: Results) -> float:
    return float(definitions.leaps(it.skills.airborne).mean())


def power(it: Results) -> float | None:
    """Of the median skill that moves; of velocities, where standing is a skill too, of all."""
    going = judged.moving(it.skills) | (it.source.task == "velocity")
    return float(np.median(it.skills.power[going])) if going.any() else None


def unearned(it: Results) -> float | None:
    """Share of all return that the true speed cannot have earned; of the clipped reward only."""
    asked = it.config["forward"]
    if it.source.task != "forward" or asked["speed"] != "clipped":
        return None
    own = it.skills
    extra = definitions.unearned(own.ret, own.speed, asked["desired_speed"])
    return float(np.nansum(extra) / np.nansum(np.maximum(own.ret, 0.0)))


def median_return(it: Results) -> float:
    return float(np.median(it.skills.ret))


def last_reward(it: Results) -> float | None:
    """Reward per step in the last whole window of the learning curve, a quarter of an hour."""
    if it.curve is None:
        return None
    whole = np.diff(it.curve.steps, prepend=0.0) >= definitions.WINDOW
    return float(it.curve.mean[whole][-1]) if whole.any() else None


def legs(it: Results) -> Array | None:
    """The same without each of the legs."""
    return _damaged(it, robot(it.source.robot).leg_names, _fresh)


def _fresh(one: Adapted) -> float:
    return float(one.again.mean())


def _damaged(it: Results, names: Iterable[str], score: Callable[[Adapted], float]) -> Array | None:
    found = {one.scenario: score(one) for one in it.damages}
    wanted = list(names)
    return np.array([found[name] for name in wanted]) if set(wanted) <= set(found) else None
