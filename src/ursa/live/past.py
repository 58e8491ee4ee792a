"""The past of an adaptation: the rollouts of an earlier start, read from its file.

Only what is certain is taken over: whole lines, of the same agent and the same settings. A line
that was being written when the program was killed is dropped, and that is told.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ursa import durable
from ursa.adapt.ite import Trial
from ursa.errors import UserError, brief
from ursa.live.trials import NAME, checksum
from ursa.repair.past import KINDS, Past
from ursa.run import pretrained
from ursa.run.folder import AGENT, REPERTOIRE, published

LARGEST = 1 << 24  # bytes of a file that are read
FILES = (AGENT, REPERTOIRE)


def read(folder: Path, about: Mapping[str, Any], say: Callable[[str], None]) -> Past:
    """The last adaptation in a folder, which must have been `about` the same; UserError if not."""
    path = folder / NAME
    found: dict[str, list[dict[str, Any]]] | None = None
    other: dict[str, Any] = {}  # what the last start was about, where it is not what we are
    for line in _lines(path, say):
        if line["kind"] == "start" and not line.get("resumed"):
            found = {kind: [] for kind in KINDS}
        if line["kind"] == "start":
            other = {name: line.get(name) for name in about if line.get(name) != about[name]}
        elif found is not None and line["kind"] in KINDS:
            found[line["kind"]].append(line)
    if found is None:
        raise _refused(path, "no adaptation begins there")
    if other:
        words = ", ".join(f"{name} = {brief(was)}" for name, was in other.items())
        now = ", ".join(f"{name} = {brief(about[name])}" for name in other)
        raise _refused(path, f"that adaptation had {words}, this one has {now}")
    for kind, lines in found.items():
        if [line.get("number") for line in lines] != list(range(1, len(lines) + 1)):
            raise _refused(path, f"its lines about {kind} are not numbered from 1 on")
    try:
        rows = tuple(_whole(line["row"]) for line in found["trial"])
        made = {kind: tuple(map(_trial, lines)) for kind, lines in found.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise _refused(path, f"a line says what cannot be ({error})") from None
    return Past(rows=rows, **made)


def signature(folder: Path, seed: int) -> str:
    """Of the files that an agent was loaded from: the same policy, and the same skills."""
    place = published(pretrained.opened(folder)) / f"seed_{seed}"
    there = [place / name for name in FILES if (place / name).exists()]
    return durable.sha256(b"".join(it.read_bytes() for it in there))[:16]


def _lines(path: Path, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Every line that is whole; one that is not must be the last of a start."""
    try:
        data = durable.read_bounded(path, LARGEST)
    except FileNotFoundError:
        raise UserError(f"{path} is not there: leave out --resume to begin anew") from None
    except (OSError, ValueError) as error:
        raise _refused(path, str(error)) from None
    torn = 0
    for number, line in enumerate(data.splitlines(), 1):
        try:
            value = durable.from_json(line)
            whole = checksum({k: v for k, v in value.items() if k != "crc"}) == value["crc"]
            whole = whole and isinstance(value["kind"], str)
        except (ValueError, KeyError, TypeError, AttributeError):
            whole, value = False, {}
        if torn and value.get("kind") != "start":
            raise _refused(path, f"line {torn} is damaged")
        if torn:
            torn = 0
        if whole:
            yield value
        else:
            torn = number
            say(f"{path}, line {number}: not whole, as after a kill; what it told is made again")


def _trial(line: Mapping[str, Any]) -> Trial:
    """What a rollout came to; null is what was no measurement."""
    ret, unsafe, aborted = line["return"], line["unsafe"], line["aborted"]
    ret = math.nan if ret is None else float(ret)
    if not (isinstance(aborted, bool) and 0 <= unsafe <= 1):
        raise ValueError(f"unsafe = {brief(unsafe)}, aborted = {brief(aborted)}")
    return Trial(ret, float(unsafe), aborted, _whole(line["interruptions"]))


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{brief(value)}, want a whole number")
    return value


def _refused(path: Path, why: str) -> UserError:
    return UserError(
        f"{path}: {why}; nothing was changed. Leave out --resume to begin anew (the file is "
        "appended to), or give what it was begun with"
    )
