"""Claims: what the runs should show, as data; what they do show is filled in from `results/`.

The paper's value is given where the paper gives one. What nobody has run says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ursa.evaluate import judged
from ursa.evaluate import shown as seen
from ursa.evaluate.evidence import Recipe, made, read
from ursa.evaluate.results import Results
from ursa.evaluate.statistics import NotFinite, Summary

NOT_RUN, NO_VALUE = "not run", "-"
KINDS = {
    "simulated": "In simulation",
    "emulated": "On the emulator (a simulated robot behind the real protocol, in real time)",
    "real": "On a real robot",
}
URSA, DOMINIC, DAYDREAMER = "forward-ursa", "forward-dominic", "forward-daydreamer"
VELOCITY, FINE, BULLET = "velocity-ursa", "forward-ursa-2ms", "forward-ursa-pybullet"
FRONT, ALONE, ALONE_DAYDREAMER = "forward-ursa-front", "alone-ursa", "alone-daydreamer"


@dataclass(frozen=True)
class Claim:
    """One line of the table."""

    number: str  # which question it belongs to
    text: str
    recipe: Recipe
    target: str = ""  # "" where a number is only reported
    holds: Callable[[float], bool] | None = None  # of our number
    paper: str = NO_VALUE
    command: str = "ursa reproduce rq1"
    kind: str = "simulated"  # one of KINDS
    scale: float = 1.0


@dataclass(frozen=True)
class Told:
    """A claim with what was found."""

    claim: Claim
    found: Summary | str | None  # text: why there is no number; None: not run

    @property
    def ours(self) -> str:
        if self.found is None:
            return NOT_RUN
        if isinstance(self.found, str):
            return self.found
        said = self.found.said(scale=self.claim.scale)
        return said if self.found.n == 1 else f"{said} (n = {self.found.n})"

    @property
    def verdict(self) -> str:
        if not isinstance(self.found, Summary) or self.claim.holds is None:
            return NO_VALUE
        return "yes" if self.claim.holds(self.found.middle) else "no"


def filled(folder: Path) -> list[Told]:
    """Every claim, from the results in a folder alone."""
    seeds = read(folder, [run for it in CLAIMS for run in it.recipe.runs])
    return [_told(claim, seeds) for claim in CLAIMS]


def _told(claim: Claim, seeds: Mapping[str, Sequence[Results]]) -> Told:
    try:
        return Told(claim, made(claim.recipe, seeds, claim.text))
    except NotFinite as error:
        return Told(claim, f"undefined: {error}")


def _at_least(number: float) -> Callable[[float], bool]:
    return lambda found: found >= number


def _at_most(number: float) -> Callable[[float], bool]:
    return lambda found: found <= number


def _above(number: float) -> Callable[[float], bool]:
    return lambda found: found > number


def _over(protocol: str, which: str, other: str, text: str, target: float, paper: str) -> Claim:
    """Coverage of URSA in units of another method's."""
    told = f"at least {target:g} times" if target > 1 else "above 1"
    holds = _at_least(target) if target > 1 else _above(1)
    recipe = Recipe((URSA, other), seen.coverage_by(protocol, which), seen.ratio)
    return Claim("2", text, recipe, told, holds, paper)


PHYSICS = "ursa evaluate outputs/reproduce/forward-ursa --out results/"
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "1",
        "fastest safe skill, m/s",
        Recipe((URSA,), seen.fastest),
        "at least 0.3",
        _at_least(0.3),
    ),
    Claim(
        "1",
        "skills with a safe rollout",
        Recipe((URSA,), lambda it: float(judged.safe(it.skills).mean())),
        "at least 0.7",
        _at_least(0.7),
    ),
    Claim(
        "1",
        "skills are missed by, in thresholds",
        Recipe((URSA,), seen.missed),
        "at most 2",
        _at_most(2),
    ),
    Claim("1", "skills achieved", Recipe((URSA,), seen.achieved), "at least 0.4", _at_least(0.4)),
    _over("equal", "safe", DOMINIC, "coverage over DOMiNiC's, 512 rollouts each", 4, "4 times"),
    _over(
        "equal", "safe", DAYDREAMER, "coverage over DayDreamer's, 512 rollouts each", 4, "4 times"
    ),
    _over("equal", "moving", DOMINIC, "the same, moving skills only, DOMiNiC", 4, NO_VALUE),
    _over("equal", "moving", DAYDREAMER, "the same, moving skills only, DayDreamer", 4, NO_VALUE),
    _over("few", "safe", DOMINIC, "8 skills against DOMiNiC's 8", 1, NO_VALUE),
    _over("few", "safe", DAYDREAMER, "8 skills against DayDreamer's one, 8 times", 1, NO_VALUE),
    Claim(
        "3",
        "damages in which URSA + ITE is ahead of both baselines, of 9",
        Recipe((URSA, DOMINIC, DAYDREAMER), seen.after_damage, seen.wins),
        "at least 5",
        _at_least(5),
        "upper-leg joints yes; whole legs no (DOMiNiC)",
        "ursa reproduce rq2",
    ),
    Claim(
        "3",
        "area under the CCDF over the better baseline's",
        Recipe((URSA, DOMINIC, DAYDREAMER), seen.after_damage, seen.area),
        "above 1",
        _above(1),
        "less degradation overall",
        "ursa reproduce rq2",
    ),
    Claim(
        "3",
        "undamaged return over DayDreamer's",
        Recipe((URSA, DAYDREAMER), seen.whole, seen.ratio),
        "at least 1",
        _at_least(1),
        "higher (real robot)",
        "ursa reproduce rq2",
    ),
    *(
        Claim(
            "4",
            text,
            Recipe((VELOCITY,), each),
            target,
            holds,
            paper,
            "ursa reproduce rq3",
        )
        for text, each, target, holds, paper in (
            (
                "span in forward speed, m/s",
                seen.span_of(0),
                "at least 0.6",
                _at_least(0.6),
                "broad",
            ),
            ("span in yaw rate, rad/s", seen.span_of(1), "at least 1.2", _at_least(1.2), "broad"),
            (
                "tracking error, m/s",
                seen.tracking_error(0),
                "at most 0.1",
                _at_most(0.1),
                "grows away from zero",
            ),
            (
                "tracking error, rad/s",
                seen.tracking_error(1),
                "at most 0.2",
                _at_most(0.2),
                "grows away from zero",
            ),
        )
    ),
    Claim(
        "5",
        "DayDreamer's speed, m/s",
        Recipe((DAYDREAMER,), lambda it: float(np.median(it.skills.speed))),
        "at least 0.3",
        _at_least(0.3),
    ),
    Claim(
        "5",
        "return of DOMiNiC's skill 0 over DayDreamer's",
        Recipe((DOMINIC, DAYDREAMER), seen.first_skill, seen.ratio),
        "at least 0.9",
        _at_least(0.9),
        "constraint: 0.9",
    ),
    Claim(
        "5",
        "distinct skills of DOMiNiC's 8",
        Recipe((DOMINIC,), lambda it: it.notes.get("distinct")),
        "at least 6",
        _at_least(6),
    ),
    Claim(
        "6",
        "largest joint speed (99th percentile of a rollout) over the motors' no-load speed",
        Recipe((URSA,), seen.joint_speed),
        "at most 1",
        _at_most(1),
    ),
    Claim(
        "6",
        "largest torque of a control step over the motors' peak",
        Recipe((URSA,), seen.torque),
        "at most 1",
        _at_most(1),
    ),
    Claim("6", "moving skills that leap", Recipe((URSA,), seen.leaps), "none", _at_most(0)),
    Claim("6", "power of a moving skill, W", Recipe((URSA,), seen.power)),
    *(
        Claim(
            "6",
            f"share of {name}'s return that its true speed cannot have earned (a fooled estimate)",
            Recipe((run,), seen.unearned),
        )
        for name, run in (("URSA", URSA), ("DOMiNiC", DOMINIC), ("DayDreamer", DAYDREAMER))
    ),
    Claim(
        "6",
        "median return at 2 ms physics over that at 5 ms",
        Recipe((FINE, URSA), seen.median_return, seen.ratio, alike=False, paired=True),
        command=f"{PHYSICS}{FINE} --tick 0.002 --no-damages",
    ),
    Claim(
        "6",
        "median return in PyBullet (unseen physics) over that in MuJoCo",
        Recipe((BULLET, URSA), seen.median_return, seen.ratio, alike=False, paired=True),
        command=f"{PHYSICS}{BULLET} --body pybullet --no-damages",
    ),
    Claim(
        "7",
        "coverage of hind legs when phi reads front legs only, over that of all",
        Recipe((FRONT, URSA), seen.rear, seen.ratio),
        "below 1",
        lambda found: found < 1,
        "would likely be less",
        f"ursa evaluate outputs/{FRONT} --out results/{FRONT}",
    ),
    Claim(
        "3",
        "one robot, 360 k steps: whole legs in which URSA + ITE is ahead of DayDreamer, of 4",
        Recipe((ALONE, ALONE_DAYDREAMER), seen.legs, lambda a, b: float((a > b).sum())),
        paper="all but BR (real robot)",
        command=f"ursa evaluate outputs/{ALONE} --out results/{ALONE}",
    ),
    Claim(
        "3",
        "reward per step after five hours of one robot in real time",
        Recipe(("emulated-ursa",), lambda it: None if it.curve is None else it.curve.mean[-1]),
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
