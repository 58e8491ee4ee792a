"""Believable: whether bodies could do what was seen, and whether it is there in other physics."""

from ursa.evaluate import shown as seen
from ursa.evaluate.claim import DAYDREAMER, DOMINIC, URSA, VELOCITY, Claim, at_most
from ursa.evaluate.evidence import Recipe
from ursa.evaluate.question import elsewhere

FORWARD = {"URSA": URSA, "DOMiNiC": DOMINIC, "DayDreamer": DAYDREAMER}
METHODS = FORWARD | {"URSA, velocity": VELOCITY}
QUESTION = {VELOCITY: "rq3"}  # of a run; of all others rq1
# What ends the name of a folder -> what is measured there.
PHYSICS = {
    "2ms": "median return at 2 ms physics over that at 5 ms",
    "solid": "median return where legs cannot pass through each other over that where they can",
    "pybullet": "median return in PyBullet (unseen physics) over that in MuJoCo",
}


def _bodies() -> list[Claim]:
    """What motors give and feet do, of every method."""
    quantities = (
        (
            "largest joint speed (99th percentile of a rollout) over the motors' no-load speed",
            seen.joint_speed,
            "at most 1",
            at_most(1),
        ),
        (
            "largest torque of a control step over the motors' peak",
            seen.torque,
            "at most 1",
            at_most(1),
        ),
        ("rollouts that leap", seen.leaps, "none", at_most(0)),
        ("power of a moving skill (of velocities: of any), W", seen.power, "", None),
    )
    return [
        Claim(
            "6",
            f"{text}: {name}",
            Recipe((run,), each),
            target,
            holds,
            question=QUESTION.get(run, "rq1"),
        )
        for text, each, target, holds in quantities
        for name, run in METHODS.items()
    ]


def _fooled() -> list[Claim]:
    """What the estimate of the own velocity made up."""
    return [
        Claim(
            "6",
            f"share of {name}'s return that its true speed cannot have earned (a fooled estimate)",
            Recipe((run,), seen.unearned),
        )
        for name, run in FORWARD.items()
    ]


def _other_physics() -> list[Claim]:
    """The same agents, seed by seed, in physics that no training saw."""
    return [
        Claim(
            "6",
            f"{text}: {name}",
            Recipe(
                (elsewhere(run, physics), run),
                seen.median_return,
                seen.ratio,
                alike=False,
                paired=True,
            ),
            question="physics",
        )
        for physics, text in PHYSICS.items()
        for name, run in METHODS.items()
    ]


def _there() -> list[Claim]:
    """What questions 1 and 3 ask, where links collide and in PyBullet."""
    numbers = (
        (URSA, "fastest safe skill, m/s", seen.fastest),
        (URSA, "skills with a safe rollout", seen.safe),
        (URSA, "skills achieved", seen.achieved),
        (VELOCITY, "tracking error, m/s", seen.tracking_error(0)),
        (VELOCITY, "tracking error, rad/s", seen.tracking_error(1)),
    )
    return [
        Claim(
            "6",
            f"{there}: {text}",
            Recipe((elsewhere(run, physics),), each),
            question="physics",
        )
        for physics, there in (("solid", "legs collide"), ("pybullet", "in PyBullet"))
        for run, text, each in numbers
    ]


CLAIMS = (*_bodies(), *_fooled(), *_other_physics(), *_there())
