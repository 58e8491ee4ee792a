"""`ursa reproduce`: what the paper's questions were answered by, from training on or from results.

Which runs a question needs is data (`question.py`); what is already there is not done again. Every
step is a command that anybody could have typed, and is shown before it is run.
"""

import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional

from ursa import durable, journal
from ursa.errors import UserError
from ursa.evaluate import claims_table
from ursa.evaluate.claims import filled
from ursa.evaluate.compare import INCOMPLETE, Comparison, compared
from ursa.evaluate.compare import told as said
from ursa.evaluate.definitions import ROLLOUTS
from ursa.evaluate.draw.gallery import FIGURES, refuse_unknown
from ursa.evaluate.group import gather, within
from ursa.evaluate.question import FULL, QUESTIONS, SEEDS, Run, needed
from ursa.evaluate.report import written
from ursa.robot.damage import scenarios

README = Path("README.md")


@dataclass(frozen=True)
class Setting:
    """How large, and where things are."""

    preset: str = "paper"
    seeds: int = SEEDS
    quick: bool = False
    runs: Path = Path("outputs/reproduce")
    results: Path = Path("results")

    @property
    def paper(self) -> bool:
        """As large as the claims are made by."""
        return self.preset == "paper" and self.seeds == SEEDS and not self.quick

    def many(self, run: Run) -> int:
        """Seeds of a run: as asked, at most the paper's."""
        return min(self.seeds, run.seeds)

    def train(self, run: Run) -> list[str]:
        """The command that trains a run, or goes on with it."""
        place = self.runs / run.name
        if (place / "config.json").exists():
            return ["train", "--resume", str(place)]
        words = [*run.words, *(run.full if self.preset in FULL else ())]
        size = ["--preset", self.preset, "--seeds", str(self.many(run)), "--out", str(place)]
        return ["train", "--robot", "a1", "--task", run.task, *words, *size]

    def measure(self, run: Run) -> list[str]:
        """The command that measures a run."""
        words = ["evaluate", str(self.runs / run.name), "--out", str(self.results / run.name)]
        words += ["--yardstick", run.yardstick] if run.yardstick else []
        return [*words, *(["--quick"] if self.quick else [])]

    def files(self, run: Run) -> list[Path]:
        """The results a run should have left."""
        return [self.results / run.name / f"seed_{seed}.json" for seed in range(self.many(run))]

    def there(self, run: Run) -> list[Path]:
        """Those that it left; none if they are too few to be drawn."""
        found = [file for file in self.files(run) if file.exists()]
        return found if len(found) >= min(run.least, self.many(run)) else []

    def trained(self, run: Run) -> bool:
        """Its journal has reached the last step."""
        place = self.runs / run.name
        if not (place / "config.json").exists():
            return False
        try:
            told = durable.from_json(durable.read_bounded(place / "config.json", 1 << 20))
            wanted = int(told["train"]["steps"])
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise UserError(f"{place}/config.json gives no settings ({error!r})") from None
        return any(event["step"] >= wanted for event in journal.read(place))


def reproduce(
    question: Annotated[Literal["rq1", "rq2", "alone", "rq3", "all"], Positional],
    from_results: bool = False,
    results: Path | None = None,
    runs: Path | None = None,
    out: Path = Path("outputs/reproduced"),
    figure: tuple[str, ...] = (),
    preset: Literal["paper", "literal", "laptop", "tiny"] = "paper",
    seeds: int = SEEDS,
    quick: bool = False,
    plan: bool = False,
) -> int:
    """Make the paper's figures and tables again: rq1, rq2, alone, rq3 or all.

    "alone" is the paper's experiment on a real robot as far as a simulator carries it: one robot,
    five hours.

    Trains and measures what is missing (hours on one GPU; the plan is shown first), then draws.
    With --from-results nothing is trained: tables and figures come from the raw numbers of every
    seed, in minutes and without a GPU. Of "all", what is there is drawn, and also the table of
    claims is made, in claims.md and between its marks in README.md; what nobody has run says so.

      ursa reproduce rq2 --from-results
      ursa reproduce all --plan
      ursa reproduce all --preset tiny --seeds 2 --quick    every step in miniature

    Args:
        question: Which question of the paper.
        from_results: Only draw; what is missing is listed with the command that makes it.
        results: Raw results, a folder per run; unset is "results", for a miniature in its runs.
        runs: Folder for the runs; unset is outputs/reproduce, for a miniature outputs/miniature.
        out: Folder for tables, figures and the report.
        figure: Only these figures; unset is all of the question.
        preset: Size of the runs; the paper's unless you want an impression.
        seeds: How many seeds of each run; of a robot alone two at most, as in the paper.
        quick: Measure few skills and commands: an impression.
        plan: Show what would be done, and stop.
    """
    refuse_unknown(figure)
    asked = _asked(question, figure)
    setting = placed(Setting(preset=preset, seeds=seeds, quick=quick), runs, results)
    runs_needed = needed(asked)
    told = filled(setting.results) if question == "all" and from_results and not figure else []
    if from_results:
        ready = _drawable(setting, asked, whole=question == "all")
    else:
        steps, ready = missing(setting, runs_needed), asked
        print(planned(setting, runs_needed, steps), flush=True)
        if plan:
            return 0
        for words in steps:
            _carry_out(words)
    made = [drawn(setting, one, out, figure) for one in ready]
    for one, each in zip(ready, made, strict=True):
        print(f"\n{one}: {QUESTIONS[one].asks}\n\n{said(each)}")
    fewest = min(len(it.skills.ret) for each in made for one in each.groups for it in one.seeds)
    if setting.paper and fewest < ROLLOUTS:
        print(f"\n{fewest} rollouts where the paper has {ROLLOUTS}: an impression, not a result")
    written(_whole(made), out / "report.html", claims_table.html(told) if told else ())
    print(f"\n-> {out}: {', '.join(ready)}, report.html")
    readme = README if setting.results == Setting.results else None
    for path in claims_table.write(told, out, readme) if told else ():  # last: all else is there
        print(f"-> {path}")
    return INCOMPLETE if ready != asked or any(each.complaints for each in made) else 0


def missing(setting: Setting, runs: Sequence[Run]) -> list[list[str]]:
    """The commands that are still to be run, in order."""
    steps = []
    for run in runs:
        if all(file.exists() for file in setting.files(run)):
            continue
        if not setting.trained(run):
            steps.append(setting.train(run))
        steps.append(setting.measure(run))
    return steps


def planned(setting: Setting, runs: Sequence[Run], steps: Sequence[Sequence[str]]) -> str:
    """What will be done and how long it may take."""
    lines = [f"{len(runs)} runs, preset {setting.preset}"]
    for run in runs:
        there = all(file.exists() for file in setting.files(run))
        state = "results are there" if there else "to do"
        lines.append(f"  {run.name:<22}{setting.many(run)} seeds, {state}")
    lines += [f"  $ {shlex.join(['ursa', *words])}" for words in steps]
    if setting.paper:
        training, measuring = (
            sum(
                getattr(run, kind)
                for run in runs
                if any(words[0] == verb and _about(words, run) for words in steps)
            )
            for kind, verb in (("training", "train"), ("measuring", "evaluate"))
        )
        lines.append(
            f"about {training} minutes of training (one H200) and {measuring} of measuring (two "
            "cores), if everything is to be done from the start"
        )
    else:
        lines.append("smaller than the paper: an impression, not a result")
    return "\n".join(lines)


def drawn(setting: Setting, question: str, out: Path, names: Sequence[str]) -> Comparison:
    """Tables and figures of one question, in a folder of its name."""
    asked = QUESTIONS[question]
    groups = gather([file for run in needed((question,)) for file in setting.there(run)])
    if asked.among:
        groups = within(groups, scenarios(asked.among))
    mine = [name for name, plan in FIGURES.items() if question in plan.questions]
    chosen = [name for name in mine if not names or name in names]
    return compared(groups, out / question, chosen, chapter=asked.chapter)


def placed(setting: Setting, runs: Path | None, results: Path | None) -> Setting:
    """Folders; a miniature stays away from the paper's, unless told."""
    if runs is None:
        runs = Setting.runs if setting.paper else Path("outputs/miniature")
    if results is None:
        results = Setting.results if setting.paper else runs / "results"
    return replace(setting, runs=runs, results=results)


def _asked(question: str, names: Sequence[str]) -> tuple[str, ...]:
    """The questions that are meant; of named figures, those they belong to."""
    asked = tuple(QUESTIONS) if question == "all" else (question,)
    for name in names:
        if not set(FIGURES[name].questions) & set(asked):
            owners = " and ".join(FIGURES[name].questions)
            raise UserError(f"figure {name} belongs to {owners}, not to {question}")
    named = {it for name in names for it in FIGURES[name].questions}
    return tuple(it for it in asked if not names or it in named)


def _whole(made: Sequence[Comparison]) -> list[Comparison]:
    """Questions that share their runs, and so their tables, in one chapter."""
    kept: dict[str, Comparison] = {}
    for each in made:
        name = each.name
        kept[name] = each if name not in kept else kept[name].joined(each)
    return list(kept.values())


def _drawable(setting: Setting, asked: tuple[str, ...], *, whole: bool) -> tuple[str, ...]:
    """The questions whose results are there; `whole` goes on with those, otherwise all must be."""
    lacking = [run for run in needed(asked) if not setting.there(run)]
    if not lacking:
        return asked
    ready = [it for it in asked if not any(it in run.questions for run in lacking)]
    missed = f"results are missing; these commands make them:\n  {_makers(setting, lacking)}"
    if not whole or not ready:
        raise UserError(missed)
    waiting = ", ".join(it for it in asked if it not in ready)
    print(f"\n{missed}\n\nnot drawn until then: {waiting}\n")
    return tuple(ready)


def _makers(setting: Setting, lacking: Sequence[Run]) -> str:
    """What is missing, and how it is made."""
    lines = []
    for run in lacking:
        names = [file.stem for file in setting.files(run) if not file.exists()]
        commands = [setting.measure(run)]
        if not setting.trained(run):
            commands.insert(0, setting.train(run))
        typed = " && ".join(shlex.join(["ursa", *words]) for words in commands)
        lines += [f"{setting.results / run.name}: {', '.join(names)}", f"  $ {typed}"]
    return "\n  ".join(lines)


def _carry_out(words: Sequence[str]) -> None:
    print(f"$ {shlex.join(['ursa', *words])}", flush=True)
    done = subprocess.run([sys.executable, "-m", "ursa", *words])
    if done.returncode:
        raise UserError(
            f"`{shlex.join(['ursa', *words])}` ended with code {done.returncode}; the same "
            "`ursa reproduce` goes on from there"
        )


def _about(words: Sequence[str], run: Run) -> bool:
    return any(Path(word).name == run.name for word in words)
