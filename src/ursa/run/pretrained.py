"""Agents that come with the package: `--pretrained a1-forward`, `Agent.load("a1-forward")`.

Each is a folder as `ursa.run.publish` writes it, of one seed, with a model card and a manifest of
hashes; `ursa.evaluate.ship` makes them. Critics are left at home: what they promised of every skill
of the repertoire is all that adapting asks of them, and a hundredth of their size.
"""

import re
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from ursa import durable
from ursa.errors import UserError, closest, unknown
from ursa.run import folder

HOME = Path(str(resources.files("ursa"))) / "pretrained"
MANIFEST, CARD = "manifest.json", "card.md"
LARGEST = 11_000_000  # bytes of an agent with its repertoire: it lies in everybody's clone
LARGEST_MANIFEST = 1 << 16
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Source(NamedTuple):
    """Where an agent is read from, and where what is made of it goes."""

    agent: Path
    out: Path


def names() -> list[str]:
    """What can be loaded by name."""
    found = sorted(it.parent.name for it in HOME.glob(f"*/{MANIFEST}"))
    return [name for name in found if NAME.fullmatch(name)]


def find(name: str) -> Path:
    """The folder of a shipped agent, every file of it as it was when it was shipped."""
    there = names()
    if not there:
        raise UserError(
            f'no agent "{name}": this version of ursa ships none; train one (`ursa train`) and '
            "give its folder"
        )
    if name not in there:
        raise unknown("pretrained agent", name, there)
    place = HOME / name
    try:
        data = durable.read_bounded(place / MANIFEST, LARGEST_MANIFEST)
        told = durable.from_json(data)["files"]
        for file, expected in told.items():
            durable.read_verified(place / file, expected)
        if lacking := {str(it.relative_to(place)) for it in place.glob("*/*")} - set(told):
            raise ValueError(f"{', '.join(sorted(lacking))} is not in its manifest")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f'agent "{name}" is damaged ({error}); install ursa again') from None
    return place


def source(run: Path | None, name: str | None) -> Source:
    """What a command is about: a run's folder, or a shipped agent; exactly one is given.

    What is made of a shipped agent goes to outputs/NAME: the package is not a place to write to.
    Its name will do in place of a folder, where there is no folder of that name.
    """
    if run is not None and name is not None:
        raise UserError(f"{run} and --pretrained {name}: give one of them")
    if name is not None:
        return Source(find(name), Path("outputs") / name)
    if run is None:
        there = ", ".join(names()) or "none is shipped yet"
        raise UserError(f"which agent? Give the folder of a run, or --pretrained NAME ({there})")
    if not run.exists() and str(run) in names():
        return Source(find(str(run)), Path("outputs") / run)
    if not run.is_dir():
        raise without_agent(run)
    return Source(run, run)


def refuse_without_agent(run: Path) -> None:
    """UserError for a folder in which no agent was saved; the file names alone tell."""
    place = folder.published(run)
    if not folder.seeds(place) or not (place / folder.CONFIG).exists():
        raise without_agent(run)


def without_agent(run: str | Path) -> UserError:
    """The error for what holds no agent, with the reason (return it, do not raise it)."""
    place = Path(run)
    why = "" if place.is_dir() else ": it is a file" if place.exists() else ": it does not exist"
    others = "".join(f", or {name}" for name in names())
    near = closest(str(run), names()) if names() and not place.exists() else None
    meant = f"; did you mean {near}?" if near else ""
    return UserError(
        f"{run} holds no agent{why}; give the folder of a run, once it has saved{others}{meant}"
    )


def opened(run: str | Path) -> Path:
    """The folder that a path or a name stands for; a path that is there comes first."""
    place = Path(run)
    named = not place.exists() and str(run) in names()
    return find(str(run)) if named else place
