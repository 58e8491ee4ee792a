"""Which robots there are, and how to get n of one: by name, by value, or from another package.

A package adds a robot with one RobotSpec value (or a function without arguments that returns
one) and one line in its pyproject.toml:

    [project.entry-points."ursa.robots"]
    spot = "my_package.spot:SPOT"
"""

from collections.abc import Callable, Mapping
from functools import partial

from ursa.errors import UserError, unknown
from ursa.robot.body import Body
from ursa.robot.disturbance import LARGEST_SEED, Disturbance
from ursa.robot.engine import Engine
from ursa.robot.motion import MotionConfig
from ursa.robot.number import number, whole
from ursa.robot.plugin import addressed, called, load, plugins
from ursa.robot.spec import RobotSpec

GROUP = "ursa.robots"
BUILTIN = {
    "a1": partial(addressed, "robot", "ursa.robot.a1:A1"),
    "go2": partial(addressed, "robot", "ursa.robot.go2:GO2"),
    "point": partial(addressed, "robot", "ursa.robot.point:POINT"),
}


def robots() -> Mapping[str, Callable[[], RobotSpec]]:
    """Every robot by name, with the function that loads its spec; listing loads none."""
    return {name: partial(robot, name) for name in {**BUILTIN, **plugins("robot", GROUP)}}


def robot(name: str) -> RobotSpec:
    """The spec of a robot: "a1", a name that a package declares, or "package.module:NAME"."""
    value = load("robot", GROUP, BUILTIN, name, RobotSpec)
    spec = called("robot", name, value) if callable(value) else value
    if not isinstance(spec, RobotSpec):
        raise UserError(
            f'robot "{name}" is a {type(spec).__name__}; want a RobotSpec value, or a function '
            "without arguments that returns one"
        )
    return spec


def body(
    robot: str | RobotSpec,
    count: int = 1,
    *,
    engine: str = "mujoco",
    tick: float | None = None,
    threads: int = 0,
    motion: MotionConfig | None = None,
    disturbance: Disturbance | None = None,
    settle: float = 0.0,
    seed: int = 0,
) -> Body:
    """`count` robots, ready to step.

    `tick` is the physics step in seconds; None is the engine's own (mujoco 5 ms, pybullet 2 ms).
    In `solid`, which is MuJoCo too, a robot's links collide with each other as well.
    `settle` (s; 0.05 is a good value) makes a robot that lies sure that it rests, so that pawing
    the floor now and then passes less for travelling; 0 leaves that out, as in the agents that
    ship.
    `threads` 0 is all cores. `seed` is the chance behind `disturbance`.
    """
    spec = _spec(robot)
    if engine not in ENGINES:
        raise unknown("engine", str(engine), ENGINES)
    if tick is not None:
        number("tick", tick, above=0)
    number("settle", settle, least=0)
    whole("threads", threads, least=0)
    whole("seed", seed, least=0, most=LARGEST_SEED)
    for name, value, kind in (
        ("motion", motion, MotionConfig),
        ("disturbance", disturbance, Disturbance),
    ):
        if value is not None and not isinstance(value, kind):
            raise UserError(f"{name} = {value!r}: want a {kind.__name__}, or None for the default")
    if not spec.legs:
        if engine != "mujoco":  # the default, which says nothing
            raise UserError(f"{spec.name} has a body of its own, no {engine}: leave out the engine")
        if settle:
            raise UserError(f"{spec.name} estimates no velocity: leave out settle")
        return _legless(spec, count, motion, disturbance)
    from ursa.robot.legged import LeggedBody

    motion = motion or MotionConfig()
    rate = {} if tick is None else {"tick": tick}
    physics = ENGINES[engine](spec, count, threads, clip=motion.clip, **rate)
    return LeggedBody(
        physics, motion_config=motion, disturbance=disturbance, settle=settle, seed=seed
    )


def _spec(robot_or_name: str | RobotSpec) -> RobotSpec:
    if isinstance(robot_or_name, RobotSpec):
        return robot_or_name
    if not isinstance(robot_or_name, str):
        raise UserError(
            f"robot = {robot_or_name!r}: want a name ({', '.join(sorted(robots()))}) or a RobotSpec"
        )
    return robot(robot_or_name)


def _legless(
    spec: RobotSpec, count: int, motion: MotionConfig | None, disturbance: Disturbance | None
) -> Body:
    from ursa.robot.point import POINT, PointBody

    if spec != POINT:
        raise UserError(
            f"robot {spec.name} has no legs, and of those URSA can only build the point; "
            "give the spec legs, or write a Body of your own (ursa robot check tests it)"
        )
    if motion is not None or disturbance is not None:
        raise UserError("the point has neither motion stages nor disturbances: leave them out")
    return PointBody(count)


def _mujoco(spec: RobotSpec, count: int, threads: int, **options) -> Engine:
    from ursa.robot.simulator import MuJoCoEngine

    return MuJoCoEngine(spec, count, threads=threads, **options)


def _pybullet(spec: RobotSpec, count: int, threads: int, **options) -> Engine:
    from ursa.robot.bullet import BulletEngine  # one thread per robot world, none to choose

    return BulletEngine(spec, count, **options)


SOLID = "solid"  # MuJoCo where legs do not pass through each other
ENGINES: Mapping[str, Callable[..., Engine]] = {
    "mujoco": _mujoco,
    SOLID: partial(_mujoco, solid=True),
    "pybullet": _pybullet,
}
ALIKE = {"mujoco", SOLID}  # engines of one family: a tick of one suits the other


def tick_in(engine: str, trained: str, tick: float) -> float | None:
    """The tick of a training, where another engine can keep it; None is that engine's own."""
    return tick if engine == trained or {engine, trained} <= ALIKE else None
