"""Setting: how large a reproduction is, where its things are, what is there and what is to be done.

Every step is a command that anybody could have typed.
"""

import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ursa.errors import UserError
from ursa.evaluate.claim import AGAIN
from ursa.evaluate.group import differing
from ursa.evaluate.question import FULL, SEEDS, Run, source
from ursa.evaluate.results import name
from ursa.run import command, folder, publish

MINIATURE = Path("outputs/miniature")
INSIDE = "runs"  # where results that are not the usual ones keep the runs behind them


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

    @property
    def impression(self) -> bool:
        """Smaller than that."""
        return self.preset not in FULL or self.seeds < SEEDS or self.quick

    @property
    def size(self) -> str:
        """For the name of a folder."""
        return f"{self.preset}-{self.seeds}{'-quick' * self.quick}"

    def many(self, run: Run) -> int:
        """Seeds of a run: as asked, at most as many as it has."""
        return min(self.seeds, run.seeds)

    def place(self, run: Run) -> Path:
        """Where the agents are that this run measures."""
        return self.runs / source(run).name

    def train(self, run: Run) -> list[str]:
        """The command that trains a run, or goes on with it."""
        place = self.place(run)
        if (place / folder.CONFIG).exists():
            return ["train", "--resume", str(place)]
        return self.fresh(run)

    def sized(self, run: Run) -> str:
        """The preset of a run; some have one of their own, unless all are to be miniatures."""
        return source(run).preset if self.preset in FULL and source(run).preset else self.preset

    def fresh(self, run: Run) -> list[str]:
        """The command that trains it from the start."""
        seeds = str(self.many(source(run)))
        return ["train", *self.words(run), "--seeds", seeds, "--out", str(self.place(run))]

    def words(self, run: Run) -> list[str]:
        """What is trained, in words of `ursa train`: all but seeds and place."""
        own = source(run)
        words = [*own.words, *(own.full if self.preset in FULL else ())]
        words += own.like_paper if self.preset == "paper" else ()
        return ["--robot", "a1", "--task", own.task, *words, "--preset", self.sized(run)]

    def measure(self, run: Run) -> list[list[str]]:
        """The commands that measure it, where results are missing."""
        words = ["evaluate", str(self.place(run)), "--out", str(self.results / run.name)]
        words += ["--yardstick", run.yardstick] if run.yardstick else []
        words += [*run.study, *(["--quick"] if self.quick else [])]
        if not self.there(run):
            return [words]
        seeds = [file.stem.removeprefix("seed_") for file in self.lacking(run)]
        return [[*words, "--seed", seed] for seed in seeds]

    def there(self, run: Run) -> list[Path]:
        """The results that a run has left, of whichever seeds."""
        return sorted((self.results / run.name).glob(name("*")))

    def lacking(self, run: Run) -> list[Path]:
        """The results that it should have left, and has not."""
        files = [self.results / run.name / name(seed) for seed in range(self.many(run))]
        return [file for file in files if not file.exists()]

    def trained(self, run: Run) -> bool:
        """Agents are there, and all of them have lived to the last step."""
        place = self.place(run)
        if not (place / folder.CONFIG).exists():
            return False
        wanted = self._steps(run)
        agents = folder.published(place)
        files = [agents / f"seed_{it}" / folder.AGENT for it in folder.seeds(agents)]
        return bool(files) and all(it.exists() and publish.steps(it) >= wanted for it in files)

    def _steps(self, run: Run) -> int:
        """How long it is to be trained; another run in its place is refused."""
        place, wanted = self.place(run), command.parse(self.fresh(run)[1:]).config
        if odd := differing(asdict(wanted), asdict(folder.config_of(place))):
            raise UserError(f"{place} holds another run: {odd}; --runs names another folder")
        return wanted.train.steps


def placed(setting: Setting, runs: Path | None, results: Path | None) -> Setting:
    """Folders; what is not the paper's setting stays away from its results, unless told."""
    if runs is None and results not in (None, Setting.results):
        runs = results / INSIDE
    if runs is None:
        runs = Setting.runs if setting.paper else MINIATURE / setting.size
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
        steps += setting.measure(run)
    return steps


def mixed(setting: Setting, runs: Sequence[Run]) -> str:
    """Why numbers of new agents would stand beside those of old ones; "" if they would not."""
    for run in runs:
        kept = setting.there(run) or setting.there(source(run))
        if setting.lacking(run) and kept and not setting.trained(run):
            return (
                f"{kept[0].parent} holds {', '.join(it.stem for it in kept)}, whose agents are not "
                f"in {setting.place(run)}: new ones would stand beside them. Give another folder "
                "with --results to make everything from the start"
            )
    return ""


def planned(setting: Setting, runs: Sequence[Run]) -> str:
    """What will be done and how long it may take."""
    presets = ", ".join(dict.fromkeys(setting.sized(run) for run in runs)) or setting.preset
    many = f"{len(runs)} run{'s' * (len(runs) != 1)}"
    lines = [f"{many}, preset {presets}; results in {setting.results}"]
    lines += [f"  {run.name:<29}{_state(setting, run)}" for run in runs]
    steps = missing(setting, runs)
    lines += [f"  $ {typed(words)}" for words in steps]
    to_do = [run for run in runs if setting.lacking(run)]
    own = {source(run).name: source(run) for run in to_do if not setting.trained(run)}
    large = [run for run in own.values() if not run.preset]
    if not to_do:
        lines.append("nothing is left to train or to measure")
    elif setting.paper:
        lines.append(_times(large, [it for it in own.values() if it.preset], to_do))
    if setting.impression:
        lines.append("smaller than the paper: an impression, not a result")
    if large and device() == "cpu":
        lines.append(
            "! JAX finds no GPU here, only this CPU: training takes many times as long on it"
        )
    if why := mixed(setting, runs):
        lines.append(f"! {why}")
    return "\n".join(lines)


def device() -> str:
    """What JAX would train on; asked of another process, because who asks takes hold of a GPU."""
    asking = [sys.executable, "-c", "import jax; print(jax.default_backend())"]
    return subprocess.run(asking, capture_output=True, text=True).stdout.strip()


def makers(setting: Setting, runs: Sequence[Run]) -> str:
    """What is missing of runs, and how it is made."""
    lines, trained = [], set()
    for run in runs:
        names = [file.stem for file in setting.lacking(run)]
        if mixed(setting, [run]):
            anew = typed(["reproduce", run.questions[0], "--results", AGAIN])
            lines += [
                f"{setting.results / run.name}: {', '.join(names)}; the agents behind what is "
                "there are not here",
                f"  $ {anew}",
            ]
            continue
        commands = setting.measure(run)
        if not setting.trained(run) and source(run) not in trained:
            commands.insert(0, setting.train(run))
            trained.add(source(run))
        lines += [
            f"{setting.results / run.name}: {', '.join(names)}",
            f"  $ {' && '.join(map(typed, commands))}",
        ]
    return "\n".join(f"  {line}" for line in lines)


def typed(words: Sequence[str]) -> str:
    """Words as somebody types them."""
    return shlex.join(["ursa", *words])


def _times(large: Sequence[Run], small: Sequence[Run], measured: Sequence[Run]) -> str:
    """How long the commands may take."""
    many, few = (sum(run.training for run in them) for them in (large, small))
    measuring = sum(run.measuring for run in measured)
    gpu = [f"{many} minutes of training (one H200)"] if many else []
    cores = f"{few} minutes of training and {measuring}" if few else f"{measuring} minutes"
    return f"about {' and '.join([*gpu, f'{cores} of measuring (two cores)'])}"


def _state(setting: Setting, run: Run) -> str:
    many, left = setting.many(run), len(setting.lacking(run))
    seeds = f"{many} seed{'s' * (many != 1)}"
    if not left:
        return f"{seeds}, results are there"
    return f"{seeds}, to do" if left == many else f"{many - left} of {seeds} are there"
