"""Judged: rows of a results file under the definitions of `definitions.py`."""

import numpy as np
from jaxtyping import Bool, Float

from ursa.evaluate import definitions
from ursa.evaluate.results import Results, Tried

Array = np.ndarray


def safe(tried: Tried) -> Bool[Array, " m"]:
    return definitions.safe(tried.unsafe, tried.hand)


def moving(tried: Tried) -> Bool[Array, " m"]:
    return definitions.moving(tried.speed, tried.unsafe, tried.hand)


def knows(found: Results) -> bool:
    """It has features of its own, and a threshold: what it misses can be measured."""
    return found.ruler is not None and found.delta is not None


def miss(found: Results) -> Float[Array, " m"]:
    """Whitened distance of every rollout's mean feature to the skill that was asked."""
    assert found.ruler is not None
    return definitions.separation(found.skills.feature, found.skills.z, found.ruler)


def achieved(found: Results) -> Bool[Array, " m"]:
    """Rollouts whose mean feature lies within the threshold of the skill."""
    assert found.ruler is not None
    assert found.delta is not None
    tried = found.skills
    return definitions.achieved(tried.feature, tried.z, found.ruler, found.delta)


def distinct(found: Results) -> Bool[Array, " m"]:
    """Rollouts whose mean feature lies far from that of every one before."""
    assert found.ruler is not None
    assert found.delta is not None
    return definitions.distinct(found.skills.feature, found.ruler, found.delta)


def rows(protocol: str, found: Results) -> int:
    """How many rows of a results file a protocol looks at, the first ones."""
    allowed = definitions.PROTOCOLS[protocol].get(found.source.method, definitions.ROLLOUTS)
    return min(allowed, len(found.skills.ret))


def known(found: Results) -> int:
    """How many skills a repertoire held; older files tell only how many it has room for."""
    told = found.notes.get("known")
    return found.config["skill"]["repertoire_size"] if told is None else int(told)


def which(found: Results) -> str:
    """Which of its skills the rows of a repertoire are."""
    tried, drawn = len(found.skills.ret), int(found.notes.get("drawn", 0))
    if drawn:
        return f"all {tried - drawn} skills, and {drawn} drawn between them,"
    if tried < known(found):
        return f"the {tried} most spread out of {known(found)} skills"
    return f"{tried} skills"
