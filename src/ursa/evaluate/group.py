"""Group: the seeds of one method under one set of settings, gathered from files.

What cannot be compared (another robot, task or physics, other lengths or numbers of rollouts, a
seed twice) is refused.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ursa.errors import UserError
from ursa.evaluate import averaged, results
from ursa.evaluate.averaged import Averaged
from ursa.evaluate.results import Results, Source
from ursa.run.settings import aged, flat

NAMES = {"ursa": "URSA", "dominic": "DOMiNiC", "daydreamer": "DayDreamer"}  # as in the paper
ORDER = ("ursa", "dominic", "daydreamer")
TASKS = ("forward", "velocity")
INSIDE = "results"  # where a run's folder keeps them
NOT_RESULTS = ("config.json", "environment.json", averaged.FILE)
# Settings of a task that are part of what a return means.
PAID = {"forward": ("speed", "lateral", "yaw", "desired_speed")}
CHANCE = ("seed", "seeds")  # settings in which two seeds of one group may differ
NAMED = 3  # settings in which two runs differ; more are counted
OFTEN = ("checkpoint_every", "log_every")  # of train: when it is saved and told, not how it learns


@dataclass(frozen=True)
class Group:
    """One method: its results by seed, never empty."""

    label: str
    seeds: tuple[Results, ...]
    averaged: Averaged | None = None  # their training, where their own curves were not kept

    @property
    def n(self) -> int:
        return len(self.seeds)

    @property
    def method(self) -> str:
        return self.seeds[0].source.method

    @property
    def robots(self) -> int | None:
        """How many robots learnt together; None where the settings do not say."""
        return (self.seeds[0].config.get("train") or {}).get("robots")


def where(found: Results) -> str:
    """Whose numbers these are, for messages."""
    return f"{found.source.run}, seed {found.source.seed}"


def gather(paths: Sequence[Path], *, any_length: bool = False) -> list[Group]:
    """Groups of everything in the paths: runs, folders of results, or results files."""
    found, homes = _read(paths, any_length)
    together(found, any_length=any_length)
    return _with_averages(grouped(found), homes)


def apart(paths: Sequence[Path], *, any_length: bool = False) -> dict[str, list[Group]]:
    """The same, task by task; all of one robot, in the same physics."""
    found, homes = _read(paths, any_length)
    together(found, any_length=True, tasks=True)
    tasks = sorted(dict.fromkeys(it.source.task for it in found), key=_place)
    chapters = {task: [it for it in found if it.source.task == task] for task in tasks}
    for members in chapters.values():
        together(members, any_length=any_length)
    return {task: _with_averages(grouped(it), homes) for task, it in chapters.items()}


def files(path: Path) -> list[Path]:
    """The results files that a path stands for."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UserError(f"{path} is not there: give a run, or results of `ursa evaluate`")
    a_run = (path / "config.json").exists()
    inside = path / INSIDE if a_run else path
    found = sorted(it for it in inside.glob("*.json") if it.name not in NOT_RESULTS)
    if not found and not a_run:  # a folder of folders, as `ursa reproduce` leaves it
        found = sorted(path.glob(f"*/{results.name('*')}"))
    if found:
        return found
    others = sorted(it.name for it in path.glob(f"{INSIDE}-*"))
    if a_run and others:
        raise UserError(
            f"{path} was measured only in part or elsewhere: give {path / others[0]}, or measure "
            f"it whole: ursa evaluate {path}"
        )
    if a_run:
        raise UserError(f"{path} was never measured: ursa evaluate {path}")
    raise UserError(f"{path} holds no results of `ursa evaluate`")


def together(found: Iterable[Results], *, any_length: bool = False, tasks: bool = False) -> None:
    """Refuse what has nothing to do with each other, in one sentence; `tasks` lets them differ."""
    first, *others = found
    for other in others:
        pairs = {
            "robot": (first.source.robot, other.source.robot),
            "task": ("", "") if tasks else (first.source.task, other.source.task),
            "physics": (_physics(first), _physics(other)),
            "rollouts": (str(len(first.skills.ret)), str(len(other.skills.ret))),
        }
        if not tasks:
            pairs |= _paid(first, other)
        if not any_length:
            pairs["control steps"] = (f"{first.source.steps:,}", f"{other.source.steps:,}")
        for name, (mine, theirs) in pairs.items():
            if mine != theirs:
                hint = "; `ursa compare --any-length` does it" if name == "control steps" else ""
                raise UserError(
                    f"cannot be compared: {name} {mine} ({where(first)}) and {theirs} "
                    f"({where(other)}){hint}"
                )


def _paid(first: Results, other: Results) -> dict[str, tuple[str, str]]:
    """What a return means: settings by which another reward is paid, or for another estimate."""
    task = first.source.task
    names = ("settle", *(f"{task}.{it}" for it in PAID.get(task, ())))
    here, there = (dict(flat(aged(it.config))) for it in (first, other))
    return {name: (str(here.get(name)), str(there.get(name))) for name in names}


def grouped(found: Sequence[Results]) -> list[Group]:
    """Seeds of the same settings together, URSA first; runs that share a method are told apart."""
    sets: list[tuple[dict[str, Any], list[Results]]] = []
    for each in found:
        same = learnt_by(each.config)
        members = next((kept for settings, kept in sets if settings == same), None)
        if members is None:
            sets.append((same, [each]))
        else:
            members.append(each)
    methods = [members[0].source.method for _, members in sets]
    groups = []
    for (_, members), method in zip(sets, methods, strict=True):
        _refuse_twice(members)
        name = NAMES.get(method, method)
        alone = methods.count(method) == 1
        label = name if alone else f"{name} ({members[0].source.run})"
        groups.append(Group(label, tuple(sorted(members, key=lambda it: it.source.seed))))
    _refuse_one_label(groups)
    known = (*ORDER, *sorted(set(methods)))
    return sorted(groups, key=lambda it: (known.index(it.method), it.label))


def measured(groups: Sequence[Group], part: str) -> list[Group]:
    """The groups of which this part was measured; in all of a group's seeds, or in none."""
    kept = []
    for group in groups:
        lacking = [where(it) for it in group.seeds if not getattr(it, part)]
        if not lacking:
            kept.append(group)
        elif len(lacking) < group.n:
            raise UserError(
                f"{part} of {'; '.join(lacking)} were not measured, of others they were"
            )
    return kept


def partly(groups: Sequence[Group], part: str) -> list[Group]:
    """The groups with those of their seeds of which this part was measured; never an empty one."""
    kept = [
        replace(group, seeds=tuple(it for it in group.seeds if getattr(it, part)))
        for group in groups
    ]
    return [group for group in kept if group.seeds]


def within(groups: Sequence[Group], scenarios: Collection[str]) -> list[Group]:
    """The groups as if only these scenarios had been measured, of all that were."""

    def few(found: Results) -> Results:
        kept = tuple(it for it in found.damages if it.scenario in scenarios)
        return replace(found, damages=kept)

    return [replace(group, seeds=tuple(map(few, group.seeds))) for group in groups]


def _read(paths: Sequence[Path], any_length: bool) -> tuple[list[Results], dict[Source, Path]]:
    """All results, and the folder that each lies in."""
    if not paths:
        raise UserError("nothing to compare: give runs, or results of `ursa evaluate`")
    found = [(file, results.load(file)) for path in paths for file in files(path)]
    if not any_length:
        for file, each in found:
            _refuse_unfinished(file, each)
    return [each for _, each in found], {each.source: file.parent for file, each in found}


def _with_averages(groups: Sequence[Group], homes: Mapping[Source, Path]) -> list[Group]:
    """The groups with what the folder of all their seeds knows of their training."""

    def told(group: Group) -> Averaged | None:
        place, *more = {homes[it.source] for it in group.seeds}
        whole = not more and len(files(place)) == len(group.seeds)
        return averaged.averaged(place) if whole else None

    return [replace(group, averaged=told(group)) for group in groups]


def _place(task: str) -> tuple[int, str]:
    """The order of the paper's questions, then the alphabet."""
    return (TASKS.index(task) if task in TASKS else len(TASKS), task)


def learnt_by(config: dict[str, Any]) -> dict[str, Any]:
    """What of a run's settings two seeds of one group must share."""
    same = {name: value for name, value in aged(config).items() if name not in CHANCE}
    train = same.get("train") or {}
    return same | {"train": {name: value for name, value in train.items() if name not in OFTEN}}


def differing(mine: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Settings in which two runs differ, by their dotted names; "" where they are of one group."""
    here, there = (dict(flat(learnt_by(it))) for it in (mine, theirs))
    odd = [it for it in {**here, **there} if here.get(it) != there.get(it)]
    told = [f"{it} = {there.get(it)}, not {here.get(it)}" for it in odd[:NAMED]]
    return ", ".join([*told, *([f"and {len(odd) - NAMED} more"] if odd[NAMED:] else [])])


def _physics(found: Results) -> str:
    return f"{found.source.engine} at {1e3 * found.source.tick:g} ms"


def _refuse_unfinished(file: Path, found: Results) -> None:
    wanted = (found.config.get("train") or {}).get("steps", 0)
    if found.source.steps < wanted:
        raise UserError(
            f"{file}: {where(found)} is unfinished, {found.source.steps:,} of {wanted:,} control "
            "steps; finish it with `ursa train --resume`, or pass --any-length"
        )


def _refuse_twice(members: Sequence[Results]) -> None:
    seen: dict[int, Results] = {}
    for each in members:
        if other := seen.get(each.source.seed):
            raise UserError(
                f"seed {each.source.seed} of {each.source.method} is there twice "
                f"({other.source.run} and {each.source.run}): it would count double"
            )
        seen[each.source.seed] = each


def _refuse_one_label(groups: Sequence[Group]) -> None:
    labels = [it.label for it in groups]
    for label in labels:
        if labels.count(label) > 1:
            raise UserError(f"two runs with other settings are both called {label}: rename one")
