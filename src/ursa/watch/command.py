"""`ursa watch`: a robot follows a script or a skill, and one sees it on a sheet or in a video."""

from pathlib import Path

from ursa.errors import UserError
from ursa.robot import damage as wounds
from ursa.run import pretrained as shipped
from ursa.show import gl
from ursa.show.watch import Role, scripted, show

SCRIPT, SKILL = 4.0, 12.5  # seconds; the second is a rollout, as `ursa look` makes them


def watch(
    folder: Path | None = None,
    /,
    *,
    skill: int | None = None,
    pretrained: str | None = None,
    robot: str | None = None,
    script: str | None = None,
    seconds: float | None = None,
    damage: str = wounds.SOUND,
    damage_at: float = 0.0,
    engine: str | None = None,
    tick: float | None = None,
    seed: int | None = None,
    out: Path = Path("watch.png"),
    frames: int = 6,
    fps: float | None = None,
    width: int = 640,
    height: int = 480,
    camera: str = "follow",
    plain: bool = False,
) -> None:
    """See a robot move, without a screen: a sheet of pictures (.png) or a video (.mp4, .gif).

    The robot starts standing and follows a script, or one skill of a trained agent, through the
    same motors, filters and limits. Parts that are damaged are drawn red. The floor's tiles are
    half a metre wide, and the orange hips are in front. At the end it says how fast it went along
    its heading and turned, of a skill after its first 2.5 s, and how far it came.

      ursa watch --script trot --out trot.mp4
      ursa watch --damage FL.upper:limp --damage-at 2 --camera left
      ursa watch outputs/a1 --skill 12 --out skill.mp4
      ursa watch --pretrained a1-forward --damage BL --damage-at 5

    Args:
        folder: Where a run was written, or a folder with a published agent: it acts, without the
            noise of exploring, instead of a script. Baselines (daydreamer, dominic) do too.
        skill: Which skill of the agent, from 0: a row of Agent.skills; `ursa demo` and `ursa
            adapt` print these numbers. Unset is the one that promises most.
        pretrained: An agent that comes with ursa, in place of a folder.
        robot: Which robot follows a script: a1, go2, one that another package adds, or
            package.module:NAME; unset is a1. An agent has its own.
        script: What it does: stand, random (any joint target at any time) or trot; unset, and
            without an agent, it is trot.
        seconds: For how long, in simulated time; unset is 4, with an agent 12.5.
        damage: What is broken, for example FL.upper, FR+BL, FL.upper:limp, FL:weak=0.5 or
            FL.upper:locked=0.9. A joint without a kind is frozen at its nominal angle.
        damage_at: When it breaks, in seconds from the start.
        engine: Whose physics: mujoco, solid (where links of a robot cannot pass through each other)
            or pybullet; unset is mujoco, with an agent the one it was trained with.
        tick: Physics step in seconds; unset is the engine's own (mujoco 0.005; 0.002 is finer),
            with an agent that of its training, in PyBullet that of PyBullet.
        seed: Which agent, where several were trained; unset is the first. Without an agent it is
            the chance behind the script random; unset is 0.
        out: File to write; its end chooses the kind: .png, .gif or .mp4. It is overwritten.
        frames: Pictures on a .png sheet, evenly spread; 1 is the last moment only.
        fps: Pictures per second of a .gif or .mp4; unset is one per control step, which is the
            most there can be.
        width: Pixels of one picture.
        height: Pixels of one picture.
        camera: From where: follow (its right, ahead), left, side, front or above.
        plain: Leave out the line that gives time, distance and damage.
    """
    if folder is None and pretrained is None:
        role = _script(robot, script, skill, engine, tick, seed)
        usual = SCRIPT
    else:
        _refuse_script(folder or pretrained, robot=robot, script=script)
        role = _skill(folder, pretrained, seed, skill, engine, tick)
        usual = SKILL
    show(
        role,
        seconds=usual if seconds is None else seconds,
        damage=damage,
        damage_at=damage_at,
        out=out,
        frames=frames,
        fps=fps,
        width=width,
        height=height,
        camera=camera,
        plain=plain,
    )


def _script(
    robot: str | None,
    script: str | None,
    skill: int | None,
    engine: str | None,
    tick: float | None,
    seed: int | None,
) -> Role:
    """What is done by script."""
    if skill is not None:
        raise UserError(
            f"skill = {skill}, but a script has no skills: give the folder of a run as well, or "
            "--pretrained NAME"
        )
    return scripted(
        "a1" if robot is None else robot,
        "trot" if script is None else script,
        engine="mujoco" if engine is None else engine,
        tick=tick,
        seed=0 if seed is None else seed,
    )


def _skill(
    folder: Path | None,
    pretrained: str | None,
    seed: int | None,
    skill: int | None,
    engine: str | None,
    tick: float | None,
) -> Role:
    """What an agent has learnt."""
    place = shipped.source(folder, pretrained).agent
    shipped.refuse_without_agent(place)  # by the files alone, before JAX is loaded
    gl.backend()  # before a simulator is imported: one that cannot draw breaks that import
    from ursa.watch.skill import learnt  # late: a script needs no JAX

    return learnt(folder, pretrained, seed, skill, engine=engine, tick=tick)


def _refuse_script(agent: Path | str | None, **given: str | None) -> None:
    """An agent comes with its robot, and decides by itself."""
    for name, value in given.items():
        if value is not None:
            raise UserError(
                f'{name} = "{value}" beside the agent {agent}, which has its own robot and decides '
                f"by itself: leave out --{name}, or the agent"
            )
