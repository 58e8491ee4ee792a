"""Made-up results of three methods and a few seeds: plausible, repeatable, nobody measured them."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ursa.evaluate import results
from ursa.evaluate.results import Adapted, Curve, Results, Source, Tracked, Tried
from ursa.presets import preset
from ursa.robot.damage import scenarios
from ursa.robot.registry import robot

Array = np.ndarray
SPEC = robot("a1")
UNDAMAGED = "undamaged"
SKILLS = {"ursa": 512, "dominic": 8, "daydreamer": 1}
BEST = {"ursa": 900.0, "dominic": 820.0, "daydreamer": 780.0}  # return of the best skill, whole
SEVERE = {"upper": 0.75, "leg": 0.45, "legs": 0.25}  # what a damage leaves of it
ROLLOUTS, TRIALS, AGAIN, STEPS = 512, 8, 5, 1_000_000


def made(
    method: str = "ursa", seed: int = 0, *, task: str = "forward", rollouts: int = ROLLOUTS
) -> Results:
    """What an evaluation of one seed might have found."""
    rng = np.random.default_rng([seed, sorted(SKILLS).index(method), task == "velocity"])
    distinct = min(SKILLS[method], rollouts)
    skill = skills(rng, distinct, method, task)
    rows = np.arange(rollouts) % distinct
    tried = rolled(rng, skill, rows, method, task)
    whitened = method == "ursa"
    found = Results(
        source=Source(
            run=f"a1-{task}-{method}",
            method=method,
            robot="a1",
            task=task,
            seed=seed,
            steps=STEPS,
            engine="mujoco",
            tick=0.005,
        ),
        config=results.settings(replace(preset("paper"), method=method, task=task, seeds=5)),
        delta=0.07 if whitened else None,
        ruler=np.linalg.inv(np.linalg.cholesky(np.cov(skill.T))) if whitened else None,
        skills=tried,
        curve=learnt(rng, method),
    )
    if task == "velocity":
        return replace(found, tracking=followed(rng, skill, tried))
    names = (UNDAMAGED, *scenarios("simulated"))
    return replace(found, damages=tuple(hurt(rng, name, method, tried, distinct) for name in names))


def there(found: Results, physics: str) -> Results:
    """The same agent as if measured in other physics, as the names of folders have it."""
    engine, tick = {"2ms": ("mujoco", 0.002)}.get(physics, (physics, 0.005))
    return replace(found, source=replace(found.source, engine=engine, tick=tick))


def study(seeds: int = 5, *, task: str = "forward", rollouts: int = ROLLOUTS) -> list[Results]:
    """Three methods (for velocities URSA alone), some seeds of each."""
    methods = ("ursa",) if task == "velocity" else tuple(SKILLS)
    return [made(m, s, task=task, rollouts=rollouts) for m in methods for s in range(seeds)]


def written(folder: Path, found: list[Results]) -> list[Path]:
    """One file each, as an evaluation leaves them: a folder per run."""
    paths = []
    for each in found:
        place = folder / each.source.run
        place.mkdir(parents=True, exist_ok=True)
        paths.append(place / f"seed_{each.source.seed}.json")
        results.save(each, paths[-1])
    return paths


def skills(rng: np.random.Generator, count: int, method: str, task: str) -> Array:
    """Spread over a disc; a baseline's are one-hot."""
    if method != "ursa":
        return np.eye(max(count, 1))
    angle, radius = rng.uniform(0, 2 * np.pi, count), 2 * np.sqrt(rng.uniform(0, 1, count))
    disc = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return disc * (0.2, 0.45) if task == "velocity" else disc


def rolled(rng: np.random.Generator, skill: Array, rows: Array, method: str, task: str) -> Tried:
    """One rollout a row; neighbours in skill space behave alike."""
    m, distinct = len(rows), len(skill)
    plane = skill[:, :2] if method == "ursa" else rng.normal(0, 0.25, (distinct, 2))
    size = np.linalg.norm(plane, axis=1)
    worth = BEST[method] - (230 if method == "ursa" else 60) * size * (1 + 0.3 * plane[:, 0])
    ret = worth[rows] + rng.normal(0, 25, m)
    value = (worth[rows] + rng.normal(0, 70 if method == "ursa" else 15, m)) / 250
    low, high = SPEC.of_joints("low"), SPEC.of_joints("high")
    mix = np.random.default_rng(7).normal(0, 1, (2, len(low)))
    share = 0.5 + 0.16 * np.tanh(plane @ mix)[rows] + rng.normal(0, 0.006, (m, len(low)))
    unsafe = np.where(rng.uniform(size=m) < 0.02 + 0.06 * size[rows], rng.uniform(0, 0.4, m), 0.0)
    z = skill[rows]
    reach = plane[rows] * np.where(size[rows] > 1.4, 0.93, 0.985)[:, None]
    feature = reach + rng.normal(0, 0.03, (m, 2)) * (np.std(plane, axis=0) + 1e-3)
    return Tried(
        z=z,
        ret=ret,
        value=value,
        feature=feature if method == "ursa" else rng.normal(size=(m, 13)),
        joint_angle=low + share * (high - low),
        speed=feature[:, 0] if task == "velocity" else np.maximum(ret / 1100, -0.05),
        yaw_rate=feature[:, 1] if task == "velocity" else rng.normal(0, 0.1, m),
        unsafe=unsafe,
        airborne=rng.uniform(0, 0.05, m),
        joint_speed=rng.uniform(5, 9, m),
        torque=rng.uniform(0.3, 0.9, m),
        power=rng.uniform(40, 80, m),
        hand=np.zeros(m, bool),
    )


def hurt(rng: np.random.Generator, name: str, method: str, tried: Tried, distinct: int) -> Adapted:
    """Damage takes from all skills, from some more than from others; eight trials follow."""
    kind = "legs" if "+" in name else "upper" if "." in name else "leg"
    left = 1.0 if name == UNDAMAGED else SEVERE[kind]
    if method == "dominic" and kind == "leg":
        left += 0.1
    whole = tried.ret[:distinct]
    ret = whole * left * rng.uniform(0.5 if left < 1 else 0.95, 1.05, distinct)
    if distinct > TRIALS:
        luck = rng.choice(np.argsort(ret)[-60:], TRIALS, replace=False)
        order = luck[np.argsort(ret[luck] + rng.normal(0, 60, TRIALS))]
    else:
        order = np.resize(np.arange(distinct), TRIALS)
    trial = ret[order] + rng.normal(0, 15, TRIALS)
    chosen = int(order[trial.argmax()])
    again = ret[chosen] + rng.normal(0, 20, AGAIN)
    return Adapted(scenario=name, ret=ret, tried=order, trial_ret=trial, chosen=chosen, again=again)


def followed(rng: np.random.Generator, skill: Array, tried: Tried) -> Tracked:
    """A grid of commands over the box of all skills; what lies far out is missed more."""
    low, high = skill.min(axis=0), skill.max(axis=0)
    axes = [np.linspace(low[k], high[k], 21) for k in (0, 1)]
    command = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    apart = np.linalg.norm((command[:, None] - skill[None]) / skill.std(axis=0), axis=-1)
    short = 1 - 0.12 * np.abs(command / np.abs(skill).max(axis=0)) ** 2
    noise = rng.normal(0, 0.01, (len(command), 3, 2))
    late = (command * short)[:, None] + noise
    return Tracked(
        command=command,
        reachable=apart.min(axis=1) <= 0.14,
        late=late,
        whole=late * 0.93 + rng.normal(0, 0.005, late.shape),
    )


def learnt(rng: np.random.Generator, method: str) -> Curve:
    """Reward that rises and levels off."""
    steps = np.arange(18_000, STEPS + 1, 18_000, dtype=float)
    top = BEST[method] / 250 * (0.8 if method == "ursa" else 0.95)
    rise = 1 - np.exp(-steps / rng.uniform(1.6e5, 3e5))
    return Curve(
        steps=steps,
        mean=top * rise - 0.2 + rng.normal(0, 0.05, len(steps)),
        deviation=rng.uniform(0.1, 0.4, len(steps)),
    )
