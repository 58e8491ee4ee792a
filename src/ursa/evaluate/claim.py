"""A claim: one line of the table, as data, and what was found of it."""

from collections.abc import Callable
from dataclasses import dataclass

from ursa.evaluate.evidence import Found, Recipe
from ursa.evaluate.statistics import short

NOT_RUN, NO_VALUE = "not run", "-"
KINDS = {
    "simulated": "In simulation",
    "emulated": "On the emulator (a simulated robot behind the real protocol, in real time)",
    "real": "On a real robot",
}
TITLES = {
    "1": "It finds many safe skills",
    "2": "They cover more than what the baselines do",
    "3": "They are reused after damage",
    "4": "Skills that are velocities can be commanded",
    "5": "The baselines have learnt what they should",
    "6": "Bodies could do it, and it is there in other physics",
    "7": "What phi reads is what becomes diverse",
}
AGAIN = "again"  # a folder of results that nobody has yet: what goes there is made from the start
# Folders of results.
URSA, DOMINIC, DAYDREAMER = "forward-ursa", "forward-dominic", "forward-daydreamer"
VELOCITY, FRONT = "velocity-ursa", "forward-ursa-front"


@dataclass(frozen=True)
class Claim:
    """One line of the table."""

    number: str  # one of TITLES
    text: str
    recipe: Recipe
    target: str = ""  # "" where a number is only reported
    holds: Callable[[float], bool] | None = None  # of our number
    paper: str = NO_VALUE
    question: str = "rq1"  # of `ursa reproduce`; "": that cannot make it
    by_hand: str = ""  # what makes it then
    kind: str = "simulated"  # one of KINDS
    form: Callable[[float], str] = short  # how its number is written

    @property
    def command(self) -> str:
        """What makes its number from the start."""
        return (
            f"ursa reproduce {self.question} --results {AGAIN}" if self.question else self.by_hand
        )


@dataclass(frozen=True)
class Told:
    """A claim with what was found."""

    claim: Claim
    found: Found | str | None  # text: why there is no number; None: not run

    @property
    def ours(self) -> str:
        if self.found is None:
            return NOT_RUN
        if isinstance(self.found, str):
            return self.found
        return self.found.said(self.claim.form)

    @property
    def verdict(self) -> str:
        if not isinstance(self.found, Found) or self.claim.holds is None:
            return NO_VALUE
        return "yes" if self.claim.holds(self.found.middle) else "no"


counted = "{:g}".format  # for a number of things, which has no decimals


def at_least(number: float) -> Callable[[float], bool]:
    return lambda found: found >= number


def at_most(number: float) -> Callable[[float], bool]:
    return lambda found: found <= number


def above(number: float) -> Callable[[float], bool]:
    return lambda found: found > number


def below(number: float) -> Callable[[float], bool]:
    return lambda found: found < number
