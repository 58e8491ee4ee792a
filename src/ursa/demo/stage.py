"""The stage: an agent shows skills, is broken, tries a few, and all of it is drawn."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from ursa.adapt import ite
from ursa.adapt.ite import Attempt
from ursa.demo.refusal import HEIGHT, WIDTH, check
from ursa.errors import UserError
from ursa.evaluate.crowd import Damages, hurt
from ursa.evaluate.definitions import AGAIN, SETTLE, STEPS, TRIALS
from ursa.evaluate.rollout import Choose, Rollouts, recorded
from ursa.repair.command import line, stays
from ursa.repair.play import play
from ursa.repair.prior import candidates, numbers, value
from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.run.agent import Agent
from ursa.run.compiled import keep_programs
from ursa.show import film, render

Array = np.ndarray
Say = Callable[[str], None]
SHOWN = 6  # skills
SCOUTS = 24  # rollouts among which they are chosen
BEST = 128  # skills that promise most, from which half of the scouts come
SECONDS, EVERY = 4.0, 2  # of video; control steps from one picture of it to the next
MOMENTS = 3  # of each skill on the strip


@dataclass(frozen=True)
class Scene:
    """What robots did and how they looked, from when they were settled on."""

    rollouts: Rollouts
    readings: tuple[Reading, ...]  # one every EVERY control steps


def perform(folder: Path, seed: int | None, damage: str, out: Path, gif: bool, said: Say) -> None:
    """The whole show; the arguments are those of `ursa demo`."""
    keep_programs()
    agent = Agent.load(folder, seed)
    broken = check(agent.config, damage, discovers=agent.repertoire is not None)
    skills, rows = candidates(agent), numbers(agent)
    promised = value(agent, skills)
    known, robot = len(agent.skills), agent.config.robot
    said(f"{agent.config.method} on {robot}, {agent.steps:,} steps: {known} skills")
    out.mkdir(parents=True, exist_ok=True)
    moving = ".gif" if gif else _moving()
    written = show_skills(agent, skills, rows, promised, (out / "skills").with_suffix(moving), said)
    said(f"{damage} breaks; a few trials:")
    first, chosen = tried(agent, skills, rows, promised, broken)
    said("the same again, five times each, and drawing ...")
    cases = [
        (f"sound, skill {rows[first]}", skills[first], ()),
        (f"{damage}, skill {rows[first]}", skills[first], broken),
        (f"{damage}, skill {rows[chosen]}", skills[chosen], broken),
    ]
    after = seen(
        agent,
        np.repeat([z for _, z, _ in cases], AGAIN, axis=0),
        [hurts for *_, hurts in cases for _ in range(AGAIN)],
    )
    shown = [k * AGAIN for k in range(len(cases))]
    names, hurts = [name for name, *_ in cases], [it for *_, it in cases]
    written += drawn((out / "damage").with_suffix(moving), after, shown, names, hurts)
    print(table(damage, after.rollouts, min(TRIALS, len(skills)), same=chosen == first))
    said("done")
    for path in written:
        print(f"-> {path}")


def show_skills(
    agent: Agent,
    skills: Float[Array, "n D"],
    numbers: Int[Array, " n"],
    promised: Float[Array, " n"],
    video: Path,
    said: Say,
) -> list[Path]:
    """Try some, draw six; the files written."""
    rows = scouts(agent, skills, promised)
    said(f"trying {len(rows)} of them at once, {STEPS} steps each ...")
    scene = seen(agent, skills[rows])
    best = six(agent, scene.rollouts)
    speed = np.round(scene.rollouts.speed, 2) + 0.0  # no minus before nothing
    said(f"drawing {len(best)} ...")
    names = [f"skill {numbers[rows[row]]}   {speed[row]:.2f} m/s" for row in best]
    return drawn(video, scene, best, names)


def scouts(agent: Agent, skills: Float[Array, "n D"], promised: Float[Array, " n"]) -> list[int]:
    """Rows to try: half of them spread over all skills, half over those that promise most."""
    half = min(SCOUTS, len(skills)) // 2
    flat = skills @ _ruler(agent).T
    wide = spread(flat, np.ones(len(skills), bool), half)
    best = np.zeros(len(skills), bool)
    best[np.argsort(-promised)[:BEST]] = True
    best[wide] = False
    return [*wide, *spread(flat, best, half)]


def six(agent: Agent, found: Rollouts, count: int = SHOWN) -> list[int]:
    """Rows that differ: safe ones where there are enough, two thirds of them faster ones."""
    flat = found.feature @ _ruler(agent).T
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


def seen(agent: Agent, z: Float[Array, "m D"], damages: Sequence[Damages] | None = None) -> Scene:
    """Rollouts of skills, one robot each, and pictures' worth of readings."""
    robots = agent.arena(len(z))
    kept: list[Reading] = []
    last = SETTLE + round(SECONDS / robots.body.spec.period)
    act = acting(agent, z)

    def choose(outcome, step: int) -> Array:
        if SETTLE <= step < last and (step - SETTLE) % EVERY == 0:
            kept.append(outcome.reading)
        return act(outcome, step)

    try:
        hurt(robots, damages if damages is not None else [()] * len(z))
        return Scene(recorded(robots, choose, agent.feature), tuple(kept))
    finally:
        robots.close()


def tried(
    agent: Agent,
    skills: Float[Array, "n D"],
    numbers: Int[Array, " n"],
    promised: Float[Array, " n"],
    broken: Damages,
) -> tuple[int, int]:
    """The row that promised most before the damage, and the one that trials found; each is told."""
    robot, most = agent.arena(1), min(TRIALS, len(skills))  # no skill is tried twice

    def told(it: Attempt) -> None:
        print(f"  {line(it, most, numbers)}", flush=True)

    try:
        hurt(robot, [broken])
        chart = ite.normalised(skills, promised)
        found = ite.search(
            chart, lambda row: play(robot, acting(agent, skills[[row]])), TRIALS, told=told
        )
    finally:
        robot.close()
    if found.best is None:
        raise UserError("no trial returned a finite number")
    return found.attempts[0].skill, found.best.skill


def acting(agent: Agent, z: Float[Array, "m D"]) -> Choose:
    """The agent's actions for robots that hold these skills, from their first observation on."""
    agent.reset()
    return lambda outcome, _: agent.act(outcome.observation, z)


def drawn(
    video: Path,
    scene: Scene,
    rows: Sequence[int],
    names: Sequence[str],
    damages: Sequence[Damages] | None = None,
) -> list[Path]:
    """A strip with a column for each row and moments below each other, and a video of all."""
    strip = video.with_suffix(".png")
    hurts = damages if damages is not None else [()] * len(rows)
    spec = scene.readings[0].spec
    side = camera(spec, [it.joint for broken in hurts for it in broken])

    def moment(studio: render.Studio, reading: Reading) -> list[render.Picture]:
        return [
            film.captioned(studio.picture(reading, row, damages=broken), text)
            for row, text, broken in zip(rows, names, hurts, strict=True)
        ]

    last = len(scene.readings) - 1
    few = [scene.readings[round(k)] for k in np.linspace(last / 2, last, MOMENTS)]
    with render.Studio(spec, width=WIDTH, height=HEIGHT, camera=side, smooth=True) as studio:
        pictures = [picture for reading in few for picture in moment(studio, reading)]
    film.save([film.sheet(pictures, columns=len(rows))], strip, 1.0)

    def frames(studio: render.Studio) -> Iterator[render.Picture]:
        for reading in scene.readings:
            yield film.sheet(moment(studio, reading))

    with render.Studio(spec, width=WIDTH, height=HEIGHT, camera=side) as studio:
        film.save(frames(studio), video, 1 / (EVERY * spec.period))
    return [strip, video]


def camera(spec: RobotSpec, joints: Sequence[int]) -> str:
    """From the side on which most of the broken joints are."""
    left = {leg.name for leg in spec.legs if leg.origin[1] > 0}
    names = [spec.joint_names[joint].partition(".")[0] for joint in joints]
    return "left" if 2 * sum(name in left for name in names) > len(names) else "follow"


def table(damage: str, found: Rollouts, tried: int = TRIALS, *, same: bool = False) -> str:
    """Before, broken, and after: medians of fresh rollouts; that it stayed the `same` skill."""
    names = ("before", f"after {damage} broke", f"after {tried} trials")
    lines = [f"{f'median of {AGAIN} rollouts':<28}{'return':>10}{'speed, m/s':>12}{'unsafe':>9}"]
    for k, name in enumerate(names):
        mine = slice(k * AGAIN, (k + 1) * AGAIN)
        ret, speed, unsafe = (np.median(it[mine]) for it in (found.ret, found.speed, found.unsafe))
        lines.append(f"{name:<28}{ret:>10.1f}{speed:>12.2f}{unsafe:>9.2f}")
    return "\n".join([*lines, *([stays(tried)] if same else [])])


def _ruler(agent: Agent) -> Float[Array, "D D"]:
    """Features to whitened units."""
    assert agent.repertoire is not None, "others were refused"
    return np.asarray(agent.repertoire.ruler, float)


def _moving() -> str:
    """What a video is written as: GIF where there is no ffmpeg."""
    try:
        film.ffmpeg()
    except UserError:
        return ".gif"
    return ".mp4"
