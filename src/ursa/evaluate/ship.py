"""`python -m ursa.evaluate.ship RUN NAME`: a trained agent into the package, to be loaded by name.

Only what acting and adapting need goes in, in 16 bits, with a card that is filled from the results
of its evaluation. Whoever uses it reads it with `ursa.run.pretrained`.
"""

import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from tyro.conf import Positional

from ursa import durable
from ursa.errors import UserError
from ursa.evaluate import question, results
from ursa.evaluate.believable import PHYSICS
from ursa.evaluate.card import card
from ursa.evaluate.evidence import read
from ursa.evaluate.group import files
from ursa.evaluate.results import Results
from ursa.evaluate.skills import promised
from ursa.evaluate.study import refuse_unfinished
from ursa.run import folder, pretrained, publish
from ursa.run.agent import Agent


def ship(
    run: Annotated[Path, Positional],
    name: Annotated[str, Positional],
    seed: int | None = None,
    results: Path | None = None,
    unfinished: bool = False,
    home: Path | None = None,
) -> int:
    """Put a trained agent into the package, with a card made from its evaluation.

      python -m ursa.evaluate.ship outputs/reproduce/forward-ursa a1-forward --seed 2

    Args:
        run: Where the run was written; it was evaluated.
        name: What it will be loaded by, for example a1-forward.
        seed: Which agent, where several were trained; unset is the first.
        results: Results of all seeds; unset is "results" in the run's folder.
        unfinished: Take an agent whose training has not come to its end.
        home: Folder of shipped agents; unset is the package's own.
    """
    if not pretrained.NAME.fullmatch(name):
        raise UserError(f'name "{name}": want small letters and digits joined by -, as a1-forward')
    agent = Agent.load(run, seed)
    if agent.repertoire is None:
        raise UserError(f"{run} is of {agent.config.method}: without a repertoire, nothing to ship")
    if not unfinished:
        refuse_unfinished(run, agent)
    found = files(run if results is None else results)
    seeds = [_read(file) for file in found]
    mine = _mine(agent, seeds)
    inner = folder.published(run)
    exact = publish.halved(inner / f"seed_{agent.seed}" / folder.AGENT)
    home = home or pretrained.HOME
    place, part = home / name, home / f".{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    try:
        size = write(agent, part)
        (part / pretrained.CARD).write_text(
            card(name, agent, mine, seeds, exact, elsewhere(found[0].parent))
        )
        seal(part)
        shutil.rmtree(place, ignore_errors=True)
        durable.rename(part, place)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    print(f"{name}: {size / 1e6:.2f} MB of at most {pretrained.LARGEST / 1e6:g}\n-> {place}")
    return 0


def write(agent: Agent, place: Path) -> int:
    """Its files, as `Agent.load` reads them; refuses more bytes than a clone should carry."""
    known = agent.repertoire
    assert known is not None, "whoever is shipped has a repertoire"
    inside = place / f"seed_{agent.seed}"
    # 64 bits are left whole where 32 are cut to 16: the order of skills hangs on them.
    kept = promised(agent, agent.skills).astype(np.float64)
    tree = agent.acting() | {publish.PROMISED: kept}
    publish.write(inside / folder.AGENT, tree, agent.steps, half=True)
    known.save(inside / folder.REPERTOIRE)
    alone = replace(agent.config, seed=agent.seed, seeds=1)
    folder.write_whole(place / folder.CONFIG, durable.to_json(asdict(alone)))
    size = sum(it.stat().st_size for it in place.rglob("*") if it.is_file())
    if size > pretrained.LARGEST:
        raise UserError(
            f"this agent has {size / 1e6:.2f} MB, at most {pretrained.LARGEST / 1e6:g} are shipped"
        )
    return size


def elsewhere(measured: Path) -> dict[str, list[Results]]:
    """The same agents in other physics, from the folders beside that of their results."""
    named = {question.elsewhere(measured.name, physics): it for physics, it in PHYSICS.items()}
    return {named[run]: seeds for run, seeds in read(measured.parent, [*named]).items()}


def seal(place: Path) -> None:
    """The manifest: what every other file must be."""
    own = place / pretrained.MANIFEST
    found = sorted(it for it in place.rglob("*") if it.is_file() and it != own)
    told = {it.relative_to(place).as_posix(): durable.describe(it.read_bytes()) for it in found}
    folder.write_whole(own, durable.to_json({"files": told}))


def _mine(agent: Agent, seeds: list[Results]) -> Results:
    """The results of this very agent; anybody else's would be a lie."""
    for it in seeds:
        if it.source.seed == agent.seed:
            if it.source.steps != agent.steps or it.config != results.settings(agent.config):
                raise UserError(
                    f"the results of seed {agent.seed} are those of another agent "
                    f"({it.source.steps:,} steps, here {agent.steps:,}); evaluate this one"
                )
            return it
    there = ", ".join(str(it.source.seed) for it in seeds)
    raise UserError(f"seed {agent.seed} was not evaluated, only {there}")


def _read(file: Path) -> Results:
    return results.load(file)


if __name__ == "__main__":
    import tyro

    try:
        sys.exit(tyro.cli(ship, config=(tyro.conf.FlagCreatePairsOff,)))
    except UserError as error:
        sys.exit(f"ship: {error}")
