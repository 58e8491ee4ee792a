"""Alone: one robot for five hours, as in the paper's laboratory; simulated, emulated, real."""

from ursa.evaluate import shown as seen
from ursa.evaluate.claim import Claim, above
from ursa.evaluate.evidence import Recipe

URSA, DAYDREAMER = "alone-ursa", "alone-daydreamer"
COMMAND = "ursa reproduce alone"
ONE = "one robot, 360 k steps"

SIMULATED = (
    Claim(
        "3",
        f"{ONE}: whole legs in which URSA + ITE is ahead of DayDreamer, of 4",
        Recipe((URSA, DAYDREAMER), seen.legs, seen.wins),
        paper="all but BR (real robot)",
        command=COMMAND,
    ),
    Claim(
        "3",
        f"{ONE}: undamaged return over DayDreamer's",
        Recipe((URSA, DAYDREAMER), seen.whole, seen.ratio),
        "above 1",
        above(1),
        "higher (real robot)",
        COMMAND,
    ),
    *(
        Claim(
            "3",
            f"{ONE}: reward per step in the last quarter of an hour, {name}",
            Recipe((run,), seen.last_reward),
            command=COMMAND,
        )
        for name, run in (("URSA", URSA), ("DayDreamer", DAYDREAMER))
    ),
)
ROBOT = (
    Claim(
        "3",
        "reward per step after five hours of one robot in real time",
        Recipe(("emulated-ursa",), seen.last_reward),
        command="ursa robot train",
        kind="emulated",
    ),
    Claim(
        "3",
        "whole legs in which URSA + ITE is ahead of DayDreamer, of 4",
        Recipe(("real-ursa", "real-daydreamer"), seen.legs, seen.wins),
        paper="all but BR",
        command="ursa robot train",
        kind="real",
    ),
)
