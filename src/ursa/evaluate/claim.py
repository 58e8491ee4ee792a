"""A claim: one line of the table, as data, and what was found of it."""

from collections.abc import Callable
from dataclasses import dataclass

from ursa.evaluate.evidence import Recipe
from ursa.evaluate.statistics import Summary

NOT_RUN, NO_VALUE = "not run", "-"
KINDS = {
    "simulated": "In simulation",
    "emulated": "On the emulator (a simulated robot behind the real protocol, in real time)",
    "real": "On a real robot",
}
# Folders of results.
URSA, DOMINIC, DAYDREAMER = "forward-ursa", "forward-dominic", "forward-daydreamer"
VELOCITY, FRONT = "velocity-ursa", "forward-ursa-front"


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


def at_least(number: float) -> Callable[[float], bool]:
    return lambda found: found >= number


def at_most(number: float) -> Callable[[float], bool]:
    return lambda found: found <= number


def above(number: float) -> Callable[[float], bool]:
    return lambda found: found > number


def below(number: float) -> Callable[[float], bool]:
    return lambda found: found < number
