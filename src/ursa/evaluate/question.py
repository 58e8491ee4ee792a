"""Question: what the paper asks, and which runs answer it, as data."""

from collections.abc import Mapping
from dataclasses import dataclass

SEEDS = 5
FULL = ("paper", "literal")  # presets as large as the paper


@dataclass(frozen=True)
class Question:
    """One question; its runs and figures name it."""

    asks: str
    chapter: str = ""  # of the report; questions that share their runs share one; "": only claims
    among: str = ""  # a list of scenarios: of all that were measured, only these are shown


QUESTIONS: Mapping[str, Question] = {
    "rq1": Question("does URSA discover diverse, high-performing locomotion by itself?", "forward"),
    "rq2": Question("can its skills be reused after damage?", "forward"),
    "alone": Question(
        "what does one robot learn in five hours, and what is left of it after damage?",
        "alone",
        among="real",
    ),
    "small": Question(
        "and with a learner so small that a laptop carries it?", "small", among="real"
    ),
    "rq3": Question("can skills that are velocities be commanded?", "velocity"),
    "physics": Question("is all this there in physics that no training saw?"),
    "front": Question("what do hind legs do where phi reads front legs only?"),
}
# What ends the name of a folder -> options of `ursa evaluate`.
PHYSICS: Mapping[str, tuple[str, str]] = {
    "2ms": ("--tick", "0.002"),
    "solid": ("--body", "solid"),
    "pybullet": ("--body", "pybullet"),
}


@dataclass(frozen=True)
class Run:
    """What questions need: agents trained, all seeds in one program, and measured."""

    name: str
    task: str
    questions: tuple[str, ...]
    words: tuple[str, ...]  # of `ursa train`, beside preset, seeds and place
    training: int  # minutes, all seeds, one H200 (with a preset of its own two cores): an estimate
    measuring: int  # minutes, all seeds, two cores: an estimate
    seeds: int = SEEDS
    yardstick: str = ""  # a shipped agent by whose features distinct skills are counted
    full: tuple[str, ...] = ()  # further words, where the preset is as large as the paper
    like_paper: tuple[str, ...] = ()  # and further, where it is `paper`, to be like that in kind
    preset: str = ""  # of its own, there; "": the one that all have
    of: str = ""  # another run, whose agents are measured; "": its own
    study: tuple[str, ...] = ()  # of `ursa evaluate`, beside the usual ones


ONE_ROBOT = ("--train.robots", "1", "--settle", "0.05")  # or it may learn to paw (docs/log.md)
# The paper's five hours of a real robot: 20 steps a second.
HOURS = ("--train.steps", "360000", "--train.steps-per-update", "8")
# Of the size of a laptop, in all else that matters as `paper`.
LIKE_PAPER = ("--behavior.margin", "0.5", "--behavior.constraint-discount", "0.97")
SMALL = (*HOURS, "--train.replay-size", "360000")
FRONT = tuple(f"{leg}.{joint}" for leg in ("FR", "FL") for joint in ("hip", "upper", "lower"))
URSA = Run(
    "forward-ursa", "forward", ("rq1", "rq2", "physics", "front"), ("--method", "ursa"), 25, 30
)
DOMINIC = Run(
    "forward-dominic",
    "forward",
    ("rq1", "rq2", "physics"),
    ("--method", "dominic"),
    25,
    8,
    yardstick="a1-forward",
)
DAYDREAMER = Run(
    "forward-daydreamer", "forward", ("rq1", "rq2", "physics"), ("--method", "daydreamer"), 25, 8
)
VELOCITY = Run(
    "velocity-ursa",
    "velocity",
    ("rq3", "physics"),
    ("--method", "ursa", "--skill.feature", "identity"),
    17,
    16,
    seeds=2,
)


def elsewhere(run: str, physics: str) -> str:
    """The folder of a run's agents in other physics."""
    return f"{run}-{physics}"


def _there(run: Run, physics: str, measuring: int, seeds: int) -> Run:
    """The first `seeds` agents of a run in other physics."""
    one = ("--seed", "0") if seeds == 1 else ()
    return Run(
        elsewhere(run.name, physics),
        run.task,
        ("physics",),
        (),
        0,
        measuring,
        seeds=seeds,
        yardstick=run.yardstick,
        of=run.name,
        study=(*PHYSICS[physics], "--no-damages", *one),
    )


def _alone(
    question: str, words: tuple[str, ...], minutes: Mapping[str, tuple[int, int]], preset: str = ""
) -> list[Run]:
    """Two seeds of one robot, of each method; minutes of training and measuring."""
    return [
        Run(
            f"{question}-{method}",
            "forward",
            (question,),
            ("--method", method, *ONE_ROBOT),
            training,
            measuring,
            seeds=2,
            full=words,
            like_paper=LIKE_PAPER if preset else (),
            preset=preset,
        )
        for method, (training, measuring) in minutes.items()
    ]


RUNS = (
    URSA,
    DOMINIC,
    DAYDREAMER,
    *_alone("alone", HOURS, {"ursa": (30, 12), "daydreamer": (30, 3)}),
    *_alone("small", SMALL, {"ursa": (70, 8), "daydreamer": (55, 3)}, preset="laptop"),
    VELOCITY,
    Run(
        "forward-ursa-front",
        "forward",
        ("front",),
        ("--method", "ursa", "--forward.joints", *FRONT),
        10,
        6,
        seeds=1,
    ),
    *(
        _there(run, physics, measuring, seeds=1 if run is VELOCITY else SEEDS)
        for physics, measuring in (("2ms", 6), ("solid", 6), ("pybullet", 40))
        for run in (URSA, DOMINIC, DAYDREAMER, VELOCITY)
    ),
)


def needed(asked: tuple[str, ...]) -> list[Run]:
    """The runs that these questions need."""
    return [run for run in RUNS if set(run.questions) & set(asked)]


def source(run: Run) -> Run:
    """The run that trains the agents which this one measures."""
    return next(it for it in RUNS if it.name == run.of) if run.of else run
