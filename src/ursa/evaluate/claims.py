"""Claims: what the runs should show, as data; what they do show is filled in from `results/`.

The paper's value is given where the paper gives one. What nobody has run says so.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ursa.evaluate import alone, believable
from ursa.evaluate import shown as seen
from ursa.evaluate.claim import (
    DAYDREAMER,
    DOMINIC,
    FRONT,
    NO_VALUE,
    URSA,
    VELOCITY,
    Claim,
    Told,
    above,
    at_least,
    at_most,
    below,
    counted,
)
from ursa.evaluate.evidence import Recipe, made, read
from ursa.evaluate.results import Results
from ursa.evaluate.statistics import NotFinite


def filled(folder: Path, question: str | None = None) -> list[Told]:
    """The claims about a question, unset is every claim, from the results in a folder alone."""
    asked = [it for it in CLAIMS if question in (None, it.question)]
    seeds = read(folder, [run for it in asked for run in it.recipe.runs])
    return [_told(claim, seeds) for claim in asked]


def _told(claim: Claim, seeds: Mapping[str, Sequence[Results]]) -> Told:
    try:
        return Told(claim, made(claim.recipe, seeds, claim.text))
    except NotFinite as error:
        return Told(claim, f"undefined: {error}")


def _over(
    protocol: str, which: str, other: str, text: str, target: float, paper: str = NO_VALUE
) -> Claim:
    """Coverage of URSA in units of another method's."""
    told = f"at least {target:g} times (aim: 8)" if target > 1 else "above 1"
    holds = at_least(target) if target > 1 else above(1)
    recipe = Recipe((URSA, other), seen.coverage_by(protocol, which), seen.ratio)
    return Claim("2", text, recipe, told, holds, paper)


ONCE = (
    "as the paper counts: every skill once, safe or not (of our 4,096 skills the 512 most spread "
    "out)"
)
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "1",
        "fastest safe skill, m/s",
        Recipe((URSA,), seen.fastest),
        "at least 0.3",
        at_least(0.3),
    ),
    Claim(
        "1",
        "skills with a safe rollout",
        Recipe((URSA,), seen.safe),
        "at least 0.7",
        at_least(0.7),
    ),
    Claim(
        "1",
        "skills are missed by, in thresholds",
        Recipe((URSA,), seen.missed),
        "at most 2",
        at_most(2),
    ),
    Claim("1", "skills achieved", Recipe((URSA,), seen.achieved), "at least 0.4", at_least(0.4)),
    _over("equal", "safe", DOMINIC, "coverage over DOMiNiC's, 512 rollouts each", 4),
    _over("equal", "safe", DAYDREAMER, "coverage over DayDreamer's, 512 rollouts each", 4),
    _over("equal", "moving", DOMINIC, "the same, moving skills only, DOMiNiC", 4),
    _over("equal", "moving", DAYDREAMER, "the same, moving skills only, DayDreamer", 4),
    _over("few", "safe", DOMINIC, "8 skills against DOMiNiC's 8", 1),
    _over("few", "safe", DAYDREAMER, "8 skills against DayDreamer's one, 8 times", 1),
    _over("paper", "every", DOMINIC, f"coverage over DOMiNiC's, {ONCE}", 4, "4 times"),
    _over("paper", "every", DAYDREAMER, f"coverage over DayDreamer's, {ONCE}", 4, "4 times"),
    Claim(
        "3",
        "damages in which URSA + ITE is ahead of both baselines, of 9",
        Recipe((URSA, DOMINIC, DAYDREAMER), seen.after_damage, seen.wins),
        "at least 5 (aim: 8)",
        at_least(5),
        "upper-leg joints yes; whole legs no (DOMiNiC)",
        "rq2",
        form=counted,
    ),
    Claim(
        "3",
        "the same, as the paper counts: best of the eight trials (of DayDreamer's one skill, their "
        "mean)",
        Recipe((URSA, DOMINIC, DAYDREAMER), seen.after_trials, seen.wins),
        "at least 5 (aim: 8)",
        at_least(5),
        "upper-leg joints yes; whole legs no (DOMiNiC)",
        "rq2",
        form=counted,
    ),
    Claim(
        "3",
        "area under the CCDF over the better baseline's",
        Recipe((URSA, DOMINIC, DAYDREAMER), seen.after_damage, seen.area),
        "above 1",
        above(1),
        "less degradation overall",
        "rq2",
    ),
    Claim(
        "3",
        "undamaged return over DayDreamer's",
        Recipe((URSA, DAYDREAMER), seen.whole, seen.ratio),
        "at least 1",
        at_least(1),
        "higher (real robot)",
        "rq2",
    ),
    *alone.SIMULATED,
    *(
        Claim(
            "4",
            text,
            Recipe((VELOCITY,), each),
            target,
            holds,
            paper,
            "rq3",
        )
        for text, each, target, holds, paper in (
            (
                "span in forward speed, m/s",
                seen.span_of(0),
                "at least 0.6",
                at_least(0.6),
                "broad",
            ),
            ("span in yaw rate, rad/s", seen.span_of(1), "at least 1.2", at_least(1.2), "broad"),
            (
                "tracking error, m/s",
                seen.tracking_error(0),
                "at most 0.1",
                at_most(0.1),
                "grows away from zero",
            ),
            (
                "tracking error, rad/s",
                seen.tracking_error(1),
                "at most 0.2",
                at_most(0.2),
                "grows away from zero",
            ),
        )
    ),
    Claim(
        "5",
        "DayDreamer's speed, m/s",
        Recipe((DAYDREAMER,), lambda it: float(np.median(it.skills.speed))),
        "at least 0.3",
        at_least(0.3),
    ),
    Claim(
        "5",
        "return of DOMiNiC's skill 0 over DayDreamer's",
        Recipe((DOMINIC, DAYDREAMER), seen.first_skill, seen.ratio),
        "at least 0.9",
        at_least(0.9),
        "constraint: 0.9",
    ),
    Claim(
        "5",
        "distinct skills of DOMiNiC's 8",
        Recipe((DOMINIC,), lambda it: it.notes.get("distinct")),
        "at least 6",
        at_least(6),
        form=counted,
    ),
    *believable.CLAIMS,
    Claim(
        "7",
        "coverage of hind legs when phi reads front legs only, over that of all",
        Recipe((FRONT, URSA), seen.rear, seen.ratio),
        "below 1",
        below(1),
        "would likely be less",
        "front",
    ),
    *alone.ROBOT,
)
