"""Question: what the paper asks, and which runs answer it, as data."""

from collections.abc import Mapping
from dataclasses import dataclass

SEEDS = 5
FULL = ("paper", "literal")  # presets as large as the paper


@dataclass(frozen=True)
class Question:
    """One question; its runs and figures name it."""

    asks: str
    chapter: str  # of the report; questions that share their runs share one
    among: str = ""  # a list of scenarios: of all that were measured, only these are shown


QUESTIONS: Mapping[str, Question] = {
    "rq1": Question("does URSA discover diverse, high-performing locomotion by itself?", "forward"),
    "rq2": Question("can its skills be reused after damage?", "forward"),
    "alone": Question(
        "what does one robot learn in five hours, and what is left of it after damage?",
        "alone",
        among="real",
    ),
    "rq3": Question("can skills that are velocities be commanded?", "velocity"),
}


@dataclass(frozen=True)
class Run:
    """A training that questions need; all its seeds in one program."""

    name: str
    task: str
    questions: tuple[str, ...]
    words: tuple[str, ...]  # of `ursa train`, beside preset, seeds and place
    training: int  # minutes, preset paper, all seeds, one H200: an estimate
    measuring: int  # minutes, all seeds, two cores: an estimate
    seeds: int = SEEDS  # of the paper
    least: int = SEEDS  # seeds with which results are enough to be drawn
    yardstick: str = ""  # a shipped agent by whose features distinct skills are counted
    full: tuple[str, ...] = ()  # further words, where the preset is as large as the paper


# The paper's five hours of a real robot: 20 steps a second.
HOURS = ("--train.steps", "360000", "--train.steps-per-update", "8")
RUNS = (
    Run("forward-ursa", "forward", ("rq1", "rq2"), ("--method", "ursa"), 25, 30),
    Run(
        "forward-dominic",
        "forward",
        ("rq1", "rq2"),
        ("--method", "dominic"),
        25,
        8,
        yardstick="a1-forward",
    ),
    Run("forward-daydreamer", "forward", ("rq1", "rq2"), ("--method", "daydreamer"), 25, 8),
    *(
        Run(
            f"alone-{method}",
            "forward",
            ("alone",),
            ("--method", method, "--train.robots", "1"),
            30,
            measuring,
            seeds=2,
            full=HOURS,
        )
        for method, measuring in (("ursa", 12), ("daydreamer", 3))
    ),
    Run(
        "velocity-ursa",
        "velocity",
        ("rq3",),
        ("--method", "ursa", "--skill.feature", "identity"),
        25,
        40,
        least=2,
    ),
)


def needed(asked: tuple[str, ...]) -> list[Run]:
    """The runs that these questions need."""
    return [run for run in RUNS if set(run.questions) & set(asked)]
