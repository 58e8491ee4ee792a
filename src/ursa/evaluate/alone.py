"""Alone: one robot for five hours, as in the paper's laboratory; simulated, emulated, real."""

from ursa.evaluate import shown as seen
from ursa.evaluate.claim import AGAIN, Claim, above, counted
from ursa.evaluate.evidence import Recipe

SIZES = {
    "alone": "one robot, 360 k steps",
    "small": "one robot, 360 k steps, learner of a laptop's size",
}


def _simulated(question: str, told: str) -> tuple[Claim, ...]:
    ursa, daydreamer = f"{question}-ursa", f"{question}-daydreamer"
    return (
        Claim(
            "3",
            f"{told}: whole legs in which URSA + ITE is ahead of DayDreamer, of 4",
            Recipe((ursa, daydreamer), seen.legs, seen.wins),
            paper="all but BR (real robot)",
            question=question,
            form=counted,
        ),
        Claim(
            "3",
            f"{told}: undamaged return over DayDreamer's",
            Recipe((ursa, daydreamer), seen.whole, seen.ratio),
            "above 1",
            above(1),
            "higher (real robot)",
            question,
        ),
        *(
            Claim(
                "3",
                f"{told}: {what}, {name}",
                Recipe((run,), measure),
                question=question,
            )
            for what, measure in (
                ("reward per step in the last quarter of an hour", seen.last_reward),
                ("share of the return that its true speed cannot have earned", seen.unearned),
                ("rollouts that leap", seen.leaps),
            )
            for name, run in (("URSA", ursa), ("DayDreamer", daydreamer))
        ),
    )


SIMULATED = tuple(claim for size in SIZES.items() for claim in _simulated(*size))
ROBOT = (
    Claim(
        "3",
        "reward per step after five hours of one robot in real time",
        Recipe(("emulated-ursa",), seen.last_reward),
        question="",
        by_hand="ursa robot emulate a1 & ursa robot train --link udp://127.0.0.1:8007 "
        "--acknowledge emulator --preset paper --steps 360000 --settle 0.05 "
        "--out outputs/emulated && "
        f"ursa evaluate outputs/emulated --out {AGAIN}/emulated-ursa",
        kind="emulated",
    ),
    Claim(
        "3",
        "whole legs in which URSA + ITE is ahead of DayDreamer, of 4",
        Recipe(("real-ursa", "real-daydreamer"), seen.legs, seen.wins),
        paper="all but BR",
        question="",
        by_hand="with a robot: docs/robot.md",
        kind="real",
        form=counted,
    ),
)
