"""Bad settings by the hundred: every setting of every section, wrong in every way it can be."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from ursa.config import LEAST, MOST, NOT_NEGATIVE, SHARES, Config
from ursa.errors import brief

MAY_BE_ZERO = (*SHARES, *NOT_NEGATIVE, "behavior.constraint_discount")
LONG = "q" * 10_000


@dataclass(frozen=True)
class Case:
    """One wrong setting; `path` is what the user wrote, `says` what the answer must hold."""

    way: str
    path: str
    value: Any
    says: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.way}: {self.path} = {brief(self.value)}"

    @property
    def changes(self) -> dict[str, Any]:
        """As `ursa.train` takes it."""
        section, _, name = self.path.rpartition(".")
        return {section: {name: self.value}} if section else {name: self.value}

    @property
    def flag(self) -> str | None:
        """As a shell passes it; None: it cannot be typed."""
        name = self.path.replace("_", "-")
        if self.way == "misspelt":
            return f"--{name}=1"
        if isinstance(self.value, str) and self.value and "\n" not in self.value:
            return f"--{name}={self.value}"
        typed = type(self.value) is float or (type(self.value) is int and self.value < 10**400)
        return f"--{name}={self.value!r}" if typed else None


def named(section: Any = None, path: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted name and value of every setting."""
    section = Config() if section is None else section
    for item in fields(section):
        value = getattr(section, item.name)
        if is_dataclass(value):
            yield from named(value, f"{path}{item.name}.")
        else:
            yield path + item.name, value


def single() -> Iterator[Case]:
    """One wrong setting each."""
    for path, value in named():
        yield misspelt(path)
        wrong = {bool: of_switch, int: of_whole, float: of_number, str: of_word, tuple: of_words}
        for way, bad in wrong[type(value)](path):
            yield Case(way, path, bad, (path.rpartition(".")[2], *shown(bad)))
    for section in (name for name, value in vars(Config()).items() if is_dataclass(value)):
        yield misspelt(section)
        for bad in (3, "large", None, [1]):
            yield Case("wrong type", section, bad, (section, "want settings by name"))


def misspelt(path: str) -> Case:
    """Its last letter twice: near enough to be recognised."""
    wrong, right = path + path[-1], path.rpartition(".")[2]
    return Case("misspelt", wrong, 1, (right + right[-1], f"did you mean {right}?"))


def of_switch(_: str) -> Iterator[tuple[str, Any]]:
    for bad in ("yes", 1, None, [True]):
        yield "wrong type", bad


def of_whole(path: str) -> Iterator[tuple[str, Any]]:
    for bad in ("many", 1.5, True, None, [1]):
        yield "wrong type", bad
    yield "not a number", math.nan
    yield "infinite", math.inf
    yield "negative", -1
    if LEAST.get(path, 1) > 0:
        yield "zero", 0
    yield "huge", 10**18
    yield "huge", 10**5000  # more digits than Python is willing to print
    if path in MOST and path != "seed":
        yield "out of range", MOST[path] + 1


def of_number(path: str) -> Iterator[tuple[str, Any]]:
    for bad in ("fast", True, None, [0.5]):
        yield "wrong type", bad
    yield "not a number", math.nan
    yield "infinite", math.inf
    yield "infinite", -math.inf
    yield "negative", -0.5
    if path not in MAY_BE_ZERO:
        yield "zero", 0.0
    yield "huge", 1e300
    yield "huge", 10**400  # no float can hold it
    if path in SHARES:
        yield "out of range", 1.0001


def of_word(_: str) -> Iterator[tuple[str, Any]]:
    for bad in (3, None, True, ["a1"]):
        yield "wrong type", bad
    yield "out of range", "nonsense"
    yield "huge", LONG


def of_words(_: str) -> Iterator[tuple[str, Any]]:
    for bad in ("FL", 7, None, [3]):
        yield "wrong type", bad
    yield "out of range", ["nose"]


def shown(bad: Any) -> tuple[str, ...]:
    """What a message must hold so that the value is recognised."""
    if isinstance(bad, str):
        return (bad[:20],)
    if isinstance(bad, list):
        return ("nose",) if "nose" in bad else (str(bad),)
    if type(bad) is int and abs(bad) > 10**100:
        return ("10^5000 or so" if bad > 10**400 else "10^400 or so",)
    return (str(bad),)


def together() -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    """Settings each of which could be, but not with the others: changes, what must be said."""
    say = "train.prefill = 31: want at least length * robots = 32"
    yield {"train": {"prefill": 31}}, (say,)
    yield {"train": {"length": 17}}, ("train.prefill = 64: want at least length * robots = 68",)
    yield {"train": {"robots": 16}}, ("prefill = 64: want at least length * robots = 128",)
    yield {"train": {"replay_size": 63}}, ("replay_size = 63: want at least 2 * length", "64")
    yield {"train": {"steps_per_update": 6}}, ("steps_per_update = 6: want a multiple", "4")
    yield {"train": {"steps_per_update": 3}}, ("steps_per_update = 3", "divisor of robots = 4")
    yield {"steps": 1023}, ("train.steps = 1023: want a multiple of robots = 4",)
    yield {"steps": 64}, ("train.steps = 64: want more than prefill = 64",)
    yield {"train": {"prefill": 1024}}, ("steps = 1024: want more than prefill = 1024",)
    yield {"skill": {"distinct_skills": 65}}, ("skill.distinct_skills = 65", "size = 64")
    yield {"skill": {"repertoire_size": 15}}, ("distinct_skills = 16", "repertoire_size = 15")
    yield {"skill": {"vae_frozen": 0.05}}, ("vae_frozen = 0.05: want at least vae_warm = 0.1",)
    yield {"skill": {"vae_warm": 0.6}}, ("vae_frozen = 0.5: want at least vae_warm = 0.6",)
    yield {"behavior": {"min_std": 1.0}}, ("min_std = 1.0: want 0 < min_std < max_std = 1.0",)
    yield {"behavior": {"max_std": 0.05}}, ("min_std = 0.1: want 0 < min_std < max_std = 0.05",)
    yield {"seed": 2**31 - 2, "seeds": 3}, ("seed = 2147483646, seeds = 3: want the last at most",)
    yield {"robot": "point", "task": "velocity"}, ("velocity", "point")
    yield {"robot": "point", "task": "point", "engine": "pybullet"}, ("own", "pybullet")
    yield {"robot": "go2", "engine": "pybullet", "tick": 0.002}, ("go2",)
    yield {"tick": 0.003}, ("tick = 0.003",)
    yield {"tick": 0.04}, ("tick = 0.04",)
    yield {"engine": "pybullet"}, ("tick = 0.005 s", "0.002")
