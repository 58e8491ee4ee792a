"""Conformance: does a body, ours or yours, keep the contract that learning relies on?

    ursa robot check a1                       a robot by name
    ursa robot check a1@pybullet              in another engine (or a1@solid)
    ursa robot check my_package.robot:Body    your own: anything that makes a Body of a count

In a test: `assert not failures(make)`, where make(count) returns a Body.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

from ursa.errors import UserError
from ursa.robot.contract import CONTRACT
from ursa.robot.plugin import addressed
from ursa.robot.registry import body
from ursa.robot.spec import RobotSpec
from ursa.robot.trial import Broken, Maker


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of one promise."""

    name: str
    promise: str
    reason: str = ""  # why it is broken; empty when it is kept

    @property
    def ok(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        line = f"{'ok  ' if self.ok else 'FAIL'}  {self.name:<18}{self.promise}"
        return line if self.ok else f"{line}\n      {self.reason}"


def checks(
    make: Maker, count: int = 3, tell: Callable[[Result], object] | None = None
) -> list[Result]:
    """Try every promise on bodies of 1 and of `count` robots; `tell` hears each as it is known."""
    if count < 2:
        raise UserError(f"count = {count}: at least 2 robots, to see that they do not disturb")
    results = []
    for promise in CONTRACT:
        results.append(_try(promise, make, count))
        if tell is not None:
            tell(results[-1])
    return results


def failures(make: Maker, count: int = 3) -> list[Result]:
    """The promises a body breaks."""
    return [result for result in checks(make, count) if not result.ok]


def check(target: str, /, count: int = 3) -> int:
    """Try every promise of the contract on a robot; exit code 0 if it keeps all, else 1.

    Args:
        target: a robot ("a1", "a1@pybullet"), or "package.module:factory" of your own, where
            factory(count) returns a Body.
        count: how many robots at once, at least 2.
    """
    make = maker(target)
    results = checks(make, count, tell=lambda result: print(result, flush=True))
    kept = sum(result.ok for result in results)
    print(f"{target}: {kept} of {len(results)} promises kept")
    return 0 if kept == len(results) else 1


def maker(target: str) -> Maker:
    """What makes bodies of this name; an error that lists the names there are."""
    name, _, engine = target.partition("@")
    if ":" in name:
        value = addressed("body", name)
        if not isinstance(value, RobotSpec) and callable(value):
            return cast(Maker, value)  # what it makes, the checks find out
    make = partial(body, name, engine=engine or "mujoco")
    make(1).close()  # a wrong name or a missing library ends here, in words of its own
    return make


def _try(promise: Callable[[Maker, int], None], make: Maker, count: int) -> Result:
    sentence = (promise.__doc__ or "").strip()
    told = partial(Result, name=promise.__name__.replace("_", " "), promise=sentence)
    try:
        promise(make, count)
    except Broken as broken:
        return told(reason=str(broken))
    except Exception as error:  # somebody else's body may fail in any way; the rest goes on
        return told(reason=f"raised {type(error).__name__}: {error}")
    return told()
