"""A skill as a role: a robot of the kind an agent was trained with does what the agent says."""

from pathlib import Path

import numpy as np
from jaxtyping import Float

from ursa.errors import UserError
from ursa.evaluate.definitions import SETTLE
from ursa.evaluate.skills import known, promised
from ursa.robot import registry
from ursa.robot.body import Body
from ursa.robot.observation import observe
from ursa.run import pretrained as shipped
from ursa.run.agent import Agent
from ursa.run.compiled import keep_programs
from ursa.show.watch import Choose, Role

Array = np.ndarray


def learnt(
    folder: Path | None,
    pretrained: str | None,
    seed: int | None,
    skill: int | None,
    *,
    engine: str | None = None,
    tick: float | None = None,
) -> Role:
    """One skill of an agent; unset is the one that promises most."""
    keep_programs()
    source = shipped.source(folder, pretrained)
    agent = Agent.load(source.agent, seed)
    skills = numbered(agent)
    number = most_promising(agent, skills) if skill is None else checked(skill, len(skills))
    z = skills[[number]]

    def enter() -> tuple[Body, Choose]:
        arena = agent.arena(engine=engine, tick=tick)
        agent.reset()
        return arena.body, lambda reading, _: agent.act(observe(arena.layout, reading), z)

    name = f"{title(source.out, agent)} skill {number}"
    return Role(name, registry.robot(agent.config.robot), enter, SETTLE)


def numbered(agent: Agent) -> Float[Array, "n D"]:
    """Every skill it knows at its number."""
    if not known(agent):
        raise UserError("this agent has discovered no skill yet; train it further")
    return agent.skills


def most_promising(agent: Agent, skills: Float[Array, "n D"]) -> int:
    """The number of the skill with the highest value at rest."""
    return int(promised(agent, skills).argmax()) if len(skills) > 1 else 0


def checked(skill: int, count: int) -> int:
    """The number of one of so many skills."""
    if not 0 <= skill < count:
        valid = f"0 to {count - 1}" if count > 1 else "0, the only one"
        raise UserError(f"skill = {skill}, want {valid}; leave out --skill for the best one")
    return skill


def title(place: Path, agent: Agent) -> str:
    """What the agent is called in a caption: its folder, and its seed where there are several."""
    whole = place.absolute()
    name = whole.parent.name if whole.name == "agent" else whole.name
    return f"{name} seed {agent.seed}" if agent.config.seeds > 1 else name
