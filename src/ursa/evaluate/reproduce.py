"""`ursa reproduce`: what the paper's questions were answered by, from training on or from results.

Which runs a question needs is data (`question.py`); what is already there is not done again
(`setting.py`). Every command is shown before it is run.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional

from ursa.errors import UserError
from ursa.evaluate import claims_table
from ursa.evaluate.claims import filled
from ursa.evaluate.compare import INCOMPLETE, Comparison, compared
from ursa.evaluate.compare import told as said
from ursa.evaluate.definitions import ROLLOUTS
from ursa.evaluate.draw.gallery import FIGURES, refuse_unknown
from ursa.evaluate.group import gather, within
from ursa.evaluate.question import QUESTIONS, SEEDS, Run, needed
from ursa.evaluate.report import written
from ursa.evaluate.setting import Setting, makers, missing, mixed, placed, planned, typed
from ursa.presets import Name
from ursa.robot.damage import scenarios
from ursa.robot.number import whole

README = Path("README.md")


def reproduce(
    question: Annotated[
        Literal["rq1", "rq2", "alone", "small", "rq3", "physics", "front", "all"], Positional
    ],
    from_results: bool = False,
    results: Path | None = None,
    runs: Path | None = None,
    out: Path | None = None,
    figure: tuple[str, ...] = (),
    preset: Name = "paper",
    seeds: int = SEEDS,
    quick: bool = False,
    plan: bool = False,
) -> int:
    """Make the paper's figures and tables, and our claims, again: one question of them or all.

    rq1, rq2 and rq3 are the paper's questions. "alone" is its experiment on a real robot as far as
    a simulator carries it: one robot, five hours; "small" the same with a learner that two cores of
    a CPU carry. "physics" measures the same agents in physics that no training saw, "front" agents
    whose phi reads front legs only; both end in claims, not in figures.

    Trains and measures what is missing (hours on one GPU; the plan is shown first), then draws, and
    tells the claims. Results that are there are not made again: give another folder with --results
    to do everything from the start, training too. With --from-results nothing is trained: tables,
    figures and claims come from the raw numbers of every seed that is there, in minutes and without
    a GPU; what is missing is listed. Of "all" the table of claims also goes between its marks in
    README.md.

      ursa reproduce all --from-results
      ursa reproduce rq1 --results again                    from the start, on a GPU
      ursa reproduce all --plan
      ursa reproduce all --preset tiny --seeds 2 --quick    every step in miniature

    Ends with code 0 if everything that is there was drawn, 1 if numbers among it were not finite, 2
    if there is nothing to draw or something is wrong.

    Args:
        question: Which question.
        from_results: Only draw; what is missing is listed with the command that makes it.
        results: Raw results, a folder per run; unset is "results", for a miniature in its runs.
        runs: Folder for the runs; unset is outputs/reproduce, with --results "runs" in that folder,
            for a miniature one by its size in outputs/miniature.
        out: Folder for tables, figures, claims and the report; unset is outputs/reproduced, of a
            single question outputs/reproduced-QUESTION.
        figure: Only these figures; unset is all of the question.
        preset: Size of the runs; the paper's unless you want an impression.
        seeds: How many seeds of each run, at most; some have fewer than five. Fewer make a
            miniature, in a folder of its own.
        quick: Measure few skills and commands: an impression.
        plan: Show what would be done, and stop.
    """
    refuse_unknown(figure)
    whole("seeds", seeds, least=1)
    asked = _asked(question, figure)
    setting = placed(Setting(preset=preset, seeds=seeds, quick=quick), runs, results)
    if not setting.paper and results is None:
        print(
            f"not as the paper has it, so its results are not those in {Setting.results}: they are "
            f"in {setting.results} (--results names another folder)",
            flush=True,
        )
    if plan:
        print(planned(setting, needed(asked)))
        return 0
    if from_results:
        _tell_missing(setting, asked)
    else:
        _make(setting, needed(asked))
    out = _place(question) if out is None else out
    about = None if question == "all" else question
    told = filled(setting.results, about) if not figure else []
    ready = [it for it in asked if QUESTIONS[it].chapter and _any(setting, it)]
    made = [drawn(setting, one, out, figure) for one in ready]
    for one, each in zip(ready, made, strict=True):
        print(f"\n{one}: {QUESTIONS[one].asks}\n\n{said(each)}")
    _tell_small(setting, made)
    if told:
        print(f"\nclaims\n\n{claims_table.text(told)}")
    if made:
        written(_whole(made), out / "report.html", claims_table.html(told) if told else ())
        print(f"\n-> {out}: {', '.join(ready)}, report.html")
    all_of_it = question == "all" and from_results and setting.results == Setting.results
    readme = README if all_of_it else None
    for path in claims_table.write(told, out, readme) if told else ():  # last: all else is there
        print(f"-> {path}")
    return INCOMPLETE if any(each.complaints for each in made) else 0


def drawn(setting: Setting, question: str, out: Path, names: Sequence[str]) -> Comparison:
    """Tables and figures of one question, in a folder of its name."""
    asked = QUESTIONS[question]
    groups = gather([file for run in needed((question,)) for file in setting.there(run)])
    if asked.among:
        groups = within(groups, scenarios(asked.among))
    mine = [name for name, plan in FIGURES.items() if question in plan.questions]
    chosen = [name for name in mine if not names or name in names]
    return compared(groups, out / question, chosen, chapter=asked.chapter)


def _asked(question: str, names: Sequence[str]) -> tuple[str, ...]:
    """The questions that are meant; of named figures, those they belong to."""
    asked = tuple(QUESTIONS) if question == "all" else (question,)
    for name in names:
        if not set(FIGURES[name].questions) & set(asked):
            owners = " and ".join(FIGURES[name].questions)
            raise UserError(f"figure {name} belongs to {owners}, not to {question}")
    named = {it for name in names for it in FIGURES[name].questions}
    return tuple(it for it in asked if not names or it in named)


def _place(question: str) -> Path:
    """Where what is drawn goes, unless told: one question does not write over all of them."""
    return Path("outputs") / ("reproduced" if question == "all" else f"reproduced-{question}")


def _any(setting: Setting, question: str) -> bool:
    return any(setting.there(run) for run in needed((question,)))


def _tell_missing(setting: Setting, asked: tuple[str, ...]) -> None:
    """What is not there, and how it is made; refuse where there is nothing to draw."""
    if not setting.results.is_dir():
        raise UserError(
            f"there is no folder {setting.results}: --results names the one that holds a folder of "
            "results for each run"
            + ("" if setting.paper else f"; to draw what is in {Setting.results} say no size")
        )
    lacking = [run for run in needed(asked) if setting.lacking(run)]
    if not lacking:
        return
    commands = f"these commands make them:\n{makers(setting, lacking)}"
    if not any(_any(setting, it) for it in asked):
        raise UserError(f"{setting.results} holds no results of {', '.join(asked)}; {commands}")
    print(f"results are missing, and everything is drawn without them; {commands}", flush=True)
    empty = [it for it in asked if QUESTIONS[it].chapter and not _any(setting, it)]
    if empty:
        print(f"not drawn, because nothing of it is there: {', '.join(empty)}", flush=True)


def _tell_small(setting: Setting, made: Sequence[Comparison]) -> None:
    counts = [len(it.skills.ret) for each in made for one in each.groups for it in one.seeds]
    if setting.paper and counts and min(counts) < ROLLOUTS:
        print(
            f"\n{min(counts)} rollouts where the paper has {ROLLOUTS}: an impression, not a result"
        )


def _whole(made: Sequence[Comparison]) -> list[Comparison]:
    """Questions that share their runs, and so their tables, in one chapter."""
    kept: dict[str, Comparison] = {}
    for each in made:
        name = each.name
        kept[name] = each if name not in kept else kept[name].joined(each)
    return list(kept.values())


def _make(setting: Setting, runs: Sequence[Run]) -> None:
    """Train and measure what is missing."""
    if why := mixed(setting, runs):
        raise UserError(why)
    print(planned(setting, runs), flush=True)
    for words in missing(setting, runs):
        _carry_out(words)


def _carry_out(words: Sequence[str]) -> None:
    print(f"$ {typed(words)}", flush=True)
    done = subprocess.run([sys.executable, "-m", "ursa", *words])
    if done.returncode:
        raise UserError(
            f"`{typed(words)}` ended with code {done.returncode}; the same `ursa reproduce` goes "
            "on from there"
        )
