"""`python -m ursa.evaluate.recard NAME RESULTS`: the card of a shipped agent, made anew.

For when a card should say more, or results were added. The agent itself is left as it is.
"""

import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional

from ursa.errors import UserError
from ursa.evaluate import results as files_of
from ursa.evaluate.card import EXACT, card
from ursa.evaluate.group import CHANCE, files
from ursa.evaluate.results import Results
from ursa.evaluate.ship import elsewhere, seal
from ursa.run import folder, pretrained
from ursa.run.agent import Agent


def recard(name: Annotated[str, Positional], results: Annotated[Path, Positional]) -> int:
    """Write the card of a shipped agent once more, from results of all seeds of its run.

      python -m ursa.evaluate.recard a1-forward results/forward-ursa

    Args:
        name: What it is loaded by.
        results: The folder of its run's results; those in other physics are looked for beside it.
    """
    place = pretrained.find(name)
    text = again(name, results)
    folder.write_whole(place / pretrained.CARD, text.encode())
    seal(place)
    print(f"-> {place / pretrained.CARD}")
    return 0


def again(name: str, results: Path) -> str:
    """The card of a shipped agent as the results tell it now."""
    old = (pretrained.find(name) / pretrained.CARD).read_text()
    agent = Agent.load(name)
    found = files(results)
    seeds = [files_of.load(file) for file in found]
    mine = [it for it in seeds if it.source.seed == agent.seed]
    if not mine or not _of(agent, mine[0]):
        raise UserError(f"{results} holds no results of {name}, seed {agent.seed} of its run")
    # How results came about is not in them: what was said of it stays.
    return card(name, agent, mine[0], seeds, EXACT in old, elsewhere(found[0].parent))


def _of(agent: Agent, found: Results) -> bool:
    """Measured of this agent, as far as settings and its age can tell."""
    own = files_of.settings(agent.config)
    same = all(own[key] == value for key, value in found.config.items() if key not in CHANCE)
    return same and found.source.steps == agent.steps


if __name__ == "__main__":
    import tyro

    try:
        sys.exit(tyro.cli(recard))
    except UserError as error:
        sys.exit(f"recard: {error}")
