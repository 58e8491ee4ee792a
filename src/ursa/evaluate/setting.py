"""Setting: how large a reproduction is, where its things are, what is there and what is to be done.

Every step is a command that anybody could have typed.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import jax

from ursa import durable, journal
from ursa.errors import UserError
from ursa.evaluate.question import FULL, SEEDS, Run, source

MINIATURE = Path("outputs/miniature")


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
        """Seeds of a run: as asked, at most as many as it has."""
        return min(self.seeds, run.seeds)

    def place(self, run: Run) -> Path:
        """Where the agents are that this run measures."""
        return self.runs / source(run).name

    def train(self, run: Run) -> list[str]:
        """The command that trains a run, or goes on with it."""
        place, own = self.place(run), source(run)
        if (place / "config.json").exists():
            return ["train", "--resume", str(place)]
        words = [*own.words, *(own.full if self.preset in FULL else ())]
        size = ["--preset", self.preset, "--seeds", str(self.many(own)), "--out", str(place)]
        return ["train", "--robot", "a1", "--task", own.task, *words, *size]

    def measure(self, run: Run) -> list[str]:
        """The command that measures a run."""
        words = ["evaluate", str(self.place(run)), "--out", str(self.results / run.name)]
        words += ["--yardstick", run.yardstick] if run.yardstick else []
        return [*words, *run.study, *(["--quick"] if self.quick else [])]

    def there(self, run: Run) -> list[Path]:
        """The results that a run has left, of whichever seeds."""
        return sorted((self.results / run.name).glob("seed_*.json"))

    def lacking(self, run: Run) -> list[Path]:
        """The results that it should have left, and has not."""
        wanted = [f"seed_{seed}.json" for seed in range(self.many(run))]
        files = [self.results / run.name / name for name in wanted]
        return [file for file in files if not file.exists()]

    def trained(self, run: Run) -> bool:
        """The journal of its agents has reached the last step."""
        place = self.place(run)
        if not (place / "config.json").exists():
            return False
        try:
            told = durable.from_json(durable.read_bounded(place / "config.json", 1 << 20))
            wanted = int(told["train"]["steps"])
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise UserError(f"{place}/config.json gives no settings ({error!r})") from None
        return any(event["step"] >= wanted for event in journal.read(place))


def placed(setting: Setting, runs: Path | None, results: Path | None) -> Setting:
    """Folders; a miniature stays away from the paper's, unless told."""
    if runs is None:
        runs = Setting.runs if setting.paper else MINIATURE
    if results is None:
        results = Setting.results if setting.paper else runs / "results"
    return replace(setting, runs=runs, results=results)


def missing(setting: Setting, runs: Sequence[Run]) -> list[list[str]]:
    """The commands that are still to be run, in order, each once."""
    steps: list[list[str]] = []
    for run in runs:
        if not setting.lacking(run):
            continue
        training = setting.train(run)
        if not setting.trained(run) and training not in steps:
            steps.append(training)
        steps.append(setting.measure(run))
    return steps


def planned(setting: Setting, runs: Sequence[Run]) -> str:
    """What will be done and how long it may take."""
    lines = [f"{len(runs)} runs, preset {setting.preset}; results in {setting.results}"]
    lines += [f"  {run.name:<29}{_state(setting, run)}" for run in runs]
    steps = missing(setting, runs)
    lines += [f"  $ {typed(words)}" for words in steps]
    to_do = [run for run in runs if setting.lacking(run)]
    own = {source(run).name: source(run) for run in to_do if not setting.trained(run)}
    if setting.paper:
        training, measuring = (
            sum(run.training for run in own.values()),
            sum(run.measuring for run in to_do),
        )
        lines.append(
            f"about {training} minutes of training (one H200) and {measuring} of measuring (two "
            "cores), if everything is to be done from the start"
        )
    else:
        lines.append("smaller than the paper: an impression, not a result")
    if own and jax.default_backend() == "cpu":
        lines.append(
            "! JAX finds no GPU here, only this CPU: training takes many times as long on it"
        )
    return "\n".join(lines)


def makers(setting: Setting, runs: Sequence[Run]) -> str:
    """What is missing of runs, and how it is made."""
    lines = []
    for run in runs:
        names = [file.stem for file in setting.lacking(run)]
        commands = [setting.measure(run)]
        if not setting.trained(run):
            commands.insert(0, setting.train(run))
        lines += [
            f"{setting.results / run.name}: {', '.join(names)}",
            f"  $ {' && '.join(map(typed, commands))}",
        ]
    return "\n".join(f"  {line}" for line in lines)


def typed(words: Sequence[str]) -> str:
    """Words as somebody types them."""
    return shlex.join(["ursa", *words])


def _state(setting: Setting, run: Run) -> str:
    many, left = setting.many(run), len(setting.lacking(run))
    seeds = f"{many} seed{'s' * (many != 1)}"
    if not left:
        return f"{seeds}, results are there"
    return f"{seeds}, to do" if left == many else f"{many - left} of {seeds} are there"
