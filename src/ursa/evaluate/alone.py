"""Alone: one robot for five hours, as in the paper's laboratory; simulated, emulated, real."""

from ursa.evaluate import shown as seen
from ursa.evaluate.claim import AGAIN, Claim, above
from ursa.evaluate.evidence import Recipe

URSA, DAYDREAMER = "alone-ursa", "alone-daydreamer"
QUESTION = "alone"
ONE = "one robot, 360 k steps"

SIMULATED = (
    Claim(
        "3",
        f"{ONE}: whole legs in which URSA + ITE is ahead of DayDreamer, of 4",
        Recipe((URSA, DAYDREAMER), seen.legs, seen.wins),
        paper="all but BR (real robot)",
        question=QUESTION,
    ),
    Claim(
        "3",
        f"{ONE}: undamaged return over DayDreamer's",
        Recipe((URSA, DAYDREAMER), seen.whole, seen.ratio),
        "above 1",
        above(1),
        "higher (real robot)",
        QUESTION,
    ),
    *(
        Claim(
            "3",
            f"{ONE}: reward per step in the last quarter of an hour, {name}",
            Recipe((run,), seen.last_reward),
            question=QUESTION,
        )
        for name, run in (("URSA", URSA), ("DayDreamer", DAYDREAMER))
    ),
)
ROBOT = (
    Claim(
        "3",
        "reward per step after five hours of one robot in real time",
        Recipe(("emulated-ursa",), seen.last_reward),
        question="",
        by_hand="ursa robot emulate a1 & ursa robot train --link udp://127.0.0.1:8007 "
        "--acknowledge emulator --preset paper --steps 360000 --out outputs/emulated && "
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
    ),
)
