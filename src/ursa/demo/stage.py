"""The stage: an agent shows skills, is broken, tries a few, and all of it is drawn."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from ursa.adapt import ite
from ursa.adapt.ite import Attempt
from ursa.demo.delivery import delivered
from ursa.demo.drawing import drawn, moving
from ursa.demo.label import of_damage, of_skill, pace
from ursa.demo.refusal import check
from ursa.demo.scene import acting, seen
from ursa.errors import UserError
from ursa.evaluate.crowd import Damages, hurt
from ursa.evaluate.definitions import AGAIN, STEPS, TRIALS
from ursa.evaluate.measure import ruler
from ursa.evaluate.rollout import Rollouts
from ursa.evaluate.tracking import follows
from ursa.repair.command import line, stays
from ursa.repair.play import play
from ursa.repair.prior import candidates, numbers, value
from ursa.robot.registry import robot
from ursa.run.agent import Agent
from ursa.run.compiled import keep_programs
from ursa.show import words

Array = np.ndarray
Say = Callable[[str], None]
SHOWN = 6  # skills
SCOUTS = 24  # rollouts among which they are chosen
BEST = 128  # skills that promise most, from which half of the scouts come
HARDLY = 0.9  # of its return left: a damage that hardly matters
UNSAFE = 0.5  # share of steps from which on that is said


def perform(folder: Path, seed: int | None, damage: str, out: Path, gif: bool, said: Say) -> None:
    """The whole show; the arguments are those of `ursa demo`."""
    keep_programs()
    agent = Agent.load(folder, seed)
    broken = check(agent.config, damage, discovers=agent.repertoire is not None)
    skills, rows = candidates(agent), numbers(agent)
    promised = value(agent, skills)
    known, config = len(agent.skills), agent.config
    said(f"{config.method} on {config.robot}, {agent.steps:,} steps: {known} skills")
    kind = ".gif" if gif else moving()
    with delivered(out) as place:
        show_skills(agent, skills, rows, promised, place / f"skills{kind}", said)
        said(f"{damage} breaks; a few trials:")
        first, chosen = tried(agent, skills, rows, promised, broken)
        said("the same again, five times each, and drawing ...")
        after = show_damage(agent, skills, rows, (first, chosen), broken, place / f"damage{kind}")
        written = sorted(it.name for it in place.iterdir())
    print(table(damage, after, min(TRIALS, len(skills)), same=chosen == first))
    said("done")
    for name in written:
        print(f"-> {out / name}")


def show_skills(
    agent: Agent,
    skills: Float[Array, "n D"],
    numbers: Int[Array, " n"],
    promised: Float[Array, " n"],
    video: Path,
    said: Say,
) -> None:
    """Try some, draw six."""
    rows = scouts(agent, skills, promised)
    said(f"trying {len(rows)} of them at once, {STEPS} steps each ...")
    scene = seen(agent, skills[rows])
    best, velocity = six(agent, scene.rollouts), follows(agent)
    said(f"drawing {len(best)}{', labelled asked → achieved' if velocity else ''} ...")
    labels = [
        of_skill(int(numbers[rows[it]]), skills[rows[it]], scene.rollouts, it, velocity=velocity)
        for it in best
    ]
    drawn(video, scene, best, labels)


def show_damage(
    agent: Agent,
    skills: Float[Array, "n D"],
    numbers: Int[Array, " n"],
    rows: tuple[int, int],
    broken: Damages,
    video: Path,
) -> Rollouts:
    """The old skill before and after the damage, and the one found; of each the middle is drawn."""
    (old, new), velocity = rows, follows(agent)
    harm = words.broken(broken, robot(agent.config.robot))
    cases = [
        ("undamaged", f"skill {numbers[old]}", old, ()),
        (harm, f"old skill {numbers[old]}", old, broken),
        (harm, f"skill {numbers[new]}, found" if new != old else "it stays", new, broken),
    ]
    z = np.repeat([skills[row] for *_, row, _ in cases], AGAIN, axis=0)
    scene = seen(agent, z, [hurts for *_, hurts in cases for _ in range(AGAIN)])
    found = scene.rollouts
    shown = [middle(found.ret, k * AGAIN) for k in range(len(cases))]
    labels = [
        of_damage(what, who, pace(skills[row], found, it, velocity=velocity), found, it)
        for (what, who, row, _), it in zip(cases, shown, strict=True)
    ]
    drawn(video, scene, shown, labels, [hurts for *_, hurts in cases])
    return found


def middle(ret: Float[Array, " m"], first: int) -> int:
    """The row with the median return of the AGAIN from `first` on: the one that a table tells."""
    return first + int(np.argsort(ret[first : first + AGAIN])[AGAIN // 2])


def scouts(agent: Agent, skills: Float[Array, "n D"], promised: Float[Array, " n"]) -> list[int]:
    """Rows to try: half of them spread over all skills, half over those that promise most."""
    half = min(SCOUTS, len(skills)) // 2
    flat = skills @ _whitening(agent).T
    wide = spread(flat, np.ones(len(skills), bool), half)
    best = np.zeros(len(skills), bool)
    best[np.argsort(-promised)[:BEST]] = True
    best[wide] = False
    return [*wide, *spread(flat, best, half)]


def six(agent: Agent, found: Rollouts, count: int = SHOWN) -> list[int]:
    """Rows that differ: safe ones where there are enough, two thirds of them faster ones."""
    flat = found.feature @ _whitening(agent).T
    usable = found.safe if found.safe.sum() >= count else np.ones(len(flat), bool)
    going = spread(
        flat, usable & (found.speed >= found.speed.mean()) & found.moving, 2 * count // 3
    )
    return spread(flat, usable, count, going)


def spread(
    points: Float[Array, "n D"], usable: Bool[Array, " n"], count: int, taken: Sequence[int] = ()
) -> list[int]:
    """Usable rows, each the farthest from all before it; the first is the one farthest out."""
    rows = list(taken)
    free = usable.copy()
    free[rows] = False
    while len(rows) < count and free.any():
        others = points[rows] if rows else points[usable].mean(axis=0, keepdims=True)
        gap = np.linalg.norm(points[:, None] - others[None], axis=2).min(axis=1)
        rows.append(int(np.where(free, gap, -1.0).argmax()))
        free[rows[-1]] = False
    return rows


def tried(
    agent: Agent,
    skills: Float[Array, "n D"],
    numbers: Int[Array, " n"],
    promised: Float[Array, " n"],
    broken: Damages,
) -> tuple[int, int]:
    """The row that promised most before the damage, and the one that trials found; each is told."""
    alone, most = agent.arena(1), min(TRIALS, len(skills))  # no skill is tried twice

    def told(it: Attempt) -> None:
        print(f"  {line(it, most, numbers)}", flush=True)

    try:
        hurt(alone, [broken])
        chart = ite.normalised(skills, promised)
        found = ite.search(
            chart, lambda row: play(alone, acting(agent, skills[[row]])), TRIALS, told=told
        )
    finally:
        alone.close()
    if found.best is None:
        raise UserError("no trial returned a finite number")
    return found.attempts[0].skill, found.best.skill


def table(damage: str, found: Rollouts, tried: int = TRIALS, *, same: bool = False) -> str:
    """Before, broken, and after: medians of fresh rollouts; that it stayed the `same` skill."""
    names = ("before", f"after {damage} broke", f"after {tried} trials")
    lines = [f"{f'median of {AGAIN} rollouts':<28}{'return':>10}{'speed, m/s':>12}{'unsafe':>9}"]
    for k, name in enumerate(names):
        mine = slice(k * AGAIN, (k + 1) * AGAIN)
        ret, speed, unsafe = (np.median(it[mine]) for it in (found.ret, found.speed, found.unsafe))
        lines.append(f"{name:<28}{ret:>10.1f}{speed:>12.2f}{unsafe:>9.2f}")
    before, broken = (np.median(found.ret[k * AGAIN : (k + 1) * AGAIN]) for k in (0, 1))
    if broken > HARDLY * before > 0:
        lines.append(
            f"{damage} hardly matters for this agent: its old skill keeps {broken / before:.0%} of "
            "its return; another --damage may show more"
        )
    unsafe = np.median(found.unsafe[2 * AGAIN : 3 * AGAIN])
    if unsafe > UNSAFE:
        lines.append(f"what was found is unsafe in {unsafe:.0%} of its steps")
    return "\n".join([*lines, *([stays(tried)] if same else [])])


def _whitening(agent: Agent) -> Float[Array, "D D"]:
    found = ruler(agent)
    assert found is not None, "who has no repertoire was refused"
    return found
