"""Adaptation: after damage, a few trials find a skill that still works.

>>> import ursa.repair
>>> found = ursa.repair.adapt(agent, "FL.upper", trials=8)  # doctest: +SKIP
>>> found.skill  # doctest: +SKIP

The search itself is in `ursa.adapt`, without JAX; `adapt` loads it when it is first asked for.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "adapt":
        raise AttributeError(f"module 'ursa.repair' has no attribute {name!r}")
    from ursa.repair.adaptation import adapt

    return adapt
